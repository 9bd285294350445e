import type { AlertType } from './alert-types.ts';
import type { CallId, NotificationId } from './ids.ts';
import type { PhoneNumber } from './phone-number.ts';

export interface Callee {
  readonly number: PhoneNumber;
  /** Shown with the number, never spoken. */
  readonly name?: string | undefined;
}

/** A request for a notification. Two requests with equal content count as the same request. */
export type NotificationRequest = RequestToAll | RequestInWaves;

interface CommonRequest {
  readonly alertType: AlertType;
  /** In waves; without waves there is a single wave. All numbers are distinct. */
  readonly waves: readonly (readonly Callee[])[];
  /** Shown, never spoken. */
  readonly reference?: string | undefined;
  /** Spoken in the message: the place. */
  readonly details?: string | undefined;
  /** Where the events of its calls go, if not to the usual place. */
  readonly callbackBaseUrl?: string | undefined;
}

interface RequestToAll extends CommonRequest {
  /** Whether each callee has to press a key. */
  readonly confirm?: boolean | undefined;
  readonly waveMs?: undefined;
  readonly confirmationsNeeded?: undefined;
}

/** Callees press a key. When enough have confirmed, the rest is stopped. */
interface RequestInWaves extends CommonRequest {
  readonly confirm: true;
  /** From one wave to the next, in milliseconds. */
  readonly waveMs: number;
  /** How many have to confirm; 1 if it is not given. */
  readonly confirmationsNeeded?: number | undefined;
}

export type Sent =
  | { readonly kind: 'sent'; readonly id: NotificationId; readonly calls: readonly SentCall[] }
  /** No recipient may be called: impossible numbers, the allowed prefixes, or the day's limit. Nothing was stored. */
  | { readonly kind: 'nobody callable'; readonly calls: readonly SentCall[] }
  /** The last wave would begin after the deadline. */
  | { readonly kind: 'waves too late' }
  /** The key was used before, for another request. */
  | { readonly kind: 'key of another request' };

export const WAITING_CODES = ['line', 'number', 'pause', 'set_up', 'later_wave', 'redial', 'day_limit'] as const;

export type WaitingCode = (typeof WAITING_CODES)[number];

export type FailedCode = 'impossible_number' | 'not_allowed' | 'day_limit' | 'refused';

/** The state of each recipient, in the order of the request. */
export type SentCall =
  | { readonly recipient: PhoneNumber; readonly status: 'placed'; readonly callId: CallId }
  | { readonly recipient: PhoneNumber; readonly status: 'failed'; readonly code: FailedCode; readonly reason: string }
  | {
      readonly recipient: PhoneNumber;
      readonly status: 'waiting';
      readonly code: WaitingCode;
      readonly reason: string;
      /** Since when, in milliseconds since 1970. */
      readonly since: number;
    };
