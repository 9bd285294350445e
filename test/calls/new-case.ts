import { randomUUID } from 'node:crypto';

import { alertTypeOf } from '../../src/calls/model/alert-types.ts';
import { newNotificationId, parseCallId } from '../../src/calls/model/ids.ts';
import type { Callee, NotificationRequest } from '../../src/calls/model/notification-request.ts';
import type { CallResult } from '../../src/calls/model/phone-provider.ts';
import { parsePhoneNumber, type PhoneNumber } from '../../src/calls/model/phone-number.ts';
import type { PhoneRules } from '../../src/calls/rules/policy.ts';
import type { Attempt, AttemptEvent, Moment } from '../../src/calls/state/attempt.ts';
import {
  type NewNotification,
  newNotification,
  type NotificationCase,
  withRecipient,
} from '../../src/calls/state/notification.ts';
import { final, type FinalState } from '../../src/calls/state/recipient.ts';
import type { Policy } from '../../src/calls/state/step.ts';

export const START = Date.parse('2026-11-21T08:00:00Z');
export const HOUR = 3_600_000;

/** The value; throws if it is undefined. */
export const must = <Value>(value: Value | undefined): Value => {
  if (value === undefined) throw new Error('there is none');
  return value;
};

export const CALL_ID = must(parseCallId('call-1'));

/** A text that is a phone number. */
export const phoneNumber = (text: string): PhoneNumber => must(parsePhoneNumber(text));

/** People with distinct numbers. @param from how many others come before them */
export const callees = (count: number, from = 0): readonly Callee[] =>
  Array.from({ length: count }, (_, index) => ({ number: phoneNumber(`+1206555${1_000 + from + index}`) }));

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

/** The same for a provider that acts once for a request and is told to speak. */
export const POLICY: Policy = {
  rules: RULES,
  serviceName: 'Ridge Watch',
  provider: { name: 'acs', isIdempotent: true, speaksByItself: false },
};

/** A new notification, to one person about `Custom` if the request says nothing else. */
export const newCase = (
  now: number,
  request: Partial<NotificationRequest> = {},
  more: Partial<NewNotification> = {},
): NotificationCase =>
  newNotification(
    { alertType: alertTypeOf('Custom'), waves: [callees(1)], ...request },
    { id: newNotificationId(now, randomUUID()), isOverDayLimit: false, rules: RULES, ...more },
    now,
  );

/** A moment at which an event is decided. */
export const at = (now: number, commit = 'commit'): Moment => ({ now, commit });

/** A notification with a recipient that is final. */
export const ended = (live: NotificationCase, index: number, state: FinalState, now = START): NotificationCase =>
  withRecipient(live, index, final(must(live.recipients[index]), state), at(now));

/** A notification with an attempt to reach a recipient, under way or over. */
export const calling = (live: NotificationCase, index: number, attempt: Attempt, now = START): NotificationCase => {
  const { number, wave } = must(live.recipients[index]);
  return withRecipient(live, index, { state: 'calling', number, wave, attempts: [attempt] }, at(now));
};

const base = { id: 'a', provider: 'acs', claimedAt: START, callIds: [CALL_ID] };

/** An attempt that an instance has claimed, before any report of its call. */
export const CLAIMED: Attempt = {
  ...base,
  state: 'claimed',
  action: { commit: 'commit', at: START },
  callIds: [],
  sent: 1,
  sentAt: START,
  checkAt: START + 25_000,
};
export const RINGING: Attempt = { ...base, state: 'ringing', placedAt: START };
/** An attempt whose callee hears the message. @param talk further facts of the conversation */
export const spokenTo = (talk: object = {}): Attempt => ({
  ...RINGING,
  state: 'speaking',
  talk: { answeredAt: START, prompt: { number: 0, askedAt: START }, repeatKeys: [], ...talk },
});
/** An attempt that met a busy phone. */
export const busy = (endedAt: number): Attempt => ({
  ...base,
  placedAt: START,
  state: 'over',
  endedAt,
  heardUntil: endedAt,
  outcome: 'busy',
  code: 486,
  reason: 'busy',
});

// The reports of the provider about the call.
const callId = CALL_ID;
export const placed: AttemptEvent = { kind: 'placed', callId };
export const connected: AttemptEvent = { kind: 'connected', callId };
export const started: AttemptEvent = { kind: 'play started', callId };
export const completed: AttemptEvent = { kind: 'play completed', callId, result: {}, prompt: 0 };
export const disconnected: AttemptEvent = { kind: 'disconnected', callId, result: { code: 200, subCode: 0 } };
export const hungUp: AttemptEvent = { kind: 'hung up' };
export const created = (failure: CallResult['failure']): AttemptEvent => ({
  kind: 'create failed',
  callId,
  result: { failure, reason: failure },
});
export const notPlaced = (failure: CallResult['failure'], waitMs?: number): AttemptEvent => ({
  kind: 'not placed',
  result: { failure, reason: failure, waitMs },
});
export const key = (name: string, sequence = 1): AttemptEvent => ({
  kind: 'tone received',
  callId,
  key: { key: name, sequence },
});
