import type * as z from 'zod/mini';

import { problemSchema } from '../model/answers.ts';
import type { Question } from '../model/questions.ts';
import type { Trouble } from '../model/refresh.ts';
import type { ServiceClock } from './service-clock.ts';

/** What came of a question. */
export type Reply<Answer> =
  | { readonly kind: 'answer'; readonly has: { readonly answer: Answer; readonly etag: string | undefined } }
  /** What the page has is still what the service answers. */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'trouble'; readonly trouble: Trouble }
  /** `keySent`: a key was sent and not accepted. */
  | { readonly kind: 'unauthorized'; readonly keySent: boolean };

/** Where the API is, and who asks. */
export interface Connection {
  /** Ends with a slash. */
  readonly base: string;
  readonly key: () => string | undefined;
  readonly clock: ServiceClock;
}

/** How a question is asked. */
export interface Asking {
  /** Milliseconds after which it is given up. */
  readonly patience: number;
  /** Ends it before. */
  readonly signal?: AbortSignal;
  /** The tag of the answer that the page has. */
  readonly etag?: string | undefined;
  /** Sent as JSON, with `POST`: an action. */
  readonly post?: object;
  /** Before other questions, if the browser has to choose. */
  readonly isUrgent?: boolean;
}

/** Asks the service. It never throws because of what the service does. */
export const ask = async <Answer>(
  { base, key: keyOf, clock }: Connection,
  schema: z.ZodMiniType<Answer>,
  question: Question,
  { patience, signal, etag, post, isUrgent = false }: Asking,
): Promise<Reply<Answer>> => {
  const key = keyOf();
  const headers = headersOf('application/json', key);
  if (etag !== undefined) headers.set('if-none-match', etag);
  if (post !== undefined) headers.set('content-type', 'application/json');
  const response = await send(`${base}${question}`, {
    method: post === undefined ? 'GET' : 'POST',
    headers,
    ...(post === undefined ? {} : { body: JSON.stringify(post) }),
    priority: isUrgent ? 'high' : 'auto',
    signal: AbortSignal.any([AbortSignal.timeout(patience), ...(signal === undefined ? [] : [signal])]),
  });
  if (response === undefined) return { kind: 'trouble', trouble: { kind: 'unreachable' } };
  const { status, text } = response;
  clock.hear(response.headers.get('date'));
  if (status === 304) return { kind: 'unchanged' };
  if (status === 401) return { kind: 'unauthorized', keySent: key !== undefined };
  if (status !== 200) return { kind: 'trouble', trouble: troubleOf(response) };
  const parsed = schema.safeParse(jsonOf(text));
  return parsed.success
    ? { kind: 'answer', has: { answer: parsed.data, etag: response.headers.get('etag') ?? undefined } }
    : { kind: 'trouble', trouble: { kind: 'unreadable' } };
};

/** A CSV file of the service; undefined if it gives none now. */
export const askForFile = async (
  { base, key }: Connection,
  question: Question,
  patience: number,
): Promise<string | undefined> => {
  const headers = headersOf('text/csv', key());
  const response = await send(`${base}${question}`, { headers, signal: AbortSignal.timeout(patience) });
  return response?.status === 200 ? response.text : undefined;
};

const headersOf = (accept: string, key: string | undefined): Headers =>
  new Headers({ accept, ...(key === undefined ? {} : { 'x-functions-key': key }) });

interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Undefined if no whole answer came. */
const send = async (url: string, init: RequestInit): Promise<Received | undefined> => {
  try {
    // The page has its answers and their tags itself: the browser's own cache must not stand in between, nor keep them.
    const response = await fetch(url, { ...init, cache: 'no-store', redirect: 'error' });
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch (error) {
    // What fetch rejects with: no network, a redirect (TypeError); ended or too late (DOMException).
    if (error instanceof TypeError || error instanceof DOMException) return undefined;
    throw error;
  }
};

/** Undefined if it is not JSON. */
const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};

const troubleOf = ({ status, headers, text }: Received): Trouble => {
  const problem = problemSchema.safeParse(jsonOf(text));
  const { detail, code } = problem.success ? problem.data : { detail: '' };
  if (status < 500 && status !== 429) return { kind: 'refused', status, detail };
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return { kind: 'unavailable', status, detail, code, retryAfterSeconds: seconds >= 0 ? seconds : undefined };
};
