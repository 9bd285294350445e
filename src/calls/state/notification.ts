import * as z from 'zod';
import { ALERT_TYPE_NAMES, isUrgent } from '../model/alert-types.ts';
import { type AttemptRef, type NotificationId, notificationIdSchema } from '../model/ids.ts';
import type { NotificationRequest } from '../model/notification-request.ts';
import { type Destination, DESTINATIONS } from '../model/outcomes.ts';
import { maskPhoneNumber, parsePhoneNumber } from '../model/phone-number.ts';
import { areEnough, CALLS_USED_UP, NOT_CALLABLE, type PhoneRules, whyNotCallable } from '../rules/policy.ts';
import { RANG_MS } from '../rules/queue.ts';
import { abandonedAttempt, acceptedAtOf, answerBy, type Attempt, checkAtOf, isLive, talkOf } from './attempt.ts';
import {
  answerOf,
  attemptOf,
  final,
  FINAL_STATES,
  isFinal,
  looked,
  neverOpened,
  opened,
  type ReachTerms,
  type Recipient,
  refused,
  stopped,
  waiting,
} from './recipient.ts';

// A notification with its recipients after each event: pure functions. All times are in milliseconds since 1970.

export const notificationSchema = z.object({
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
  confirm: z.boolean(),
  /** From one wave to the next, in milliseconds; undefined: no waves, and each recipient has to confirm. */
  waveMs: z.int().optional(),
  /** With waves: this number of confirmations stops the rest. */
  confirmationsNeeded: z.int().optional(),
  /** The last wave that has begun, from 1. */
  wave: z.int(),
  /** When the next wave begins; undefined: there is no next wave, or it is not needed. */
  nextWaveAt: z.number().optional(),
  stoppedAt: z.number().optional(),
  /** When enough recipients had confirmed. */
  confirmedAt: z.number().optional(),
  completedAt: z.number().optional(),
  /** The person who handles the alert, and the state at that time. */
  acknowledged: z
    .object({
      by: z.string(),
      at: z.number(),
      times: z.int(),
      /** How many recipients were not reached, and whether it had ended with too few. */
      notReached: z.int(),
      hasEndedShort: z.boolean(),
    })
    .optional(),
});

export type Notification = Readonly<z.output<typeof notificationSchema>>;

/** A notification, its recipients in the order of the request, and the outcomes to publish. */
export interface NotificationCase {
  readonly notification: Notification;
  readonly recipients: readonly Recipient[];
  readonly outbox: Outbox;
}

export const attemptIn = (
  { recipients }: NotificationCase,
  { index, attemptId }: Omit<AttemptRef, 'notificationId'>,
): Attempt | undefined => {
  const recipient = recipients[index];
  return recipient && attemptOf(recipient, attemptId);
};

export const isUrgentNotification = ({ alertType }: Notification): boolean => isUrgent(alertType);

/** Whether a recipient is not final, or a call is open. */
export const isUnderWay = ({ recipients }: Pick<NotificationCase, 'recipients'>): boolean =>
  recipients.some((recipient) => !isFinal(recipient) || recipient.attempts.some(isLive));

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
  const { alertType, waves, reference, confirm = false, waveMs, ...asked } = request;
  const { details, confirmationsNeeded, callbackBaseUrl } = asked;
  const recipients = waves.flatMap((callees, index) =>
    callees.map(({ number, name }): Recipient => {
      const later: Recipient = { state: 'later', number, name, wave: index + 1, attempts: [] };
      const why = whyNotCallable(number, rules.allowedPrefixes);
      if (why !== undefined) return refused(later, NOT_CALLABLE[why], now);
      if (isOverDayLimit) return refused(later, CALLS_USED_UP, now);
      return index === 0 ? waiting(later, now) : later;
    }),
  );
  const number = parsePhoneNumber(reference ?? '');
  const notification: Notification = {
    id,
    alertType: alertType.name,
    reference: number === undefined ? reference : maskPhoneNumber(number),
    details,
    createdAt: now,
    deadlineAt: now + rules.deadlineMs,
    callbackBaseUrl,
    keyHash,
    confirm,
    waveMs,
    confirmationsNeeded,
    wave: 1,
    nextWaveAt: waveMs === undefined ? undefined : now + waveMs,
  };
  return concluded({ notification, recipients, outbox: {} }, now);
};

export const withRecipient = (
  known: NotificationCase,
  index: number,
  recipient: Recipient,
  now: number,
): NotificationCase => {
  const recipients = known.recipients.map((one, at) => (at === index ? recipient : one));
  return concluded({ ...known, recipients }, now);
};

/** When the next check is due; undefined: never. */
export const checkAtOfNotification = (known: NotificationCase, terms: ReachTerms): number | undefined => {
  const { nextWaveAt } = known.notification;
  const times = known.recipients.flatMap((recipient) => [
    ...recipient.attempts.flatMap((attempt) => (isLive(attempt) ? checkAtOf(attempt, terms) : [])),
    ...(recipient.state === 'waiting' ? [terms.deadlineAt] : []),
  ]);
  const all = nextWaveAt === undefined ? times : [...times, nextWaveAt];
  return all.length === 0 ? undefined : Math.min(...all);
};

