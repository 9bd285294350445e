import { hash } from 'node:crypto';

import type { AlertTypeName } from '../model/alert-types.ts';
import type { AttemptRef } from '../model/call-context.ts';
import { type CallId, isNotificationId, type NotificationId } from '../model/ids.ts';
import type { NotificationCase } from './notification.ts';

// A call that this service knows nothing of: another system has placed it with our callback addresses. It gets rows of the same kind,
// under an id that follows from the call's: a notification of one recipient without a number, and one attempt. The same machine moves it.

const LATEST = 'ffffffffffff';
const ATTEMPT_ID = 'stranger';

/** Whether these are the rows of such a call. Their ids sort after those of all notifications. */
export const isForeign = (id: NotificationId): boolean => id.startsWith(LATEST);

/** Where the rows of such a call are. */
export const foreignRef = (callId: CallId): AttemptRef => {
  const id = `${LATEST}-${hash('sha256', callId).slice(0, 20)}`;
  if (!isNotificationId(id)) throw new RangeError('not an id');
  return { notificationId: id, index: 0, attemptId: ATTEMPT_ID };
};

/** What is known of such a call before its first event. Nobody dials it again. */
export const newForeignCall = (callId: CallId, alertType: AlertTypeName, now: number): NotificationCase => ({
  notification: {
    id: foreignRef(callId).notificationId,
    alertType,
    createdAt: now,
    deadlineAt: now,
    wave: 1,
    finals: 0,
  },
  recipients: [
    {
      state: 'calling',
      number: undefined,
      wave: 1,
      attempts: [{ id: ATTEMPT_ID, state: 'claimed', claimedAt: now, callId }],
      queuedAt: now,
    },
  ],
});
