import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { LRUCache } from 'lru-cache';
import * as z from 'zod';

import type { Log } from '../../log.ts';
import type { AlertType } from '../alert-types.ts';
import { type CallId, parseCallId } from '../call-id.ts';
import { answerRowAddress } from './call-rows.ts';
import { type CallsTable, CallsTableUnavailable, type RowValues } from './calls-table.ts';
import type { PhoneNumber } from '../phone-number.ts';
import type { CallOutcome } from '../place-calls.ts';

/** What a notification asks for; two that ask for the same have the same. */
export interface Order {
  readonly alertType: AlertType;
  readonly recipients: readonly PhoneNumber[];
}

/** The key was used before, for another order. */
export const KEY_OF_ANOTHER_ORDER = 'key of another order';

/** How long the first answer to a key holds. */
export const ANSWER_HOLDS_MS = 24 * 3_600_000;

// Longer than placing calls may take (see place-calls.ts): an order still open after that has lost its process.
const LOST_AFTER_MS = 75_000;
const LOOK_AGAIN_MS = 250;
const REMEMBERED_ANSWERS = 1_000;

/**
 * The answers to notifications that carry an `Idempotency-Key`: the first order with a key is carried out, the same order
 * again gets the first one's answer, whichever instance it comes to. Where the table cannot be used only this process remembers: a
 * second call beats none.
 */
export class AnswerBook {
  readonly #table: CallsTable;
  readonly #remembered = new LRUCache<string, { fingerprint: string; answer: Promise<Answer> }>({
    max: REMEMBERED_ANSWERS,
    ttl: ANSWER_HOLDS_MS,
  });

  constructor(table: CallsTable) {
    this.#table = table;
  }

  /**
   * Carries an order out once.
   *
   * @param key the caller's `Idempotency-Key`
   * @param carryOut places the calls; asked at most once
   */
  async once(key: string, order: Order, carryOut: () => Promise<readonly CallOutcome[]>, log: Log): Promise<Answer> {
    const fingerprint = fingerprintOf(order);
    const remembered = this.#remembered.get(key);
    if (remembered !== undefined) {
      return remembered.fingerprint === fingerprint ? remembered.answer : KEY_OF_ANOTHER_ORDER;
    }
    const answer = this.#answer(key, fingerprint, carryOut, log);
    this.#remembered.set(key, { fingerprint, answer });
    try {
      const known = await answer;
      if (known === KEY_OF_ANOTHER_ORDER) this.#remembered.delete(key);
      return known;
    } catch (error) {
      this.#remembered.delete(key);
      throw error;
    }
  }

  async #answer(
    key: string,
    fingerprint: string,
    carryOut: () => Promise<readonly CallOutcome[]>,
    log: Log,
  ): Promise<Answer> {
    const address = answerRowAddress(key);
    const claim = await this.#claim(key, fingerprint, log);
    if ('answer' in claim) {
      this.#holdFor(key, claim.holdsMs);
      return claim.answer;
    }
    const outcomes = await carryOut();
    if (claim.etag === undefined) return outcomes;
    const values = { ...claim.values, state: 'done', outcomes: JSON.stringify(outcomes) };
    try {
      await this.#table.write(address, values, claim.etag);
    } catch (error) {
      warnUnlessOther(error, 'answer not recorded', log);
    }
    return outcomes;
  }

  /** What another instance answered holds since then, not since this one heard of it. */
  #holdFor(key: string, holdsMs: number): void {
    const remembered = this.#remembered.get(key);
    if (remembered !== undefined) this.#remembered.set(key, remembered, { ttl: Math.max(1, Math.floor(holdsMs)) });
  }

  /** The answer that there is, or the claim to carry the order out: with a row's tag, or without one where there is no table. */
  async #claim(key: string, fingerprint: string, log: Log): Promise<Known | Claim> {
    const address = answerRowAddress(key);
    const values = { fingerprint, state: 'in_progress', orderedAt: new Date() };
    try {
      for (;;) {
        const row = await this.#table.read(address);
        const known = row === undefined ? undefined : answerRowSchema.parse(row.values);
        const age = known === undefined ? Infinity : Date.now() - known.orderedAt.getTime();
        if (known !== undefined && age < ANSWER_HOLDS_MS) {
          const holdsMs = ANSWER_HOLDS_MS - age;
          if (known.fingerprint !== fingerprint) return { answer: KEY_OF_ANOTHER_ORDER, holdsMs };
          if (known.state === 'done') return { answer: known.outcomes, holdsMs };
          if (age < LOST_AFTER_MS) {
            await sleep(LOOK_AGAIN_MS);
            continue;
          }
        }
        const etag = await this.#table.write(address, values, row?.etag);
        if (etag !== undefined) return { etag, values };
      }
    } catch (error) {
      warnUnlessOther(error, 'answers unreachable', log);
      return { etag: undefined, values };
    }
  }
}

type Answer = readonly CallOutcome[] | typeof KEY_OF_ANOTHER_ORDER;

/** An answer that was given before, and for how much longer it holds, in milliseconds. */
interface Known {
  readonly answer: Answer;
  readonly holdsMs: number;
}

interface Claim {
  readonly etag: string | undefined;
  readonly values: RowValues;
}

const warnUnlessOther = (error: unknown, event: string, log: Log): void => {
  if (error instanceof CallsTableUnavailable) log.warn(event, { kind: error.kind });
  else if (error instanceof z.ZodError) log.warn(event, { kind: 'unknown row' });
  else throw error;
};

/** Of an order and nothing else, so that numbers need not be stored to know it again. */
const fingerprintOf = ({ alertType, recipients }: Order): string =>
  createHash('sha256')
    .update(JSON.stringify([alertType.name, recipients]))
    .digest('hex');

const callId = z.string().transform((text, context): CallId => {
  const id = parseCallId(text);
  if (id !== undefined) return id;
  context.addIssue('not a call id');
  return z.NEVER;
});

const outcomesSchema = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(
    z.array(
      z.discriminatedUnion('status', [
        z.object({ status: z.literal('placed'), callId }),
        z.object({ status: z.literal('failed'), reason: z.string() }),
      ]),
    ),
  );

const answerRowSchema = z.discriminatedUnion('state', [
  z.object({ state: z.literal('in_progress'), fingerprint: z.string(), orderedAt: z.date() }),
  z.object({ state: z.literal('done'), fingerprint: z.string(), orderedAt: z.date(), outcomes: outcomesSchema }),
]);