/** A notification after a check of attempts, deadline and next wave. @param mayResend whether a call request may be retried, by index */
export const lookedAt = (
  known: NotificationCase,
  mayResend: (index: number) => boolean,
  terms: ReachTerms,
  now: number,
): NotificationCase => {
  const recipients = known.recipients.map((recipient, index) => looked(recipient, mayResend(index), terms, now));
  const isChanged = recipients.some((recipient, index) => recipient !== known.recipients[index]);
  const checked = isChanged ? concluded({ ...known, recipients }, now) : known;
  const isWaveDue = (checked.notification.nextWaveAt ?? Infinity) <= now;
  return isWaveDue ? concluded(withNextWave(checked, terms, now), now) : checked;
};

const withNextWave = (known: NotificationCase, { deadlineAt }: ReachTerms, now: number): NotificationCase => {
  const { notification, recipients } = known;
  if (now >= deadlineAt) {
    return {
      ...known,
      notification: { ...notification, nextWaveAt: undefined },
      recipients: recipients.map((recipient) => neverOpened(recipient, now)),
    };
  }
  const later = recipients.flatMap(({ state, wave }) => (state === 'later' ? wave : []));
  const wave = Math.min(...later);
  return {
    ...known,
    notification: { ...notification, wave, nextWaveAt: now + (notification.waveMs ?? 0) },
    recipients: recipients.map((recipient) => (recipient.wave === wave ? opened(recipient, now) : recipient)),
  };
};

/** A notification after a stop; the same object if there is nothing to stop. */
export const stoppedNotification = (known: NotificationCase, now: number): NotificationCase => {
  const { stoppedAt, completedAt } = known.notification;
  if (stoppedAt !== undefined || completedAt !== undefined) return known;
  return concluded({ ...stoppedRest(known, now), notification: { ...known.notification, stoppedAt: now } }, now);
};

const stoppedRest = (known: NotificationCase, now: number): NotificationCase => ({
  ...known,
  recipients: known.recipients.map((recipient) => stopped(recipient, now)),
});

/** The phone was switched off: no more events will come. */
export const abandoned = (known: NotificationCase, now: number): NotificationCase => {
  const { notification } = known;
  const recipients = known.recipients.map((recipient): Recipient => {
    const attempts = recipient.attempts.map((attempt) => abandonedAttempt(attempt, now));
    return final({ ...recipient, attempts }, isFinal(recipient) ? recipient.state : (answerOf(recipient) ?? 'stopped'));
  });
  const stoppedAt = notification.stoppedAt ?? notification.completedAt ?? now;
  return concluded({ ...known, notification: { ...notification, stoppedAt }, recipients }, now);
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
  const answer = answerOf(recipient);
  return answer === 'confirmed' || (answer === undefined && !isFinal(recipient));
};

/** Enough confirmations in waves stop the rest. If too few are possible, the next wave begins. After the last recipient, it is completed. */
const concluded = (known: NotificationCase, now: number): NotificationCase => {
  const { notification, recipients, outbox } = confirmationsStopTheRest(known, now);
  const { confirmationsNeeded, completedAt } = notification;
  const isCompleted = recipients.every(isFinal);
  const hasLater = recipients.some(({ state }) => state === 'later');
  const reachable = recipients.filter((recipient) => recipient.state !== 'later' && canConfirm(recipient)).length;
  const { nextWaveAt = now } = notification;
  const isNeededNow = !areEnough(reachable, confirmationsNeeded);
  return {
    notification: {
      ...notification,
      nextWaveAt: hasLater ? (isNeededNow ? Math.min(now, nextWaveAt) : nextWaveAt) : undefined,
      completedAt: completedAt ?? (isCompleted ? now : undefined),
    },
    recipients: isUnderWay({ recipients }) ? recipients : recipients.map(masked),
    outbox,
  };
};

const confirmationsStopTheRest = (known: NotificationCase, now: number): NotificationCase => {
  const { waveMs, confirmedAt, confirmationsNeeded } = known.notification;
  if (waveMs === undefined || confirmedAt !== undefined) return known;
  if (!areEnough(confirmedBy(known).length, confirmationsNeeded)) return known;
  return { ...stoppedRest(known, now), notification: { ...known.notification, confirmedAt: now } };
};

const masked = (recipient: Recipient): Recipient => {
  const number = maskPhoneNumber(recipient.number);
  return number === recipient.number ? recipient : { ...recipient, number };
};

type Reaching = Pick<NotificationCase, 'notification' | 'recipients'>;

/** How long after its end a notification that reached too few needs attention. */
const ATTENTION_AFTER_END_MS = 24 * 3_600_000;

/** The longest deadline is a day; the last calls end within two hours after it. */
export const LONGEST_ATTENTION_MS = ATTENTION_AFTER_END_MS + 26 * 3_600_000;

/** The indexes of the recipients that have confirmed. */
export const confirmedBy = ({ recipients }: { readonly recipients: readonly Recipient[] }): readonly number[] =>
  recipients.flatMap(({ attempts }, index) =>
    attempts.some((attempt) => answerBy(attempt) === 'confirmed') ? [index] : [],
  );

