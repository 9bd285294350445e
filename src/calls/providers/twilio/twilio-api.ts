import * as z from 'zod';

import { readSdkError } from '../../../azure/sdk-error.ts';
import { type CallId, parseCallId } from '../../model/ids.ts';
import { type FailedRequest, PhoneLineError } from '../../model/phone-line.ts';
import type { PhoneNumber } from '../../model/phone-number.ts';
import { FAILURE_WITHOUT_ANSWER, failureOfStatus } from '../failures.ts';
import { meaningOfError } from './codes.ts';

/** Whose calls, and the key that may place them. */
export interface TwilioAccount {
  readonly accountSid: string;
  readonly apiKeySid: string;
  readonly apiKeySecret: string;
  /** Without a slash at its end. */
  readonly apiBaseUrl: string;
}

/** Sends a request; by default `fetch`. */
export type Send = (url: string, init: SentRequest) => Promise<Pick<Response, 'status' | 'headers' | 'json'>>;

/** A request to Twilio. */
export interface SentRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  /** A form. */
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** A call as Twilio knows it. */
export interface ListedCall {
  readonly callId: CallId;
  /** In milliseconds since 1970; whole seconds. */
  readonly createdAt: number;
}

const callSchema = z
  .object({
    sid: z.string().transform((text, context): CallId => {
      const callId = parseCallId(text);
      if (callId !== undefined) return callId;
      context.addIssue('not a call id');
      return z.NEVER;
    }),
    date_created: z.string().nullish(),
  })
  .transform(({ sid, date_created: created }): ListedCall => ({
    callId: sid,
    createdAt: Date.parse(created ?? '') || 0,
  }));
const callsSchema = z.object({ calls: z.array(callSchema) });
const numbersSchema = z.object({
  incoming_phone_numbers: z.array(
    z.object({ phone_number: z.string(), capabilities: z.object({ voice: z.boolean().optional() }) }),
  ),
});
const errorSchema = z.object({ code: z.int32().optional().catch(undefined) }).catch({});

/** There are never more calls to one number since a request. */
const LISTED = 50;

/** The requests to Twilio's API that are needed here. Each throws {@link PhoneLineError} alone. */
export class TwilioApi {
  readonly #account: TwilioAccount;
  readonly #send: Send;

  constructor(account: TwilioAccount, send: Send = fetch) {
    this.#account = account;
    this.#send = send;
  }

  /** Creates a call. */
  async create(form: URLSearchParams, signal: AbortSignal): Promise<CallId> {
    return (await this.#ask('POST', '/Calls.json', form, callSchema, signal)).callId;
  }

  /** Ends a call that is not over. */
  async end(callId: CallId, status: 'canceled' | 'completed', signal: AbortSignal): Promise<void> {
    await this.#ask('POST', `/Calls/${callId}.json`, new URLSearchParams({ Status: status }), callSchema, signal);
  }

  /** Calls to a number, the newest first. Queued calls are among them: they have no start time yet, so the request does not filter by it. */
  async list(to: PhoneNumber, signal: AbortSignal): Promise<readonly ListedCall[]> {
    const query = new URLSearchParams({ To: to, PageSize: String(LISTED) });
    return (await this.#ask('GET', '/Calls.json', query, callsSchema, signal)).calls;
  }

  /** Whether a number is one of the account's, and can call. */
  async canCallFrom(number: PhoneNumber, signal: AbortSignal): Promise<boolean> {
    const query = new URLSearchParams({ PhoneNumber: number });
    const found = await this.#ask('GET', '/IncomingPhoneNumbers.json', query, numbersSchema, signal);
    return found.incoming_phone_numbers.some(
      ({ phone_number: own, capabilities }) => own === number && capabilities.voice === true,
    );
  }

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
        signal,
      });
      const { status } = response;
      body = await response.json().catch((error: unknown) => {
        if (status < 400) throw error;
      });
    } catch (error) {
      throw new PhoneLineError(withoutAnswer(error));
    }
    if (response.status >= 400) {
      throw new PhoneLineError(refused(response.status, errorSchema.parse(body ?? {}).code, response.headers));
    }
    const { data, success } = answer.safeParse(body);
    if (success) return data;
    throw new PhoneLineError({ failure: 'unanswered', reason: 'unexpected answer', code: response.status });
  }
}

/** `fetch` throws an error with the address, which has the account's id: nothing of it is kept. */
const withoutAnswer = (error: unknown): FailedRequest => {
  const cause = error instanceof TypeError && error.cause !== undefined ? error.cause : error;
  const { unanswered = 'unknown' } = readSdkError(cause);
  return FAILURE_WITHOUT_ANSWER[unanswered === 'unknown' ? 'connection lost' : unanswered];
};

/** An error's message repeats the number that was called: only its codes are read. */
const refused = (status: number, subCode: number | undefined, headers: Headers): FailedRequest => {
  const seconds = headers.get('retry-after') ?? '';
  const waitMs = /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1_000 : undefined;
  const ofStatus = failureOfStatus(status, waitMs);
  const { failure = ofStatus.failure, reason = ofStatus.reason } = meaningOfError(subCode);
  return { code: status, subCode, waitMs, failure, reason };
};
