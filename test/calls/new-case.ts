import { randomUUID } from 'node:crypto';

import { alertTypeOf } from '../../src/calls/model/alert-types.ts';
import { newNotificationId } from '../../src/calls/model/ids.ts';
import type { NotificationRequest } from '../../src/calls/model/notification-request.ts';
import { parsePhoneNumber, type PhoneNumber } from '../../src/calls/model/phone-number.ts';
import { newNotification, type NotificationCase } from '../../src/calls/state/notification.ts';

/** So many distinct numbers. @param from how many others come before them */
export const numbers = (count: number, from = 0): readonly PhoneNumber[] =>
  Array.from({ length: count }, (_, index) => parsePhoneNumber(`+1206555${1_000 + from + index}`) ?? []).flat();

/** A new notification, about `Custom` if the request says nothing else, half an hour before its deadline. */
export const newCase = (
  at: number,
  request: Partial<NotificationRequest> = {},
  id = newNotificationId(at, randomUUID()),
): NotificationCase =>
  newNotification(
    { alertType: alertTypeOf('Custom'), waves: [numbers(1)], ...request },
    { id, callsLeft: 1_000, rules: { deadlineMs: 1_800_000, allowedPrefixes: undefined } },
    at,
  );
