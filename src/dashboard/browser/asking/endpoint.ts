import type * as z from 'zod/mini';

import { problemSchema } from '../model/answers.ts';
import type { Question } from '../model/questions.ts';
import type { Trouble } from '../model/refresh.ts';
import type { ServiceClock } from './service-clock.ts';

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
  readonly clock: ServiceClock;
}

/** After so long, an answer that has not come is none; milliseconds. */
const PATIENCE = 15_000;

/** So many answers are remembered for going back and forward, where they are not large. */
const MOST_KNOWN = 24;

/** How a question is asked, or something is demanded. */
export interface Demand {
  /** Ends the question; then the answer is 'unreachable', for nobody to see. */
  readonly signal: AbortSignal;
  /** Sent as JSON, with `POST`: a demand. */
  readonly post?: object;
  /** Before other questions, where the browser has to choose. */
  readonly isUrgent?: boolean;
}

/** One endpoint that is asked over and over: it remembers what it answered, and asks only whether that has changed. */
export class Endpoint<Answer> {
  readonly #connection: Connection;
  readonly #schema: z.ZodMiniType<Answer>;
  readonly #mostKnown: number;
  readonly #known = new Map<Question, Known<Answer>>();

  constructor(connection: Connection, schema: z.ZodMiniType<Answer>, mostKnown = MOST_KNOWN) {
    this.#connection = connection;
    this.#schema = schema;
    this.#mostKnown = mostKnown;
  }

  known(question: Question): Pick<Known<Answer>, 'answer' | 'at'> | undefined {
    return this.#known.get(question);
  }

  forget(): void {
    this.#known.clear();
  }

  /** Asks, or demands. An answer that has not changed is the same object as before. */
  async ask(question: Question, { signal, post, isUrgent = false }: Demand): Promise<Reply<Answer>> {
    const { base, key: keyOf, clock } = this.#connection;
    const key = keyOf();
    const known = this.#known.get(question);
    const response = await send(`${base}${question}`, {
      method: post === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json',
        ...(key === undefined ? {} : { 'x-functions-key': key }),
        ...(known?.etag === undefined ? {} : { 'if-none-match': known.etag }),
        ...(post === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(post === undefined ? {} : { body: JSON.stringify(post) }),
      priority: isUrgent ? 'high' : 'auto',
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]),
    });
    if (response === undefined) return { kind: 'trouble', trouble: { kind: 'unreachable' } };
    if (response.status === 200 || response.status === 304) clock.hear(response.date);
    const at = clock.now();
    if (response.status === 304 && known !== undefined) {
      this.#remember(question, { ...known, at });
      return { kind: 'answer', answer: known.answer };
    }
    if (response.status === 401) return { kind: 'unauthorized', keySent: key !== undefined };
    if (response.status !== 200) return { kind: 'trouble', trouble: troubleOf(response) };
    const answer = this.#schema.safeParse(response.body);
    if (!answer.success) return { kind: 'trouble', trouble: { kind: 'unreadable' } };
    if (post === undefined) this.#remember(question, { etag: response.etag, answer: answer.data, at });
    return { kind: 'answer', answer: answer.data };
  }

  #remember(question: Question, entry: Known<Answer>): void {
    // A map keeps the order of insertion: the first one is the one that was used least lately.
    this.#known.delete(question);
    this.#known.set(question, entry);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= this.#mostKnown) break;
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
  readonly date: string | null;
  /** Undefined where it is not JSON. */
  readonly body: unknown;
}

/** Undefined where no whole answer came. */
const send = async (url: string, init: RequestInit): Promise<Received | undefined> => {
  try {
    // The page keeps the answers and their tags itself: the browser's own cache must not stand in between.
    const response = await fetch(url, { ...init, cache: 'no-store', redirect: 'error' });
    const { status, headers } = response;
    const body: unknown = await response.json().catch((error: unknown) => {
      if (!(error instanceof SyntaxError)) throw error;
    });
    return {
      status,
      etag: headers.get('etag') ?? undefined,
      retryAfter: headers.get('retry-after'),
      date: headers.get('date'),
      body,
    };
  } catch (error) {
    // What fetch rejects with: no network, a redirect (TypeError); ended or too late (DOMException).
    if (error instanceof TypeError || error instanceof DOMException) return undefined;
    throw error;
  }
};

const troubleOf = ({ status, retryAfter, body }: Received): Trouble => {
  const problem = problemSchema.safeParse(body);
  const { detail, code } = problem.success ? problem.data : { detail: '' };
  if (status < 500 && status !== 429) return { kind: 'refused', status, detail };
  const seconds = Number(retryAfter ?? Number.NaN);
  return { kind: 'unavailable', status, detail, code, retryAfterSeconds: seconds >= 0 ? seconds : undefined };
};
