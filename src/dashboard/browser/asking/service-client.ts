import * as v from 'valibot';

import { retryAfterMs } from '../../../retry-after.ts';
import { problemSchema } from '../model/answers.ts';
import type { Question } from '../model/questions.ts';
import type { Trouble } from '../model/refresh.ts';
import { keptKey } from './kept.ts';
import type { ServiceClock } from './service-clock.ts';

/** `key`: the key that was sent; undefined: none was. */
export type Reply<Answer> = { readonly key: string | undefined } & (
  | { readonly kind: 'answer'; readonly has: { readonly answer: Answer; readonly etag: string | undefined } }
  /** The last answer is still right. */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'trouble'; readonly trouble: Trouble }
  /** The service did not accept the key, or asks for one. */
  | { readonly kind: 'unauthorized' }
);

export interface Connection {
  /** Ends with a slash. */
  readonly base: string;
  readonly clock: ServiceClock;
}

interface Asking {
  /** The timeout, in milliseconds. */
  readonly patience: number;
  readonly signal?: AbortSignal;
  readonly etag?: string | undefined;
  readonly post?: object | undefined;
  readonly isUrgent?: boolean;
}

/** Asks the service. A failure of the service or the network is a reply, not a rejection. */
export const ask = async <Answer>(
  { base, clock }: Connection,
  schema: v.GenericSchema<unknown, Answer>,
  question: Question,
  { patience, signal, etag, post, isUrgent = false }: Asking,
): Promise<Reply<Answer>> => {
  const key = keptKey.get();
  const headers = headersOf('application/json', key);
  if (etag !== undefined) headers.set('if-none-match', etag);
  if (post !== undefined) headers.set('content-type', 'application/json');
  const received = await send(`${base}${question}`, {
    method: post === undefined ? 'GET' : 'POST',
    headers,
    ...(post === undefined ? {} : { body: JSON.stringify(post) }),
    priority: isUrgent ? 'high' : 'auto',
    signal: AbortSignal.any([AbortSignal.timeout(patience), ...(signal === undefined ? [] : [signal])]),
  });
  if (received === undefined) return { key, kind: 'trouble', trouble: { kind: 'unreachable' } };
  const { response, text } = received;
  const { status } = response;
  clock.hear(response.headers.get('date'));
  if (status === 304) return { key, kind: 'unchanged' };
  if (status === 401) return { key, kind: 'unauthorized' };
  if (status !== 200) return { key, kind: 'trouble', trouble: troubleOf(response, text, clock.now()) };
  const parsed = v.safeParse(schema, jsonOf(text));
  return parsed.success
    ? { key, kind: 'answer', has: { answer: parsed.output, etag: response.headers.get('etag') ?? undefined } }
    : { key, kind: 'trouble', trouble: { kind: 'unreadable' } };
};

/** A CSV file; undefined if the service does not answer it now. */
export const askForFile = async (
  { base }: Connection,
  question: Question,
  patience: number,
): Promise<string | undefined> => {
  const headers = headersOf('text/csv', keptKey.get());
  const received = await send(`${base}${question}`, { headers, signal: AbortSignal.timeout(patience) });
  return received?.response.status === 200 ? received.text : undefined;
};

const headersOf = (accept: string, key: string | undefined): Headers =>
  new Headers({ accept, ...(key === undefined ? {} : { 'x-functions-key': key }) });

/** Undefined without a whole answer. */
const send = async (url: string, init: RequestInit): Promise<{ response: Response; text: string } | undefined> => {
  try {
    // The page keeps answers and tags itself: the browser must not cache them.
    const response = await fetch(url, { ...init, cache: 'no-store', redirect: 'error' });
    return { response, text: await response.text() };
  } catch (error) {
    // No network or a redirect: TypeError. Aborted or a timeout: DOMException.
    if (error instanceof TypeError || error instanceof DOMException) return undefined;
    throw error;
  }
};

/** @returns undefined if the text is not JSON */
export const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};

const troubleOf = ({ status, headers }: Response, text: string, now: number): Trouble => {
  const problem = v.safeParse(problemSchema, jsonOf(text));
  const { detail, code } = problem.success ? problem.output : { detail: '' };
  if (status < 500 && status !== 429) return { kind: 'refused', status, detail, code };
  return { kind: 'unavailable', status, detail, code, retryAfterMs: retryAfterMs(headers, now) };
};
