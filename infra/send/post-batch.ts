import { z } from 'zod';

/** Where to send, and with which key. */
export interface Target {
  /** Of the service, without a slash at its end and without `/api`. */
  readonly url: string;
  readonly key: string | undefined;
}

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
  /** It may work later; `retryAfterMs` where the service says when. */
  | { readonly kind: 'unavailable'; readonly reason: string; readonly retryAfterMs: number | undefined }
  /** It will not work later either. */
  | { readonly kind: 'impossible'; readonly reason: string };

/** Azure's front end ends a request after 230 seconds; nothing that is still alive takes longer. */
const REQUEST_MILLISECONDS = 240_000;

const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/** Connection errors that no waiting mends: the other side is not what it should be. */
const LASTING_ERRORS = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_SSL|ERR_TLS|ERR_INVALID/;

const counts = { recorded: z.int().min(0), unchanged: z.int().min(0) };
const acceptedSchema = z.object(counts).transform((accepted) => ({ ...accepted, errors: [] }));
const refusedSchema = z.object({
  ...counts,
  errors: z.array(z.object({ index: z.int().min(0), detail: z.string() })).min(1),
});
const detailSchema = z.object({ detail: z.string() });

/** Sends one CloudEvents batch and reads the answer. Never throws for what the network or the service does. */
export const postBatch = async ({ url, key }: Target, events: readonly Buffer[]): Promise<Reply> => {
  const body = Buffer.concat([
    Buffer.from('['),
    ...events.flatMap((json, index) => (index === 0 ? [json] : [Buffer.from(','), json])),
    Buffer.from(']'),
  ]);
  try {
    const response = await fetch(`${url}/api/events`, {
      method: 'POST',
      headers: {
        'content-type': 'application/cloudevents-batch+json',
        ...(key === undefined ? {} : { 'x-functions-key': key }),
      },
      body,
      // The key must not follow to another host.
      redirect: 'manual',
      signal: AbortSignal.timeout(REQUEST_MILLISECONDS),
    });
    return replyOf(response, await response.text(), events.length);
  } catch (error) {
    return connectionFailure(error);
  }
};

const replyOf = ({ status, headers }: Response, body: string, sent: number): Reply => {
  if (status === 200 || status === 400) {
    return takenReply(status, parsed(body), sent) ?? { kind: 'impossible', reason: strangeAnswer(status, body) };
  }
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
    return { kind: 'unavailable', reason, retryAfterMs: retryAfter(headers.get('retry-after')) };
  }
  return { kind: 'impossible', reason: strangeAnswer(status, body) };
};

/** Undefined where the answer does not account for every event that was sent: then it proves nothing. */
const takenReply = (status: number, answer: unknown, sent: number): Reply | undefined => {
  const { data } = (status === 200 ? acceptedSchema : refusedSchema).safeParse(answer);
  if (data === undefined) return undefined;
  const { recorded, unchanged, errors } = data;
  const refused = new Map(errors.map(({ index, detail }) => [index, detail]));
  const isComplete = recorded + unchanged + refused.size === sent && errors.every(({ index }) => index < sent);
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

/** `Retry-After` in milliseconds: seconds or an HTTP date (RFC 9110); undefined where it is neither. */
const retryAfter = (value: string | null): number | undefined => {
  if (value === null) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
};

const connectionFailure = (error: unknown): Reply => {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  const name = error instanceof Error ? error.name : 'Error';
  const what = name === 'TimeoutError' ? `no answer within ${REQUEST_MILLISECONDS / 1_000} s` : (code ?? name);
  return LASTING_ERRORS.test(what)
    ? { kind: 'impossible', reason: `The connection cannot be made (${what}). Is the URL right?` }
    : { kind: 'unavailable', reason: `no connection to the service (${what})`, retryAfterMs: undefined };
};
