import * as z from 'zod';
import { ALERT_TYPE_NAMES, isUrgent } from '../model/alert-types.ts';
import { type AttemptRef, type NotificationId, notificationIdSchema } from '../model/ids.ts';
import type { NotificationRequest } from '../model/notification-request.ts';
import { maskPhoneNumber, parsePhoneNumber } from '../model/phone-number.ts';
import { areEnough, DEFAULT_CONFIRMATIONS_NEEDED, type PhoneRules, whyNotCallable } from '../rules/policy.ts';
import { RANG_MS } from '../rules/redial.ts';
import { settlesAt } from '../rules/retention.ts';
import { acceptedAtOf, choiceBy, type Attempt, checkAtOf, isLive, type Moment, talkOf } from './attempt.ts';
import {
  abandoned,
  choiceOf,
  attemptOf,
  checked,
  givenUp,
  isFinal,
  notCalled,
  type ReachTerms,
  type Recipient,
  type SettledRecipient,
  stopped,
  waiting,
} from './recipient.ts';

// A notification with its recipients after each event: pure functions. All times are in milliseconds since 1970.

const common = {
  id: notificationIdSchema,
  alertType: z.enum(ALERT_TYPE_NAMES),
  /** Shown, never spoken. */
  reference: z.string().optional(),
  /** Spoken in the message: the place. */
  details: z.string().optional(),
  createdAt: z.number(),
  deadlineAt: z.number(),
  callbackBaseUrl: z.string().optional(),
  keyHash: z.string().optional(),
  /** When a person stopped it, and the name of that person if the request had it. */
  stoppedAt: z.number().optional(),
  stoppedBy: z.string().optional(),
  /** When `PHONE=off` ended it. */
  phoneOffAt: z.number().optional(),
  completedAt: z.number().optional(),
  /** The person who handles the alert, and the state at that time. */
  acknowledged: z
    .object({
      by: z.string(),
      at: z.number(),
      times: z.int(),
      /** How many recipients were not reached, and whether it had ended with too few. */
      notReached: z.int(),
      endedWithTooFew: z.boolean(),
    })
    .optional(),
} as const;

const wavesSchema = z.object({
  /** From one wave to the next, in milliseconds. */
  everyMs: z.int(),
  /** This number of confirmations stops the rest. */
  needed: z.int(),
  /** The last wave that has begun, from 1. */
  current: z.int(),
  /** When the next wave begins; undefined: there is no next wave, or it is not needed. */
  nextAt: z.number().optional(),
  /** When enough recipients had confirmed. */
  confirmedAt: z.number().optional(),
});

export const notificationSchema = z.discriminatedUnion('confirm', [
  z.object({ ...common, confirm: z.literal(false) }),
  /** Callees press a key. Without waves, each recipient has to confirm. */
  z.object({ ...common, confirm: z.literal(true), waves: wavesSchema.optional() }),
]);

export type Notification = Readonly<z.output<typeof notificationSchema>>;

export type Waves = Readonly<z.output<typeof wavesSchema>>;

/** A notification that is not settled, with its recipients in the order of the request. */
export interface NotificationCase {
  readonly notification: Notification;
  readonly recipients: readonly Recipient[];
}

/** A notification that is over: no call of it is open, and its numbers are masked. */
export interface SettledCase {
  readonly notification: Notification;
  readonly recipients: readonly SettledRecipient[];
}

export type AnyCase = NotificationCase | SettledCase;

export const wavesOf = (notification: Notification): Waves | undefined =>
  notification.confirm ? notification.waves : undefined;

/** Whether no instance dials its recipients again: it was stopped, or enough have confirmed. A message that is being spoken continues. */
export const isStopped = (notification: Notification): boolean =>
  notification.stoppedAt !== undefined || wavesOf(notification)?.confirmedAt !== undefined;

