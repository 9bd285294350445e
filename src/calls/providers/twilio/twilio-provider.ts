import * as z from 'zod';

import { readSdkError } from '../../../azure/sdk-error.ts';
import { retryAfterMs } from '../../../retry-after.ts';
import { type CallId, callIdSchema } from '../../model/ids.ts';
import {
  type CallRequest,
  type FailedRequest,
  type HangUp,
  type PhoneProvider,
  ProviderError,
} from '../../model/phone-provider.ts';
import type { PhoneNumber } from '../../model/phone-number.ts';
import { FAILURE_WITHOUT_ANSWER, failureOfStatus } from '../failures.ts';
import { hangUpRepeatedly, type Repeats, SAFE_TO_REPEAT, sendRepeatedly } from '../repeat.ts';
import { addressOf } from './addresses.ts';
import { meaningOfError } from './codes.ts';
import { messageTwiml } from './twiml.ts';

/** The account that calls, and its API key. */
export interface TwilioAccount {
  readonly accountSid: string;
  readonly apiKeySid: string;
  readonly apiKeySecret: string;
  /** Without a slash at its end. */
  readonly apiBaseUrl: string;
}

/** Settings of the provider. */
export interface TwilioOptions {
  /** The number that calls. */
  readonly source: PhoneNumber;
  /** How many calls the account may start a second. */
  readonly callsPerSecond: number;
  /** One of Twilio's voices, such as `Polly.Joanna`. */
  readonly voice: string;
  /** The callback paths are below it. Without a slash at its end. */
  readonly callbackBaseUrl: string;
  /** How long a phone rings, in milliseconds. */
  readonly ringMs: number;
}

/** Sends a request; by default `fetch`. */
export type Send = (url: string, init: SentRequest) => Promise<Pick<Response, 'status' | 'headers' | 'json'>>;

/** A request to Twilio. */
interface SentRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  /** A form. */
  readonly body?: string;
  /** A redirect would place a second call, or its answer would pass for success. */
  readonly redirect: 'manual';
  readonly signal: AbortSignal;
}

const callSchema = z.object({ sid: callIdSchema });
const numbersSchema = z.object({
  incoming_phone_numbers: z.array(
    z.object({ phone_number: z.string(), capabilities: z.object({ voice: z.boolean().optional() }) }),
  ),
});
const errorSchema = z.object({ code: z.int32().optional().catch(undefined) }).catch({});

/** Twilio ends a call after this time, regardless of keys. */
const MAX_CALL_SECONDS = 300;
// A repeat may place a second call: the attempt decides whether to send it again.
const CALL: Repeats = { after: new Set(), tryMs: 10_000, tries: 1 };
const HANG_UP: Repeats = { after: SAFE_TO_REPEAT, tryMs: 4_500, tries: 3 };
const CHECK: Repeats = { after: new Set(), tryMs: 10_000, tries: 1 };

/**
 * Calls through Twilio Programmable Voice. The message goes with the call request: the callee hears it even if this service is down. A call
 * request is sent once, because it has no id by which Twilio would act once.
 */
export class TwilioProvider implements PhoneProvider {
  readonly name = 'twilio';
  readonly isIdempotent = false;
  readonly callsPerSecond: number;
  readonly #account: TwilioAccount;
  readonly #options: TwilioOptions;
  readonly #send: Send;

