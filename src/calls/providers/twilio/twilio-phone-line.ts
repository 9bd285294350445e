import { ALERT_TYPES } from '../../model/alert-types.ts';
import type { SpeechRef } from '../../model/call-context.ts';
import type { CallId } from '../../model/ids.ts';
import { type CallRequest, LONGEST_REQUEST_MS, type PhoneLine, PhoneLineError } from '../../model/phone-line.ts';
import type { PhoneNumber } from '../../model/phone-number.ts';
import { MESSAGE } from '../../model/speech.ts';
import { type Bounds, SAFE_TO_REPEAT, sendRepeatedly } from '../repeat.ts';
import { addressOf } from './addresses.ts';
import type { OpenRequests } from './open-requests.ts';
import type { TwilioApi } from './twilio-api.ts';

/** Settings of the line. */
export interface TwilioLineOptions {
  /** The number that calls. */
  readonly source: PhoneNumber;
  /** How many calls the account may start a second. */
  readonly callsPerSecond: number;
  /** Whether Twilio finds out if a machine has answered, before the message. */
  readonly detectsMachines: boolean;
  /** The callback paths are below it. Without a slash at its end. */
  readonly callbackBaseUrl: string;
  /** How long a phone rings, in milliseconds. */
  readonly ringMs: number;
}

/** No call lasts longer, whatever keys are pressed. */
const LONGEST_CALL_SECONDS = 300;
/** The clocks of Twilio and of this service differ by less; Twilio tells whole seconds. */
const CLOCKS_DIFFER_MS = 2_000;

const CREATE_MS = 10_000;
const REPEATED: Bounds = { attemptMs: 4_500, withinMs: LONGEST_REQUEST_MS, attempts: 3 };

/**
 * The telephone line of Twilio Programmable Voice. A request to create a call is sent once: it has no id by which Twilio would act once. What is said
 * is the answer to a request of Twilio ({@link OpenRequests}); a request of ours goes out only where none of Twilio's is open.
 */
export class TwilioPhoneLine implements PhoneLine {
  readonly name = 'twilio';
  readonly isIdempotent = false;
  readonly refusesSurely = true;
  readonly callsPerSecond: number;
  readonly #api: TwilioApi;
  readonly #open: OpenRequests;
  readonly #options: TwilioLineOptions;

  constructor(api: TwilioApi, open: OpenRequests, options: TwilioLineOptions) {
    this.#api = api;
    this.#open = open;
    this.#options = options;
    this.callsPerSecond = options.callsPerSecond;
  }

  async call({ number, alertType, attempt, callbackBaseUrl }: CallRequest): Promise<CallId> {
    const { source, ringMs, detectsMachines } = this.#options;
    const path = this.#path(alertType.callbackPath, callbackBaseUrl);
    const form = new URLSearchParams({
      To: number,
      From: source,
      Url: addressOf(path, { occasion: 'start', attempt }),
      Method: 'POST',
      StatusCallback: addressOf(path, { occasion: 'status', attempt }),
      StatusCallbackMethod: 'POST',
      Timeout: String(Math.ceil(ringMs / 1_000)),
      TimeLimit: String(LONGEST_CALL_SECONDS),
      ...(detectsMachines ? { MachineDetection: 'Enable' } : {}),
    });
    for (const event of ['initiated', 'completed']) form.append('StatusCallbackEvent', event);
    try {
      return (await this.#api.create(form, AbortSignal.timeout(CREATE_MS))).callId;
    } catch (error) {
      // The address of a create is the account's: there is no such account.
      if (!(error instanceof PhoneLineError) || error.failure !== 'gone') throw error;
      throw new PhoneLineError('set-up', 'there is no such account', error);
    }
  }

  /** The calls to a number that were created since a time, the oldest first. */
  async find(number: PhoneNumber, since: number): Promise<readonly CallId[]> {
    const from = Math.floor((since - CLOCKS_DIFFER_MS) / 1_000) * 1_000;
    const calls = await repeated(async (signal) => this.#api.list(number, signal));
    return calls
      .filter(({ createdAt }) => createdAt >= from)
      .map(({ callId }) => callId)
      .toReversed();
  }

  async speak(callId: CallId, text: string, ref?: SpeechRef, hasKeys = false): Promise<'started' | undefined> {
    if (this.#open.answer(callId, { kind: 'speak', text, speech: ref?.speech ?? MESSAGE, hasKeys })) return 'started';
    // Twilio asks then what to say, and is answered by what is known of the call. Which path it is matters only for calls that nobody knows.
    const path = this.#path(ALERT_TYPES[0].callbackPath);
    const form = new URLSearchParams({ Url: addressOf(path, { occasion: 'start', attempt: ref }), Method: 'POST' });
    await repeated(async (signal) => this.#api.change(callId, form, signal));
    return undefined;
  }

  /** Keys are gathered beside every speech: there is nothing to start. */
  async listen(): Promise<void> {
    return Promise.resolve();
  }

  async waitForKeys(callId: CallId): Promise<void> {
    this.#open.answer(callId, { kind: 'listen' });
  }

  async hangUp(callId: CallId): Promise<void> {
    if (this.#open.answer(callId, { kind: 'hang up' })) return;
    // `canceled` ends what is queued or rings; only `completed` ends what was answered, perhaps meanwhile.
    const isAnswered = this.#open.isKnown(callId);
    if (!isAnswered && OVER.has((await this.#end(callId, 'canceled')) ?? '')) return;
    await this.#end(callId, 'completed');
  }

  /** @returns the state of the call afterwards; undefined where it is over, or this cannot be done to a call in its state */
  async #end(callId: CallId, status: 'canceled' | 'completed'): Promise<string | undefined> {
    const form = new URLSearchParams({ Status: status });
    try {
      return (await repeated(async (signal) => this.#api.change(callId, form, signal))).status;
    } catch (error) {
      if (error instanceof PhoneLineError && error.failure === 'gone') return undefined;
      throw error;
    }
  }

  #path(callbackPath: string, base = this.#options.callbackBaseUrl): string {
    return `${base}/api/${callbackPath}`;
  }
}

/** Sends a request that may be sent again, until it is answered. */
const repeated = async <Answer>(send: (abortSignal: AbortSignal) => Promise<Answer>): Promise<Answer> =>
  sendRepeatedly(SAFE_TO_REPEAT, REPEATED, asFailure, send);

const asFailure = (error: unknown): PhoneLineError => {
  if (error instanceof PhoneLineError) return error;
  throw error;
};

const OVER: ReadonlySet<string> = new Set(['completed', 'busy', 'failed', 'no-answer', 'canceled']);