export const attemptIn = (
  { recipients }: AnyCase,
  { index, attemptId }: Omit<AttemptRef, 'notificationId'>,
): Attempt | undefined => {
  const recipient = recipients[index];
  return recipient && attemptOf(recipient, attemptId);
};

export const isUrgentNotification = ({ alertType }: Notification): boolean => isUrgent(alertType);

/** When a notification settles: some minutes after its last call. Undefined: not yet over. */
export const settlesAtOf = ({ notification, recipients }: NotificationCase): number | undefined => {
  const isOver = recipients.every(
    (recipient) =>
      isFinal(recipient) && !recipient.attempts.some((attempt) => isLive(attempt) || attempt.action !== undefined),
  );
  if (!isOver) return undefined;
  const ends = recipients.flatMap(({ attempts }) =>
    attempts.flatMap((attempt) => (attempt.state === 'over' ? attempt.endedAt : [])),
  );
  return settlesAt(Math.max(notification.completedAt ?? notification.createdAt, ...ends));
};

/** A notification when it settles: with masked numbers. */
export const settled = ({ notification, recipients }: NotificationCase): SettledCase => ({
  notification,
  recipients: recipients.flatMap((recipient) =>
    isFinal(recipient) ? { ...recipient, number: maskPhoneNumber(recipient.number) } : [],
  ),
});

/** The parts of a new notification that the request does not have. */
export interface NewNotification {
  readonly id: NotificationId;
  readonly keyHash?: string | undefined;
  /** The calls of the UTC day are used up. */
  readonly isOverDayLimit: boolean;
  readonly rules: Pick<PhoneRules, 'deadlineMs' | 'allowedPrefixes'>;
}

/** A new notification: its first wave waits, and recipients that must not be called have failed. */
export const newNotification = (
  request: NotificationRequest,
  { id, keyHash, isOverDayLimit, rules }: NewNotification,
  now: number,
): NotificationCase => {
  const { alertType, waves: callees, reference, confirm = false, waveMs, ...asked } = request;
  const { details, confirmationsNeeded: needed = DEFAULT_CONFIRMATIONS_NEEDED, callbackBaseUrl } = asked;
  const recipients = callees.flatMap((wave, index) =>
    wave.map(({ number, name }): Recipient => {
      const later: Recipient = { state: 'later', number, name, wave: index + 1, attempts: [] };
      const why = whyNotCallable(number, rules.allowedPrefixes) ?? (isOverDayLimit ? 'day_limit' : undefined);
      if (why !== undefined) return notCalled(later, why, now);
      return index === 0 ? waiting(later, now) : later;
    }),
  );
  const number = parsePhoneNumber(reference ?? '');
  const about = {
    id,
    alertType: alertType.name,
    reference: number === undefined ? reference : maskPhoneNumber(number),
    details,
    createdAt: now,
    deadlineAt: now + rules.deadlineMs,
    callbackBaseUrl,
    keyHash,
  };
  const waves = waveMs === undefined ? undefined : { everyMs: waveMs, needed, current: 1, nextAt: now + waveMs };
  const notification: Notification = confirm ? { ...about, confirm, waves } : { ...about, confirm };
  return concluded({ notification, recipients }, { now, commit: '' });
};

export const withRecipient = (
  live: NotificationCase,
  index: number,
  recipient: Recipient,
  moment: Moment,
): NotificationCase => {
  if (recipient === live.recipients[index]) return live;
  const recipients = live.recipients.map((other, at) => (at === index ? recipient : other));
  return concluded({ ...live, recipients }, moment);
};

/** When the next check is due; undefined: never. */
export const checkAtOfNotification = (live: NotificationCase, terms: ReachTerms): number | undefined => {
  const times = live.recipients.flatMap((recipient) => [
    ...recipient.attempts.flatMap((attempt) => checkAtOf(attempt, terms) ?? []),
    ...(recipient.state === 'waiting' ? [terms.deadlineAt] : []),
  ]);
  const nextWaveAt = wavesOf(live.notification)?.nextAt;
  const all = nextWaveAt === undefined ? times : [...times, nextWaveAt];
  return all.length === 0 ? undefined : Math.min(...all);
};

