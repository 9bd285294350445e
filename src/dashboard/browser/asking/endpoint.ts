import type * as z from 'zod/mini';

import { problemSchema } from '../model/answers.ts';
import type { Question } from '../model/questions.ts';
import type { Trouble } from '../model/refresh.ts';

/** What came of a question. */
export type Reply<Answer> =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'trouble'; readonly trouble: Trouble }
  /** `keySent`: a key was sent and not taken. */
  | { readonly kind: 'unauthorized'; readonly keySent: boolean };

/** Where the API is, and who asks. */
export interface Connection {
  /** Ends with a slash. */
  readonly base: string;
  readonly key: () => string | undefined;
}

/** After so long, an answer that has not come is none; milliseconds. */
const PATIENCE = 15_000;

/** So many answers are remembered for going back and forward. */
const MOST_KNOWN = 24;

/** One endpoint that is asked over and over: it remembers what it answered, and asks only whether that has changed. */
export class Endpoint<Answer> {
  readonly #connection: Connection;
  readonly #schema: z.ZodMiniType<Answer>;
  readonly #known = new Map<Question, Known<Answer>>();

  constructor(connection: Connection, schema: z.ZodMiniType<Answer>) {
    this.#connection = connection;
    this.#schema = schema;
  }

  known(question: Question): Pick<Known<Answer>, 'answer' | 'at'> | undefined {
    return this.#known.get(question);
  }

  forget(): void {
    this.#known.clear();
  }

  /**
   * Asks, or with `POST` demands. An answer that has not changed is the same object as before.
   *
   * @param signal ends the question; then the answer is 'unreachable', for nobody to see
   */
  async ask(question: Question, signal: AbortSignal, method: 'GET' | 'POST' = 'GET'): Promise<Reply<Answer>> {
    const key = this.#connection.key();
    const known = this.#known.get(question);
    const response = await send(
      `${this.#connection.base}${question}`,
      {
        method,
        headers: {
          accept: 'application/json',
          ...(key === undefined ? {} : { 'x-functions-key': key }),
          ...(known?.etag === undefined ? {} : { 'if-none-match': known.etag }),
        },
      },
      AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]),
    );
    if (response === undefined) return { kind: 'trouble', trouble: { kind: 'unreachable' } };
    const at = Date.now();
    if (response.status === 304 && known !== undefined) {
      this.#remember(question, { ...known, at });
      return { kind: 'answer', answer: known.answer };
    }
    if (response.status === 401) return { kind: 'unauthorized', keySent: key !== undefined };
    if (response.status !== 200) return { kind: 'trouble', trouble: troubleOf(response) };
    const answer = this.#schema.safeParse(response.body);
    if (!answer.success) return { kind: 'trouble', trouble: { kind: 'unreadable' } };
    if (method === 'GET') this.#remember(question, { etag: response.etag, answer: answer.data, at });
    return { kind: 'answer', answer: answer.data };
  }

  #remember(question: Question, entry: Known<Answer>): void {
    // A map keeps the order of insertion: the first one is the one that was used least lately.
    this.#known.delete(question);
    this.#known.set(question, entry);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST_KNOWN) break;
      this.#known.delete(oldest);
    }
  }
}

interface Known<Answer> {
  readonly etag: string | undefined;
  readonly answer: Answer;
  /** When it was given or found unchanged, milliseconds since 1970. */
  readonly at: number;
}

interface Received {
  readonly status: number;
  readonly etag: string | undefined;
  readonly retryAfter: string | null;
  /** Undefined where it is not JSON. */
  readonly body: unknown;
}

/** Undefined where no whole answer came. */
const send = async (
  url: string,
  init: Pick<RequestInit, 'method' | 'headers'>,
  signal: AbortSignal,
): Promise<Received | undefined> => {
  try {
    // The page keeps the answers and their tags itself: the browser's own cache must not stand in between.
    const response = await fetch(url, { ...init, signal, cache: 'no-store', redirect: 'error' });
    const { status, headers } = response;
    const body: unknown = await response.json().catch((error: unknown) => {
      if (!(error instanceof SyntaxError)) throw error;
    });
    return { status, etag: headers.get('etag') ?? undefined, retryAfter: headers.get('retry-after'), body };
  } catch (error) {
    // What fetch rejects with: no network, a redirect (TypeError); ended or too late (DOMException).
    if (error instanceof TypeError || error instanceof DOMException) return undefined;
    throw error;
  }
};

const troubleOf = ({ status, retryAfter, body }: Received): Trouble => {
  const problem = problemSchema.safeParse(body);
  const detail = problem.success ? problem.data.detail : '';
  if (status < 500 && status !== 429) return { kind: 'refused', status, detail };
  const seconds = Number(retryAfter ?? Number.NaN);
  return { kind: 'unavailable', status, detail, retryAfterSeconds: seconds >= 0 ? seconds : undefined };
};
