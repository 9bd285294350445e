import * as z from 'zod';

import { readSdkError } from '../../../azure/sdk-error.ts';
import { type CallId, parseCallId } from '../../model/ids.ts';
import { PhoneLineError, type PhoneLineFailure } from '../../model/phone-line.ts';
import type { PhoneNumber } from '../../model/phone-number.ts';
import { meaningOfError } from './result-meaning.ts';

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
export interface KnownCall {
  readonly callId: CallId;
  readonly status: string;
  /** In milliseconds since 1970; whole seconds. */
  readonly createdAt: number;
}

const callSchema = z.object({
  sid: z.string().transform((text, context): CallId => {
    const callId = parseCallId(text);
    if (callId !== undefined) return callId;
    context.addIssue('not a call id');
    return z.NEVER;
  }),
  status: z.string(),
  date_created: z.string().nullish(),
});
const listSchema = z.object({ calls: z.array(callSchema) });
const errorSchema = z.object({ code: z.int32().optional().catch(undefined) }).catch({});

const knownCall = ({ sid, status, date_created: created }: z.output<typeof callSchema>): KnownCall => ({
  callId: sid,
  status,
  createdAt: Date.parse(created ?? '') || 0,
});

/** More calls to one number since a request than that are not ours to find. */
const LISTED = 50;

/** The requests to Twilio's API that are needed here: create a call, change one, list those to a number. */
export class TwilioApi {
  readonly #account: TwilioAccount;
  readonly #send: Send;

  constructor(account: TwilioAccount, send: Send = fetch) {
    this.#account = account;
    this.#send = send;
  }

  /** @throws {PhoneLineError} */
  async create(form: URLSearchParams, signal: AbortSignal): Promise<KnownCall> {
    return knownCall(await this.#ask('POST', '/Calls.json', form, callSchema, signal));
  }

  /** @throws {PhoneLineError} `gone` where the call is over */
  async change(callId: CallId, form: URLSearchParams, signal: AbortSignal): Promise<KnownCall> {
    return knownCall(await this.#ask('POST', `/Calls/${callId}.json`, form, callSchema, signal));
  }

  /** Calls to a number, the newest first. Queued ones are among them: they have no start time yet, so it is not asked for. @throws {PhoneLineError} */
  async list(to: PhoneNumber, signal: AbortSignal): Promise<readonly KnownCall[]> {
    const query = new URLSearchParams({ To: to, PageSize: String(LISTED) });
    return (await this.#ask('GET', '/Calls.json', query, listSchema, signal)).calls.map(knownCall);
  }

  async #ask<Schema extends z.ZodType>(
    method: SentRequest['method'],
    path: string,
    values: URLSearchParams,
    answer: Schema,
    signal: AbortSignal,
  ): Promise<z.output<Schema>> {
    const { accountSid, apiKeySid, apiKeySecret, apiBaseUrl } = this.#account;
    const url = `${apiBaseUrl}/2010-04-01/Accounts/${accountSid}${path}${method === 'GET' ? `?${values.toString()}` : ''}`;
    const authorization = `Basic ${Buffer.from(`${apiKeySid}:${apiKeySecret}`).toString('base64')}`;
    let status: number;
    let headers: Headers;
    let body: unknown;
    try {
      const response = await this.#send(url, {
        method,
        headers: {
          authorization,
          accept: 'application/json',
          ...(method === 'POST' ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
        },
        ...(method === 'POST' ? { body: values.toString() } : {}),
        signal,
      });
      ({ status, headers } = response);
      body = await response.json().catch((error: unknown) => {
        if (status < 400) throw error;
      });
    } catch (error) {
      throw withoutAnswer(error);
    }
    if (status >= 400) throw refused(status, errorSchema.parse(body ?? {}).code, headers);
    const { data, success } = answer.safeParse(body);
    if (!success) throw new PhoneLineError('unanswered', 'unexpected answer', { code: status });
    return data;
  }
}

/** What `fetch` threw holds the address alone, but that has the account's id: nothing of it is kept. */
const withoutAnswer = (error: unknown): PhoneLineError => {
  const cause = error instanceof TypeError && error.cause !== undefined ? error.cause : error;
  const { unanswered } = readSdkError(cause);
  if (unanswered === 'not connected') return new PhoneLineError('not sent', 'unreachable');
  return new PhoneLineError('unanswered', unanswered === 'deadline' ? 'no answer in time' : 'connection lost');
};

const retryAfterMs = (headers: Headers): number | undefined => {
  const value = headers.get('retry-after') ?? '';
  return /^\d{1,6}$/.test(value) ? Number(value) * 1_000 : undefined;
};

/** An error's message repeats the number that was called: only its codes are read. */
const refused = (status: number, subCode: number | undefined, headers: Headers): PhoneLineError => {
  const { meaning, reason } = meaningOfError(subCode);
  const codes = { code: status, subCode, waitMs: retryAfterMs(headers) };
  const fail = (failure: PhoneLineFailure, words: string): PhoneLineError =>
    new PhoneLineError(failure, reason ?? words, codes);
  if (subCode === CALL_IS_OVER) return fail('gone', 'the call is over');
  if (meaning === 'no_line' || status === 429) return fail('throttled', 'throttled');
  if (meaning === 'refused') return fail('refused', 'refused');
  if (meaning === 'set_up' || status === 401) {
    return fail('set-up', 'the phone service does not accept this app');
  }
  if (status === 403) return fail('forbidden', 'forbidden');
  if (status === 404 || status === 410) return fail('gone', 'not found');
  if (status >= 500 || status === 408) return fail('unanswered', `answered ${status}`);
  return fail('rejected', `rejected (${status})`);
};

const CALL_IS_OVER = 21_220;