/** A notification after a check of attempts, deadline and next wave. */
export const checkedNotification = (live: NotificationCase, terms: ReachTerms, moment: Moment): NotificationCase => {
  const recipients = live.recipients.map((recipient) => checked(recipient, terms, moment));
  const isChanged = recipients.some((recipient, index) => recipient !== live.recipients[index]);
  const after = isChanged ? concluded({ ...live, recipients }, moment) : live;
  const waves = wavesOf(after.notification);
  return waves !== undefined && (waves.nextAt ?? Infinity) <= moment.now
    ? concluded(withNextWave(after, waves, terms, moment.now), moment)
    : after;
};

const withWaves = ({ notification, ...rest }: NotificationCase, waves: Waves): NotificationCase =>
  notification.confirm ? { ...rest, notification: { ...notification, waves } } : { ...rest, notification };

const withNextWave = (
  live: NotificationCase,
  waves: Waves,
  { deadlineAt }: ReachTerms,
  now: number,
): NotificationCase => {
  const isTooLate = now >= deadlineAt;
  const current = Math.min(...live.recipients.flatMap(({ state, wave }) => (state === 'later' ? wave : [])));
  const recipients = live.recipients.map((recipient) => {
    if (recipient.state !== 'later') return recipient;
    if (isTooLate) return givenUp(recipient, now);
    return recipient.wave === current ? waiting(recipient, now) : recipient;
  });
  const next = isTooLate ? { nextAt: undefined } : { current, nextAt: now + waves.everyMs };
  return withWaves({ ...live, recipients }, { ...waves, ...next });
};

/** A notification after a stop; the same object if there is nothing to stop. */
export const stoppedNotification = (
  live: NotificationCase,
  by: string | undefined,
  moment: Moment,
): NotificationCase => {
  const { stoppedAt, completedAt } = live.notification;
  if (stoppedAt !== undefined || completedAt !== undefined) return live;
  const notification = { ...live.notification, stoppedAt: moment.now, stoppedBy: by };
  return concluded({ ...stoppedRest(live, moment), notification }, moment);
};

const stoppedRest = (live: NotificationCase, moment: Moment): NotificationCase => ({
  ...live,
  recipients: live.recipients.map((recipient) => stopped(recipient, moment)),
});

/** The phone was switched off: no more events will come. */
export const abandonedNotification = (live: NotificationCase, moment: Moment): NotificationCase => {
  const { notification } = live;
  const isRunning = notification.stoppedAt === undefined && notification.completedAt === undefined;
  const recipients = live.recipients.map((recipient) => abandoned(recipient, moment.now));
  const ended = isRunning ? { ...notification, phoneOffAt: moment.now } : notification;
  return concluded({ notification: ended, recipients }, moment);
};

/** Whether a phone has surely rung: long enough, or a callee answered. */
export const hasRung = ({ recipients }: Pick<NotificationCase, 'recipients'>, now: number): boolean =>
  recipients.some(({ attempts }) =>
    attempts.some((attempt) => {
      if (talkOf(attempt) !== undefined) return true;
      const acceptedAt = acceptedAtOf(attempt);
      return acceptedAt !== undefined && (attempt.state === 'over' ? attempt.endedAt : now) - acceptedAt >= RANG_MS;
    }),
  );

/** Whether a recipient has confirmed, or still can. */
const canConfirm = (recipient: Recipient): boolean => {
  const choice = choiceOf(recipient);
  return choice === 'confirmed' || (choice === undefined && !isFinal(recipient));
};

