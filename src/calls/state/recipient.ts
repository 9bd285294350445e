import * as z from 'zod';
import { maskedNumberSchema, phoneNumberSchema } from '../model/phone-number.ts';
import {
  CALLS_USED_UP,
  NOT_CALLABLE,
  type NotCallable,
  notCallableSchema,
  type PhoneRules,
  whyNotCallable,
} from '../rules/policy.ts';
import { afterAttempts, hasReached, type RedialTerms } from '../rules/redial.ts';
import {
  abandonedAttempt,
  acceptedAtOf,
  choiceBy,
  type Attempt,
  type AttemptEvent,
  type AttemptIn,
  attemptSchema,
  type CallTerms,
  DIAL_LEASE_MS,
  isLive,
  type Moment,
  PHONE_OFF,
  stoppedRinging,
} from './attempt.ts';
import { moveAttempt } from './move-attempt.ts';

// A recipient after each event of its attempts: pure functions.

export const FINAL_STATES = [
  'heard',
  'confirmed',
  'cannot_go',
  /** The attempts or the time are used up. */
  'not_reached',
  /** The number cannot be called. */
  'failed',
  /** The notification was stopped, or enough others have confirmed. */
  'stopped',
] as const;

export type FinalState = (typeof FINAL_STATES)[number];

const common = {
  name: z.string().optional(),
  /** From 1. */
  wave: z.int(),
  /** In the order of their claims, without requests that placed no call for lack of capacity. */
  attempts: z.array(attemptSchema).readonly(),
} as const;

const ended = z.object({
  ...common,
  state: z.enum(FINAL_STATES),
  /** Of a recipient that was never called: why. */
  notCalled: notCallableSchema.optional(),
});

export const recipientSchema = z.discriminatedUnion('state', [
  z.object({ ...common, number: phoneNumberSchema, state: z.literal('later') }),
  /** It is dialed from `dueAt` on, as soon as a line is free. Times are in milliseconds since 1970. */
  z.object({
    ...common,
    number: phoneNumberSchema,
    state: z.literal('waiting'),
    dueAt: z.number(),
    queuedAt: z.number(),
    /** It waits for the next UTC day: the calls of the day are used up. */
    isOverDayLimit: z.boolean().optional(),
    /** Why its last request placed no call, in words. */
    reason: z.string().optional(),
  }),
  z.object({ ...common, number: phoneNumberSchema, state: z.literal('calling') }),
  ended.extend({ number: phoneNumberSchema }),
]);

export type Recipient = Readonly<z.output<typeof recipientSchema>>;

/** A recipient of a settled notification: only there is its number masked. */
export const settledRecipientSchema = ended.extend({ number: maskedNumberSchema });

export type SettledRecipient = Readonly<z.output<typeof settledRecipientSchema>>;

export type AnyRecipient = Recipient | SettledRecipient;

export interface ReachTerms extends RedialTerms, CallTerms, Pick<PhoneRules, 'allowedPrefixes'> {}

const FINAL: ReadonlySet<string> = new Set(FINAL_STATES);

/** Whether the recipient is not dialed again. A late call may still improve its state. */
export const isFinal = <One extends AnyRecipient>(recipient: One): recipient is One & { readonly state: FinalState } =>
  FINAL.has(recipient.state);

export const attemptOf = ({ attempts }: Pick<AnyRecipient, 'attempts'>, attemptId: string): Attempt | undefined =>
  attempts.find(({ id }) => id === attemptId);

export const choiceOf = ({ attempts }: Pick<Recipient, 'attempts'>): ReturnType<typeof choiceBy> => {
  const choices = new Set(attempts.map(choiceBy));
  return choices.has('confirmed') ? 'confirmed' : choices.has('cannot_go') ? 'cannot_go' : undefined;
};

const commonOf = ({ number, name, wave, attempts }: Recipient) => ({ number, name, wave, attempts });

export const final = (recipient: Recipient, state: FinalState, notCalled?: NotCallable): Recipient => ({
  ...commonOf(recipient),
  state,
  notCalled: notCalled ?? (isFinal(recipient) ? recipient.notCalled : undefined),
});

/** If another call has reached the callee, the phone must not ring again. */
const callTerms = (terms: ReachTerms, { attempts }: Recipient): CallTerms => ({
  ...terms,
  isStopped: terms.isStopped || attempts.some((attempt) => isDoneBy(attempt, terms)),
});

const isDoneBy = (attempt: Attempt, { confirm }: ReachTerms): boolean =>
  (attempt.state === 'over' && hasReached(attempt, confirm)) || (confirm && choiceBy(attempt) !== undefined);

/** A recipient after an event of an attempt; the same object if nothing changed. A request that placed no call is removed. */
export const afterEvent = (
  recipient: Recipient,
  attemptId: string,
  event: AttemptEvent,
  terms: ReachTerms,
  moment: Moment,
): Recipient => {
  const { now } = moment;
  const attempt = attemptOf(recipient, attemptId);
  if (attempt === undefined) return recipient;
  const moved = moveAttempt(attempt, event, callTerms(terms, recipient), moment);
  if (moved === attempt) return recipient;
  if (moved === 'not made') {
    const rest = { ...recipient, attempts: recipient.attempts.filter((other) => other !== attempt) };
    const isOver = isFinal(rest) || terms.isStopped || rest.attempts.some(isLive);
    const reason = 'result' in event ? event.result?.reason : undefined;
    return isOver ? byAttempts(rest, terms, now) : waiting(rest, now, reason);
  }
  const isDone = isDoneBy(moved, terms);
  // A late event of an earlier call may make the current call needless.
  const attempts = recipient.attempts.map((other) =>
    other === attempt ? moved : isDone ? stoppedRinging(other, moment) : other,
  );
  return byAttempts({ ...recipient, attempts }, terms, now);
};

