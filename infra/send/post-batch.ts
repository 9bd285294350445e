import { z } from 'zod';

import type { Target } from './target.ts';

/** What became of one request. */
export type Reply =
  | {
      readonly kind: 'taken';
      readonly recorded: number;
      readonly unchanged: number;
      /** The events that were refused: their index in the request → why. */
      readonly refused: ReadonlyMap<number, string>;
    }
  | { readonly kind: 'too large' }
  /** It may work later; `retryAfterMs` if the service says when. */
  | { readonly kind: 'unavailable'; readonly reason: string; readonly retryAfterMs: number | undefined }
  /** It will not work later either. */
  | { readonly kind: 'impossible'; readonly reason: string };

/** Sends one batch of events, each as JSON. */
export type Post = (events: readonly string[]) => Promise<Reply>;

/** Azure's front end ends a request after 230 seconds; nothing that is still alive takes longer. */
const REQUEST_MILLISECONDS = 240_000;

const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/** Connection errors that no waiting mends: the other side is not what it should be. */
const LASTING_ERRORS = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_SSL|ERR_TLS|ERR_INVALID/;

const counts = { recorded: z.int().min(0), unchanged: z.int().min(0) };
const error = z.object({ index: z.int().min(0), detail: z.string() });
const answerSchema = z.object({ ...counts, errors: z.array(error).default([]) });
const detailSchema = z.object({ detail: z.string() });

/** Sends CloudEvents batches to a service and reads its answers. Never throws for what the network or the service does. */
export const postTo =
  ({ url, key }: Target): Post =>
  async (events) => {
    try {
      const response = await fetch(`${url}/api/events`, {
        method: 'POST',
        headers: {
          'content-type': 'application/cloudevents-batch+json',
          ...(key === undefined ? {} : { 'x-functions-key': key }),
        },
        body: `[${events.join(',')}]`,
        // The key must not follow to another host.
        redirect: 'manual',
        signal: AbortSignal.timeout(REQUEST_MILLISECONDS),
      });
      return replyOf(response.status, response.headers.get('retry-after'), await response.text(), events.length);
    } catch (failure) {
      return connectionFailure(failure);
    }
  };

/**
 * What an answer of the service means.
 *
 * @param sent how many events the request had
 */
export const replyOf = (status: number, retryAfter: string | null, body: string, sent: number): Reply => {
  if (status === 413) return { kind: 'too large' };
  if (status === 401 || status === 403) {
    return {
      kind: 'impossible',
      reason: `The service refuses the function key (${status}). Give the right one with --key-file or FUNCTION_KEY.`,
    };
  }
  if (PASSING_STATUSES.has(status)) {
    const detail = detailSchema.safeParse(parsed(body)).data?.detail;
    const reason = `the service answers ${status}${detail === undefined ? '' : ` (${detail})`}`;
    return { kind: 'unavailable', reason, retryAfterMs: waitOf(retryAfter) };
  }
  const taken = status === 200 || status === 400 ? takenReply(parsed(body), sent) : undefined;
  return taken ?? { kind: 'impossible', reason: strangeAnswer(status, body) };
};

/** Undefined if the answer does not account for every event that was sent: then it proves nothing. */
const takenReply = (answer: unknown, sent: number): Reply | undefined => {
  const { data } = answerSchema.safeParse(answer);
  if (data === undefined) return undefined;
  const { recorded, unchanged, errors } = data;
  const refused = new Map<number, string>();
  for (const { index, detail } of errors) {
    const before = refused.get(index);
    refused.set(index, before === undefined ? detail : `${before}; ${detail}`);
  }
  const isComplete = recorded + unchanged + refused.size === sent && [...refused.keys()].every((index) => index < sent);
  return isComplete ? { kind: 'taken', recorded, unchanged, refused } : undefined;
};

const QUOTED_CHARACTERS = 200;

const strangeAnswer = (status: number, body: string): string =>
  `POST /api/events was answered with ${status}, which this service does not do. Is the URL right? The answer begins: ` +
  JSON.stringify(body.slice(0, QUOTED_CHARACTERS));

const parsed = (body: string): unknown => {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
};

/** `Retry-After` in milliseconds: seconds or an HTTP date (RFC 9110); undefined if it is neither. */
const waitOf = (value: string | null): number | undefined => {
  if (value === null) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
};

const connectionFailure = (failure: unknown): Reply => {
  const cause = failure instanceof Error ? failure.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  const name = failure instanceof Error ? failure.name : 'Error';
  const what = name === 'TimeoutError' ? `no answer within ${REQUEST_MILLISECONDS / 1_000} s` : (code ?? name);
  return LASTING_ERRORS.test(what)
    ? { kind: 'impossible', reason: `The connection cannot be made (${what}). Is the URL right?` }
    : { kind: 'unavailable', reason: `no connection to the service (${what})`, retryAfterMs: undefined };
};