/** Enough confirmations in waves stop the rest. If too few are possible, the next wave begins. After the last recipient, it is completed. */
const concluded = (before: NotificationCase, moment: Moment): NotificationCase => {
  const live = withWavesConcluded(before, moment);
  const { notification, recipients } = live;
  return notification.completedAt === undefined && recipients.every(isFinal)
    ? { ...live, notification: { ...notification, completedAt: moment.now } }
    : live;
};

const withWavesConcluded = (before: NotificationCase, moment: Moment): NotificationCase => {
  const { now } = moment;
  const waves = wavesOf(before.notification);
  if (waves === undefined) return before;
  const isConfirmed = waves.confirmedAt === undefined && areEnough(confirmedBy(before).length, waves.needed);
  const live = isConfirmed ? stoppedRest(before, moment) : before;
  const hasLater = live.recipients.some(({ state }) => state === 'later');
  const reachable = live.recipients.filter((recipient) => recipient.state !== 'later' && canConfirm(recipient)).length;
  const { nextAt = now } = waves;
  const wantedAt = areEnough(reachable, waves.needed) ? nextAt : Math.min(now, nextAt);
  const confirmedAt = isConfirmed ? now : waves.confirmedAt;
  return withWaves(live, { ...waves, confirmedAt, nextAt: hasLater ? wantedAt : undefined });
};

/** How long after its end a notification that reached too few needs attention. */
const ATTENTION_AFTER_END_MS = 24 * 3_600_000;

/** The longest deadline is a day; the last calls end within two hours after it. */
export const MAX_ATTENTION_MS = ATTENTION_AFTER_END_MS + 26 * 3_600_000;

/** The indexes of the recipients that have confirmed. */
export const confirmedBy = ({ recipients }: Pick<AnyCase, 'recipients'>): readonly number[] =>
  recipients.flatMap(({ attempts }, index) =>
    attempts.some((attempt) => choiceBy(attempt) === 'confirmed') ? [index] : [],
  );

/** How many recipients have confirmed if the message asks for a key, otherwise how many have heard it. */
export const reachedOf = (stored: AnyCase): number =>
  stored.notification.confirm
    ? confirmedBy(stored).length
    : stored.recipients.filter(({ state }) => state === 'heard' || state === 'confirmed').length;

/** Whether it has reached too few, and was not stopped. */
export const reachedTooFew = (stored: AnyCase): boolean =>
  stored.notification.stoppedAt === undefined && !areEnough(reachedOf(stored), wavesOf(stored.notification)?.needed);

export const needsAttention = (stored: AnyCase, now: number): boolean => {
  const { completedAt } = stored.notification;
  return reachedTooFew(stored) && (completedAt === undefined || now - completedAt < ATTENTION_AFTER_END_MS);
};

/** A notification after an acknowledgement; the same object if the same person repeats it and nothing became worse. */
export const acknowledged = <Case extends AnyCase>(stored: Case, by: string, now: number): Case => {
  const { notification } = stored;
  const { acknowledged: before } = notification;
  if (before?.by === by && !hasWorsened(stored)) return stored;
  const acknowledgement = { by, at: now, times: (before?.times ?? 0) + 1, ...shortfallOf(stored) };
  return { ...stored, notification: { ...notification, acknowledged: acknowledgement } };
};

/** Whether it became worse after its acknowledgement: more recipients were not reached, or it ended with too few. */
export const hasWorsened = (stored: AnyCase): boolean => {
  const { acknowledged: then } = stored.notification;
  if (then === undefined) return false;
  const now = shortfallOf(stored);
  return now.notReached > then.notReached || (now.endedWithTooFew && !then.endedWithTooFew);
};

const shortfallOf = (
  stored: AnyCase,
): Pick<NonNullable<Notification['acknowledged']>, 'notReached' | 'endedWithTooFew'> => ({
  notReached: stored.recipients.filter(({ state }) => state === 'not_reached' || state === 'failed').length,
  endedWithTooFew: stored.notification.completedAt !== undefined && reachedTooFew(stored),
});
