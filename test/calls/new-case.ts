import { randomUUID } from 'node:crypto';

import { alertTypeOf } from '../../src/calls/model/alert-types.ts';
import { newNotificationId } from '../../src/calls/model/ids.ts';
import type { Callee, NotificationRequest } from '../../src/calls/model/notification-request.ts';
import { parsePhoneNumber } from '../../src/calls/model/phone-number.ts';
import type { PhoneRules } from '../../src/calls/rules/policy.ts';
import { type NewNotification, newNotification, type NotificationCase } from '../../src/calls/state/notification.ts';
import type { Policy } from '../../src/calls/state/step.ts';

/** So many people with distinct numbers. @param from how many others come before them */
export const callees = (count: number, from = 0): readonly Callee[] =>
  Array.from({ length: count }, (_, index) => {
    const number = parsePhoneNumber(`+1206555${1_000 + from + index}`);
    if (number === undefined) throw new Error('malformed');
    return { number };
  });

/** The rules that these tests call by: three attempts a minute apart, within half an hour. */
export const RULES: PhoneRules = {
  attempts: 3,
  retryMs: 60_000,
  deadlineMs: 1_800_000,
  ringMs: 60_000,
  allowedPrefixes: undefined,
  callsPerDay: 100,
  callsAtOnce: 2,
  retentionMs: 90 * 86_400_000,
};

/** The same for a line that acts once for a request and is told to speak. */
export const POLICY: Policy = {
  rules: RULES,
  serviceName: 'Ridge Watch',
  line: { name: 'acs', isIdempotent: true, speaksByItself: false },
};

/** A new notification, to one person about `Custom` if the request says nothing else. */
export const newCase = (
  at: number,
  request: Partial<NotificationRequest> = {},
  more: Partial<NewNotification> = {},
): NotificationCase =>
  newNotification(
    { alertType: alertTypeOf('Custom'), waves: [callees(1)], ...request },
    { id: newNotificationId(at, randomUUID()), isOverDayLimit: false, rules: RULES, ...more },
    at,
  );
