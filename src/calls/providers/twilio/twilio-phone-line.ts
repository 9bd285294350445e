import type { CallId } from '../../model/ids.ts';
import { type CallRequest, LONGEST_REQUEST_MS, type PhoneLine, PhoneLineError } from '../../model/phone-line.ts';
import type { PhoneNumber } from '../../model/phone-number.ts';
import { type Bounds, SAFE_TO_REPEAT, sendRepeatedly } from '../repeat.ts';
import { addressOf } from './addresses.ts';
import type { TwilioApi } from './twilio-api.ts';
import { messageTwiml } from './twiml.ts';

/** Settings of the line. */
export interface TwilioLineOptions {
  /** The number that calls. */
  readonly source: PhoneNumber;
  /** How many calls the account may start a second. */
  readonly callsPerSecond: number;
  /** The voice of the speech. */
  readonly voice: string;
  /** The callback paths are below it. Without a slash at its end. */
  readonly callbackBaseUrl: string;
  /** How long a phone rings, in milliseconds. */
  readonly ringMs: number;
}

/** Twilio ends a call after this time, regardless of keys. */
const LONGEST_CALL_SECONDS = 300;
/** The clocks of Twilio and of this service differ by less. Twilio tells whole seconds. */
const CLOCKS_DIFFER_MS = 2_000;

const CREATE_MS = 10_000;
const CHECK_MS = 10_000;
const REPEATED: Bounds = { tryMs: 4_500, withinMs: LONGEST_REQUEST_MS, tries: 3 };

/**
 * The telephone line of Twilio Programmable Voice. The message goes with the call request: the callee hears it even if this service is down.
 * A call request is sent once, because it has no id by which Twilio would act once.
 */
export class TwilioPhoneLine implements PhoneLine {
  readonly name = 'twilio';
  readonly isIdempotent = false;
  readonly callsPerSecond: number;
  readonly #api: TwilioApi;
  readonly #options: TwilioLineOptions;

  constructor(api: TwilioApi, options: TwilioLineOptions) {
    this.#api = api;
    this.#options = options;
    this.callsPerSecond = options.callsPerSecond;
  }

  async call({ number, alertType, attempt, message, callbackBaseUrl }: CallRequest): Promise<CallId> {
    const { source, ringMs, voice, callbackBaseUrl: ownBaseUrl } = this.#options;
    const path = `${callbackBaseUrl ?? ownBaseUrl}/api/${alertType.callbackPath}`;
    const form = new URLSearchParams({
      To: number,
      From: source,
      Twiml: messageTwiml(message, path, { attempt }, voice),
      StatusCallback: addressOf(path, { occasion: 'status', attempt }),
      StatusCallbackMethod: 'POST',
      Timeout: String(Math.ceil(ringMs / 1_000)),
      TimeLimit: String(LONGEST_CALL_SECONDS),
    });
    for (const event of ['initiated', 'answered', 'completed']) form.append('StatusCallbackEvent', event);
    try {
      return await this.#api.create(form, AbortSignal.timeout(CREATE_MS));
    } catch (error) {
      throw ofAccount(error);
    }
  }

  async find(number: PhoneNumber, since: number): Promise<readonly CallId[]> {
    const from = Math.floor((since - CLOCKS_DIFFER_MS) / 1_000) * 1_000;
    const calls = await repeated(async (signal) => this.#api.list(number, signal));
    return calls
      .filter(({ createdAt }) => createdAt >= from)
      .map(({ callId }) => callId)
      .toReversed();
  }

  async hangUp(callId: CallId, isAnswered: boolean): Promise<void> {
    try {
      // `canceled` ends a queued or ringing call, and keeps an answered call.
      await repeated(async (signal) => this.#api.end(callId, isAnswered ? 'completed' : 'canceled', signal));
    } catch (error) {
      if (!(error instanceof PhoneLineError) || error.result.failure !== 'gone') throw error;
    }
  }

  async check(): Promise<void> {
    try {
      if (await this.#api.canCallFrom(this.#options.source, AbortSignal.timeout(CHECK_MS))) return;
    } catch (error) {
      throw ofAccount(error, 'forbidden');
    }
    throw new PhoneLineError({
      failure: 'set_up',
      reason: 'the caller is not a number of this account that can call',
      operatorHint: 'TWILIO_SOURCE_PHONE_NUMBER',
    });
  }
}

/**
 * How a request to the account's own address failed: there is no such account if it is not found.
 *
 * @param alsoSetUp another failure that is one of our set-up here
 */
const ofAccount = (error: unknown, alsoSetUp?: 'forbidden'): unknown => {
  if (!(error instanceof PhoneLineError)) return error;
  const { result } = error;
  if (result.failure === 'gone') {
    return new PhoneLineError({ ...result, failure: 'set_up', reason: 'there is no such account' });
  }
  return result.failure === alsoSetUp ? new PhoneLineError({ ...result, failure: 'set_up' }) : error;
};

/** Sends a request that may be sent again, until it is answered. */
const repeated = async <Answer>(send: (abortSignal: AbortSignal) => Promise<Answer>): Promise<Answer> =>
  sendRepeatedly(SAFE_TO_REPEAT, REPEATED, asFailure, send);

const asFailure = (error: unknown): PhoneLineError => {
  if (error instanceof PhoneLineError) return error;
  throw error;
};