/** A recipient after a check of its attempts and its deadline. */
export const checked = (recipient: Recipient, terms: ReachTerms, moment: Moment): Recipient => {
  const after = recipient.attempts.reduce<Recipient>(
    (before, { id }) => afterEvent(before, id, { kind: 'check' }, terms, moment),
    recipient,
  );
  return after.state === 'waiting' && moment.now >= terms.deadlineAt ? givenUp(after, moment.now) : after;
};

/** A recipient after a claim to dial it. The deadline and the settings may forbid the call. */
export const claimed = (
  recipient: Recipient,
  attemptId: string,
  terms: ReachTerms,
  { now, commit }: Moment,
): Recipient => {
  if (recipient.state !== 'waiting') return recipient;
  if (now >= terms.deadlineAt) return givenUp(recipient, now);
  const why = whyNotCallable(recipient.number, terms.allowedPrefixes);
  if (why !== undefined) return notCalled(recipient, why, now);
  const attempt: AttemptIn<'claimed'> = {
    id: attemptId,
    provider: terms.provider.name,
    state: 'claimed',
    action: { commit, at: now },
    claimedAt: now,
    callIds: [],
    sent: 1,
    sentAt: now,
    checkAt: now + DIAL_LEASE_MS,
  };
  return { ...commonOf(recipient), state: 'calling', attempts: [...recipient.attempts, attempt] };
};

/** A recipient that may not be called. */
export const notCalled = (recipient: Recipient, why: NotCallable, now: number): Recipient =>
  final(withAttempt(recipient, withoutCall('refused', NOT_CALLABLE[why], now)), 'failed', why);

const withAttempt = (recipient: Recipient, attempt: Attempt): Recipient => ({
  ...recipient,
  attempts: [...recipient.attempts, attempt],
});

const withoutCall = (outcome: 'refused' | 'unknown', reason: string, now: number): AttemptIn<'over'> => ({
  id: 'no call',
  provider: '',
  state: 'over',
  claimedAt: now,
  callIds: [],
  endedAt: now,
  heardUntil: now,
  outcome,
  reason,
});

/** The phone was switched off: a recipient that was not reached is not called again. */
export const abandoned = (recipient: Recipient, now: number): Recipient => {
  const attempts = recipient.attempts.map((attempt) => abandonedAttempt(attempt, now));
  const after: Recipient = { ...recipient, attempts };
  if (isFinal(after)) return after;
  const choice = choiceOf(after);
  if (choice !== undefined) return final(after, choice);
  const hasReason = attempts.some((attempt, index) => attempt !== recipient.attempts[index]);
  return final(hasReason ? after : withAttempt(after, withoutCall('unknown', PHONE_OFF, now)), 'not_reached');
};

/** No time is left. If it has a reason for its wait, an attempt without a call keeps the reason. */
export const givenUp = (recipient: Recipient, now: number): Recipient => {
  const { attempts } = recipient;
  const { reason, isOverDayLimit } = recipient.state === 'waiting' ? recipient : {};
  const own = reason ?? (isOverDayLimit === true ? CALLS_USED_UP : undefined);
  if (attempts.length > 0 && own === undefined) return final(recipient, 'not_reached');
  return final(withAttempt(recipient, withoutCall('unknown', own ?? 'no time left', now)), 'not_reached');
};

/** The calls of the day are used up: no dialing before `until`. */
export const postponed = (recipient: Recipient, until: number, { deadlineAt }: ReachTerms): Recipient =>
  recipient.state === 'waiting'
    ? { ...recipient, dueAt: Math.min(until, deadlineAt), isOverDayLimit: true, reason: undefined }
    : recipient;

export const waiting = (recipient: Recipient, dueAt: number, reason?: string): Recipient => ({
  ...commonOf(recipient),
  state: 'waiting',
  dueAt,
  queuedAt: dueAt,
  reason,
});

/** A stop ends waiting and hangs up a ringing call. A message that is being spoken continues. */
export const stopped = (recipient: Recipient, moment: Moment): Recipient => {
  const attempts = recipient.attempts.map((attempt) => stoppedRinging(attempt, moment));
  const next = { ...recipient, attempts };
  return isFinal(recipient) || recipient.state === 'calling' ? next : final(next, 'stopped');
};

/** The state of a recipient by its attempts. A final state only improves. */
const byAttempts = (recipient: Recipient, terms: ReachTerms, now: number): Recipient => {
  if (!isFinal(recipient) && recipient.attempts.some(isLive)) return { ...commonOf(recipient), state: 'calling' };
  const past = recipient.attempts.flatMap((attempt) =>
    attempt.state === 'over' ? { ...attempt, acceptedAt: acceptedAtOf(attempt) ?? attempt.claimedAt } : [],
  );
  const follows = afterAttempts(past, terms);
  const end = follows.kind === 'final' ? follows.state : undefined;
  if (isFinal(recipient)) return isBetter(end, recipient.state) ? final(recipient, end) : recipient;
  if (isBetter(end, 'stopped')) return final(recipient, end);
  if (terms.isStopped) return final(recipient, 'stopped');
  if (follows.kind === 'final') return final(recipient, follows.state);
  // Never in the past: a wrong time must not cause a busy loop.
  return waiting(recipient, Math.max(follows.at, now));
};

const RANK: Readonly<Record<FinalState, number>> = {
  confirmed: 2,
  heard: 2,
  cannot_go: 1,
  not_reached: 0,
  failed: 0,
  stopped: 0,
};

const isBetter = (end: FinalState | undefined, than: FinalState): end is FinalState =>
  end !== undefined && RANK[end] > RANK[than];