  constructor(account: TwilioAccount, options: TwilioOptions, send: Send = fetch) {
    this.#account = account;
    this.#options = options;
    this.#send = send;
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
      TimeLimit: String(MAX_CALL_SECONDS),
    });
    for (const event of ['initiated', 'answered', 'completed']) form.append('StatusCallbackEvent', event);
    try {
      const call = await sendRepeatedly(CALL, async (signal) =>
        this.#ask('POST', '/Calls.json', form, callSchema, signal),
      );
      return call.sid;
    } catch (error) {
      throw ofAccount(error);
    }
  }

  async hangUp(callId: CallId, isAnswered: boolean): Promise<HangUp> {
    // `canceled` ends a queued or ringing call, and does not end an answered call.
    const form = new URLSearchParams({ Status: isAnswered ? 'completed' : 'canceled' });
    return hangUpRepeatedly(HANG_UP, async (signal) =>
      this.#ask('POST', `/Calls/${callId}.json`, form, callSchema, signal),
    );
  }

  /** Asks for the caller's number: a number of the account that can call proves the login, too. */
  async check(): Promise<void> {
    const { source } = this.#options;
    const query = new URLSearchParams({ PhoneNumber: source });
    try {
      const found = await sendRepeatedly(CHECK, async (signal) =>
        this.#ask('GET', '/IncomingPhoneNumbers.json', query, numbersSchema, signal),
      );
      const own = found.incoming_phone_numbers.find(({ phone_number: number }) => number === source);
      if (own?.capabilities.voice === true) return;
    } catch (error) {
      throw ofAccount(error, 'forbidden');
    }
    throw new ProviderError({
      failure: 'set_up',
      reason: 'the caller is not a number of this account that can call',
      operatorHint: 'TWILIO_SOURCE_PHONE_NUMBER',
    });
  }

  /** @throws {ProviderError} */
  async #ask<Schema extends z.ZodType>(
    method: SentRequest['method'],
    path: string,
    values: URLSearchParams,
    answer: Schema,
    signal: AbortSignal,
  ): Promise<z.output<Schema>> {
    const { accountSid, apiKeySid, apiKeySecret, apiBaseUrl } = this.#account;
    const isPost = method === 'POST';
    const url = `${apiBaseUrl}/2010-04-01/Accounts/${accountSid}${path}${isPost ? '' : `?${values.toString()}`}`;
    const login = Buffer.from(`${apiKeySid}:${apiKeySecret}`).toString('base64');
    let response: Awaited<ReturnType<Send>>;
    let body: unknown;
    try {
      response = await this.#send(url, {
        method,
        headers: {
          authorization: `Basic ${login}`,
          accept: 'application/json',
          ...(isPost ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
        },
        ...(isPost ? { body: values.toString() } : {}),
        redirect: 'manual',
        signal,
      });
      const { status } = response;
      body = await response.json().catch((error: unknown) => {
        if (status < 400) throw error;
      });
    } catch (error) {
      throw new ProviderError(withoutAnswer(error));
    }
    if (response.status >= 400) {
      throw new ProviderError(rejection(response.status, errorSchema.parse(body ?? {}).code, response.headers));
    }
    const { data, success } = answer.safeParse(body);
    if (success && response.status < 300) return data;
    throw new ProviderError({ failure: 'unanswered', reason: 'unexpected answer', code: response.status });
  }
}

/**
 * How a request to the account's own address failed: a 404 means that there is no such account.
 *
 * @param alsoSetUp another failure that is one of our set-up here
 */
const ofAccount = (error: unknown, alsoSetUp?: 'forbidden'): unknown => {
  if (!(error instanceof ProviderError)) return error;
  const { result } = error;
  if (result.failure === 'gone') {
    return new ProviderError({ ...result, failure: 'set_up', reason: 'there is no such account' });
  }
  return result.failure === alsoSetUp ? new ProviderError({ ...result, failure: 'set_up' }) : error;
};

/** `fetch` throws an error with the address, which has the account's id: nothing of it is kept. */
const withoutAnswer = (error: unknown): FailedRequest => {
  const cause = error instanceof TypeError && error.cause !== undefined ? error.cause : error;
  const { unanswered = 'unknown' } = readSdkError(cause);
  return FAILURE_WITHOUT_ANSWER[unanswered === 'unknown' ? 'connection lost' : unanswered];
};

/** An error's message repeats the number that was called: only its codes are read. */
const rejection = (status: number, subCode: number | undefined, headers: Headers): FailedRequest => {
  const waitMs = retryAfterMs(headers, Date.now());
  const ofStatus = failureOfStatus(status, waitMs);
  const { failure = ofStatus.failure, reason = ofStatus.reason, operatorHint } = meaningOfError(subCode);
  return { code: status, subCode, waitMs, failure, reason, operatorHint };
};
