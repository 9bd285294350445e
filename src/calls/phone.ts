import type { Log } from '../log.ts';
import type { Table } from '../storage/table.ts';
import type { AlertType, AlertTypeName } from './alert-types.ts';
import type { CallEvent, ResultCodes } from './call-event.ts';
import type { CallId } from './call-id.ts';
import type { Clock } from './clock.ts';
import type { NotificationId } from './notification-id.ts';
import type { OutcomeTopic } from './outcome-events.ts';
import type { PhoneLine } from './phone-line.ts';
import type { MaskedNumber, PhoneNumber } from './phone-number.ts';

/** How people are called. Times are in milliseconds. */
export interface PhoneRules {
  /** Calls to one person at most, those included of which nothing was heard. Waiting for a free line costs none. */
  readonly attempts: number;
  /** From the end of an attempt to the next one. */
  readonly retryMs: number;
  /** From a request to its last attempt. */
  readonly deadlineMs: number;
  /** How long a phone rings before the line is hung up. */
  readonly ringMs: number;
  /** How the numbers that may be called begin; undefined: all of them. */
  readonly allowedPrefixes: readonly string[] | undefined;
  /** Of a UTC day; a fifth of them is kept for urgent alert types. */
  readonly callsPerDay: number;
  /** How long rows about calls are kept. */
  readonly retentionMs: number;
}

/** What the phone is made of. */
export interface PhoneParts {
  readonly line: PhoneLine;
  /** The table `calls`. */
  readonly table: Table;
  /** Spoken in the message. */
  readonly serviceName: string;
  readonly rules: PhoneRules;
  /** Where outcomes are published; undefined: nowhere. */
  readonly topic?: OutcomeTopic | undefined;
  /** For what happens outside any request. */
  readonly log: Log;
  /** By default the clock of this machine. */
  readonly clock?: Clock;
  /** From 0 to 1, for the jitter of pauses; by default `Math.random`. */
  readonly random?: () => number;
  /** A new UUID, for attempts and notifications; by default `randomUUID`. */
  readonly newId?: () => string;
}

/** What a notification request asks for. Two requests that ask for the same are the same request. */
export interface NotificationRequest {
  readonly alertType: AlertType;
  /** In waves; without waves there is one. All numbers are distinct. */
  readonly waves: readonly (readonly PhoneNumber[])[];
  /** Shown, never spoken. */
  readonly reference?: string | undefined;
  /** Whether somebody has to press a key. */
  readonly confirm?: boolean | undefined;
  /** From one wave to the next, in milliseconds. */
  readonly waveMs?: number | undefined;
  /** Where the events of its calls go, if not to the usual place. */
  readonly callbackBaseUrl?: string | undefined;
}

/** What became of a notification request. */
export type Sent =
  | { readonly kind: 'sent'; readonly id: NotificationId; readonly calls: readonly SentCall[] }
  /** Our own policy refuses all recipients: the allowed prefixes, or the day's limit. Nothing was written down. */
  | { readonly kind: 'refused'; readonly calls: readonly SentCall[] }
  /** The last wave would begin after the deadline. */
  | { readonly kind: 'waves too late' }
  /** The key was used before, for another request. */
  | { readonly kind: 'key of another request' };

/** What became of one recipient within the request, in the order of the request. */
export type SentCall =
  | { readonly recipient: PhoneNumber; readonly status: 'placed'; readonly callId: CallId }
  | { readonly recipient: PhoneNumber; readonly status: 'waiting' | 'failed'; readonly reason: string };

/** A notification as it stands. Times are in milliseconds since 1970. */
export interface NotificationView {
  readonly id: NotificationId;
  readonly alertType: AlertTypeName;
  readonly reference?: string | undefined;
  readonly createdAt: number;
  readonly status: 'in_progress' | 'completed' | 'stopped';
  readonly recipients: readonly RecipientView[];
}

/** What a recipient's state is to those who ask. */
export const RECIPIENT_STATUSES = [
  'waiting',
  'ringing',
  'speaking',
  'heard',
  'confirmed',
  'not_reached',
  'failed',
  'stopped',
] as const;

/** What became of one attempt to reach somebody. */
export const OUTCOMES = [
  'confirmed',
  'heard',
  'unconfirmed',
  'cut_short',
  'no_answer',
  'busy',
  'declined',
  'refused',
  'unknown',
] as const;

/** A recipient as it stands. */
export interface RecipientView {
  readonly recipient: MaskedNumber;
  readonly status: (typeof RECIPIENT_STATUSES)[number];
  /** From 1; undefined without waves. */
  readonly wave?: number | undefined;
  readonly attempts: readonly AttemptView[];
  readonly nextAttemptAt?: number | undefined;
}

/** An attempt as it stands; what is not known is undefined. */
export interface AttemptView extends ResultCodes {
  readonly callId?: CallId | undefined;
  readonly placedAt?: number | undefined;
  readonly endedAt?: number | undefined;
  readonly outcome?: (typeof OUTCOMES)[number] | undefined;
  /** In words. */
  readonly reason?: string | undefined;
}

/** What endpoints and the timer function use of the phone. */
export interface Phone {
  /**
   * Writes a notification down and dials its recipients. A request whose key was used for the same within 24 hours finds that
   * notification as it stands, and phones nobody anew.
   *
   * @param key the caller's `Idempotency-Key`
   * @throws {StorageTrouble} nothing is dialled; the same request may be sent again
   */
  send(request: NotificationRequest, key: string | undefined, log: Log): Promise<Sent>;

  /** A notification as it stands; undefined if there is none. @throws {StorageTrouble} */
  read(id: NotificationId): Promise<NotificationView | undefined>;

  /** The newest notifications as they stand, the newest first. @throws {StorageTrouble} */
  newest(most: number): Promise<readonly NotificationView[]>;

  /** Stops a notification: nobody is dialled any more. Answers it as it stands then; undefined if there is none. @throws {StorageTrouble} */
  stop(id: NotificationId, log: Log): Promise<NotificationView | undefined>;

  /**
   * Does what a callback's events ask for. Never throws; without the table, speaks and hangs up all the same.
   *
   * @param alertType that of the callback path; a known call is spoken to in the words of its own notification
   */
  handle(events: readonly CallEvent[], alertType: AlertType, log: Log): Promise<void>;

  /** Does what is due now, in this process once at a time. Never throws. */
  runDue(log: Log): Promise<void>;

  /** Fulfils when nothing is under way. */
  settled(): Promise<void>;
}