/** How many recipients have confirmed if the message asks for a key, otherwise how many have heard it. */
export const reachedOf = (known: Reaching): number =>
  known.notification.confirm
    ? confirmedBy(known).length
    : known.recipients.filter(({ state }) => state === 'heard' || state === 'confirmed').length;

/** Whether it has reached too few, and was not stopped. */
export const isShort = (known: Reaching): boolean =>
  known.notification.stoppedAt === undefined && !areEnough(reachedOf(known), known.notification.confirmationsNeeded);

export const needsAttention = (known: Reaching, now: number): boolean => {
  const { completedAt } = known.notification;
  return isShort(known) && (completedAt === undefined || now - completedAt < ATTENTION_AFTER_END_MS);
};

/** A notification after an acknowledgement; the same object if the same person repeats it and nothing became worse. */
export const acknowledged = (known: NotificationCase, by: string, now: number): NotificationCase => {
  const { notification } = known;
  const { acknowledged: before } = notification;
  if (before?.by === by && !hasWorsened(known)) return known;
  const acknowledgement = { by, at: now, times: (before?.times ?? 0) + 1, ...shortfallOf(known) };
  return { ...known, notification: { ...notification, acknowledged: acknowledgement } };
};

/** Whether it became worse after its acknowledgement: more recipients were not reached, or it ended with too few. */
export const hasWorsened = (known: Reaching): boolean => {
  const { acknowledged: then } = known.notification;
  if (then === undefined) return false;
  const now = shortfallOf(known);
  return now.notReached > then.notReached || (now.hasEndedShort && !then.hasEndedShort);
};

const shortfallOf = (
  known: Reaching,
): Pick<NonNullable<Notification['acknowledged']>, 'notReached' | 'hasEndedShort'> => ({
  notReached: known.recipients.filter(({ state }) => state === 'not_reached' || state === 'failed').length,
  hasEndedShort: known.notification.completedAt !== undefined && isShort(known),
});

// The outcomes of a notification that are not published yet: a list for each destination, oldest first. Times are in milliseconds since 1970.

const entrySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('recipient'), at: z.number(), index: z.int(), status: z.enum(FINAL_STATES) }),
  /** The notification was stopped, or is over. */
  z.object({ kind: z.enum(['stopped', 'completed']), at: z.number() }),
  /** A person handles the alert. */
  z.object({ kind: z.literal('acknowledged'), at: z.number(), times: z.int(), by: z.string() }),
]);

export type OutboxEntry = Readonly<z.output<typeof entrySchema>>;

const listSchema = z.object({
  /** No try before: an instance is publishing until then, or the destination did not take the entries. */
  tryAt: z.number(),
  entries: z.array(entrySchema).readonly(),
});

export const outboxSchema = z.partialRecord(z.enum(DESTINATIONS), listSchema);

/** The outcomes that are not published yet. */
export type Outbox = Readonly<z.output<typeof outboxSchema>>;

/** The lease of an instance that publishes, which takes less. After that, another instance publishes the same entries. */
const LEASE_MS = 30_000;
/** How long a destination is tried. */
const TRIED_FOR_MS = 24 * 3_600_000;
/** A pause is as long as the destination has been tried, within these bounds. */
const SHORTEST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 600_000;

export const isEmpty = (outbox: Outbox): boolean => DESTINATIONS.every((to) => (outbox[to]?.entries.length ?? 0) === 0);

/** The entries to publish now; {@link claimedOutbox} claims them. */
export const dueEntries = (outbox: Outbox, to: Destination, now: number): readonly OutboxEntry[] => {
  const list = outbox[to];
  return list === undefined || now < list.tryAt ? [] : list.entries;
};

/** The outbox while an instance publishes the due entries of a destination; the same object if none is due. */
export const claimedOutbox = (outbox: Outbox, to: Destination, now: number): Outbox => {
  const entries = dueEntries(outbox, to, now);
  return entries.length === 0 ? outbox : { ...outbox, [to]: { entries, tryAt: now + LEASE_MS } };
};

/** The outbox without entries that were published or dropped. Newer entries are due now. */
export const withoutEntries = (outbox: Outbox, to: Destination, told: readonly OutboxEntry[]): Outbox => {
  const gone = new Set(told.map((entry) => JSON.stringify(entry)));
  const entries = (outbox[to]?.entries ?? []).filter((entry) => !gone.has(JSON.stringify(entry)));
  return { ...outbox, [to]: { entries, tryAt: 0 } };
};

/** The outbox after a destination did not take the entries: another try after a pause. */
export const putOff = (outbox: Outbox, to: Destination, now: number): Outbox => {
  const entries = outbox[to]?.entries ?? [];
  const triedMs = now - (entries[0]?.at ?? now);
  return {
    ...outbox,
    [to]: { entries, tryAt: now + Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, triedMs)) },
  };
};

/** The entries that were tried for too long. */
export const expiredEntries = (outbox: Outbox, to: Destination, now: number): readonly OutboxEntry[] =>
  (outbox[to]?.entries ?? []).filter(({ at }) => now - at >= TRIED_FOR_MS);
