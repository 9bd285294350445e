import { setTimeout as sleep } from 'node:timers/promises';

import { ALERT_TYPES } from '../../model/alert-types.ts';
import type { SpeechRef } from '../../model/call-context.ts';
import type { CallId } from '../../model/ids.ts';
import { type CallRequest, LONGEST_REQUEST_MS, type PhoneLine, PhoneLineError } from '../../model/phone-line.ts';
import type { PhoneNumber } from '../../model/phone-number.ts';
import { MESSAGE } from '../../model/speech.ts';
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
const TRIES = 3;
const TRY_MS = 4_500;
const PAUSE_MS = 300;

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
      return (await this.#api.create(form, CREATE_MS)).callId;
    } catch (error) {
      // The address of a create is the account's: there is no such account.
      if (!(error instanceof PhoneLineError) || error.failure !== 'gone') throw error;
      throw new PhoneLineError('set-up', 'there is no such account', error);
    }
  }

  /** The calls to a number that were created since a time, the oldest first. */
  async find(number: PhoneNumber, since: number): Promise<readonly CallId[]> {
    const from = Math.floor((since - CLOCKS_DIFFER_MS) / 1_000) * 1_000;
    const calls = await this.#repeated(async (withinMs) => this.#api.list(number, withinMs));
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
    await this.#repeated(async (withinMs) => this.#api.change(callId, form, withinMs));
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
      return (await this.#repeated(async (withinMs) => this.#api.change(callId, form, withinMs))).status;
    } catch (error) {
      if (error instanceof PhoneLineError && error.failure === 'gone') return undefined;
      throw error;
    }
  }

  #path(callbackPath: string, base = this.#options.callbackBaseUrl): string {
    return `${base}/api/${callbackPath}`;
  }

  /** Sends a request that may be sent again, until it is answered. */
  async #repeated<Answer>(send: (withinMs: number) => Promise<Answer>): Promise<Answer> {
    const end = performance.now() + LONGEST_REQUEST_MS;
    for (let tried = 1; ; tried += 1) {
      try {
        return await send(Math.min(TRY_MS, end - performance.now()));
      } catch (error) {
        const { failure, waitMs = 0 } =
          error instanceof PhoneLineError ? error : new PhoneLineError('refused', 'unexpected error');
        const pauseMs = Math.max(waitMs, PAUSE_MS * tried);
        if (!AGAIN.has(failure) || tried === TRIES || performance.now() + pauseMs + TRY_MS / 2 >= end) throw error;
        await sleep(pauseMs);
      }
    }
  }
}

const OVER: ReadonlySet<string> = new Set(['completed', 'busy', 'failed', 'no-answer', 'canceled']);
const AGAIN: ReadonlySet<string> = new Set(['unanswered', 'not sent', 'throttled']);
