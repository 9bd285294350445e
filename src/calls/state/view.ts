import type { AlertTypeName } from '../model/alert-types.ts';
import { NOT_MADE, type NotMade, type Outcome } from '../model/outcome.ts';
import { confirmedBy, reachedOf } from './attention.ts';
import { DEFAULT_CONFIRMATIONS_NEEDED } from '../rules/confirmations.ts';
import { type Attempt, isLive } from './attempt.ts';
import type { CallId, NotificationId } from '../model/ids.ts';
import type { ResultCodes } from '../model/call-event.ts';
import { answerOf, type NotificationCase } from './notification.ts';
import { type MaskedNumber, maskPhoneNumber } from '../model/phone-number.ts';
import { FINAL_STATES, finalWord, type Recipient } from './recipient.ts';

/** What a recipient's state is to those who ask. */
export const RECIPIENT_STATUSES = ['waiting', 'ringing', 'speaking', ...FINAL_STATES] as const;

/** What a recipient's state is to those who ask. */
export type RecipientStatus = (typeof RECIPIENT_STATUSES)[number];

/** A notification as it stands. Times are in milliseconds since 1970. */
export interface NotificationView {
  readonly id: NotificationId;
  readonly alertType: AlertTypeName;
  readonly reference?: string | undefined;
  readonly details?: string | undefined;
  readonly createdAt: number;
  /** How many have to; undefined without waves. */
  readonly confirmationsNeeded?: number | undefined;
  readonly status: 'in_progress' | 'completed' | 'stopped';
  /** How many were reached: who has confirmed if a key is asked for, else who has heard the message. */
  readonly reached: number;
  /** The indexes of those who have confirmed. */
  readonly confirmedBy: readonly number[];
  /** When the next wave is opened if nobody confirms; undefined: no wave waits. */
  readonly nextWaveAt?: number | undefined;
  /** Who has it in hand, and since when. */
  readonly acknowledgedBy?: string | undefined;
  readonly acknowledgedAt?: number | undefined;
  /** In the order of the request. */
  readonly recipients: readonly RecipientView[];
}

/** A recipient as it stands. */
export interface RecipientView {
  readonly recipient: MaskedNumber;
  readonly status: RecipientStatus;
  /** From 1; undefined without waves. */
  readonly wave?: number | undefined;
  /** Those of which anything can be told. */
  readonly attempts: readonly AttemptView[];
  readonly nextAttemptAt?: number | undefined;
  /** When somebody, or a machine, answered first, and when a key was pressed first. */
  readonly answeredAt?: number | undefined;
  readonly confirmedAt?: number | undefined;
  /** Of one who waits: why, in words, and since when. */
  readonly reason?: string | undefined;
  readonly since?: number | undefined;
}

/** An attempt as it stands; what is not known is undefined. */
export interface AttemptView extends ResultCodes {
  readonly callId?: CallId | undefined;
  readonly placedAt?: number | undefined;
  readonly endedAt?: number | undefined;
  readonly outcome?: Outcome | undefined;
  /** In words. */
  readonly reason?: string | undefined;
}

/**
 * A notification for those who ask.
 *
 * @param why for what those wait who could be dialled now, by their index, as far as that is known
 */
export const viewOf = (
  { notification, recipients }: NotificationCase,
  now: number,
  why: ReadonlyMap<number, string> = new Map(),
): NotificationView => {
  const { id, alertType, reference, details, createdAt, stoppedAt, waveMs, nextWaveAt } = notification;
  const { acknowledgedBy, acknowledgedAt, confirmationsNeeded = DEFAULT_CONFIRMATIONS_NEEDED } = notification;
  const isOver = recipients.every((recipient) => finalWord(recipient) !== undefined);
  return {
    id,
    alertType,
    reference,
    details,
    createdAt,
    confirmationsNeeded: waveMs === undefined ? undefined : confirmationsNeeded,
    status: stoppedAt === undefined ? (isOver ? 'completed' : 'in_progress') : 'stopped',
    reached: reachedOf({ notification, recipients }),
    confirmedBy: confirmedBy({ recipients }),
    nextWaveAt: stoppedAt === undefined ? nextWaveAt : undefined,
    acknowledgedBy,
    acknowledgedAt,
    recipients: recipients.flatMap((recipient, index) => recipientView(recipient, notification, now, why.get(index))),
  };
};

const recipientView = (
  recipient: Recipient,
  { waveMs, wave: opened, nextWaveAt, deadlineAt }: NotificationCase['notification'],
  now: number,
  why: string | undefined,
): readonly RecipientView[] => {
  const { number, state, attempts, wave, queuedAt } = recipient;
  const status = statusOf(recipient);
  // Of a later wave, the time when it is opened if nobody confirms.
  const waveAt = nextWaveAt === undefined ? undefined : nextWaveAt + (wave - opened - 1) * (waveMs ?? 0);
  const dueAt = state === 'later' ? waveAt : recipient.dueAt;
  if (number === undefined) return [];
  const isLater = (state === 'waiting' || state === 'later') && dueAt !== undefined && dueAt > now;
  // At the deadline nobody is dialled any more.
  const isInTime = isLater && dueAt < deadlineAt;
  return [
    {
      recipient: maskPhoneNumber(number),
      status,
      wave: waveMs === undefined ? undefined : wave,
      attempts: attempts
        .filter(({ callId, outcome }) => callId !== undefined || outcome !== undefined)
        .map(attemptView),
      nextAttemptAt: isInTime ? dueAt : undefined,
      answeredAt: earliest(attempts.map(({ speakingAt }) => speakingAt)),
      confirmedAt: earliest(attempts.map((attempt) => attempt.confirmedAt)),
      ...(status === 'waiting' ? { reason: waitingFor(recipient, why), since: queuedAt } : {}),
    },
  ];
};

const earliest = (times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((at) => at !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
};

const waitingFor = ({ state, reason, attempts }: Recipient, why: string | undefined): string => {
  if (state === 'later') return 'its wave has not begun';
  return (
    why ?? reason ?? (state === 'calling' ? 'is being dialled' : (attempts.at(-1)?.reason ?? 'is about to be dialled'))
  );
};

const statusOf = (recipient: Recipient): RecipientStatus => {
  const { state, attempts, isStopped, toldFinal } = recipient;
  if (state === 'later') return 'waiting';
  if (state !== 'calling') return toldFinal ?? state;
  const answer = answerOf(recipient);
  if (answer !== undefined) return answer;
  const live = attempts.filter(isLive);
  if (toldFinal !== undefined) return toldFinal;
  if (live.some(({ speakingAt }) => speakingAt !== undefined)) return 'speaking';
  if (isStopped === true) return 'stopped';
  return live.some(({ callId }) => callId !== undefined) ? 'ringing' : 'waiting';
};

const attemptView = ({ callId, placedAt, endedAt, outcome, code, subCode, reason }: Attempt): AttemptView => ({
  callId,
  placedAt,
  endedAt,
  outcome: isMade(outcome) ? outcome : undefined,
  code,
  subCode,
  reason,
});

const isMade = (outcome: Attempt['outcome']): outcome is Outcome | undefined =>
  !NOT_MADE.some((one: NotMade) => one === outcome);
