import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { LRUCache } from 'lru-cache';

import type { Log } from '../../log.ts';
import type { AlertType } from '../alert-types.ts';
import type { PhoneNumber } from '../phone-number.ts';
import type { CallOutcome } from '../place-calls.ts';
import { type AnswerRow, answerRowAddress, answerRowValues, parseAnswerRow } from './answer-row.ts';
import { type CallsTable, CallsTableUnavailable } from './calls-table.ts';

/** What a notification request asks for. Two requests that ask for the same are the same request. */
export interface NotificationRequest {
  readonly alertType: AlertType;
  readonly recipients: readonly PhoneNumber[];
}

/** The key was used before, for another request. */
export const KEY_OF_ANOTHER_REQUEST = 'key of another request';

const ANSWER_HOLDS_MS = 24 * 3_600_000;
// Longer than placing calls takes (see place-calls.ts): after that, the process that placed them has died.
const LOST_AFTER_MS = 75_000;
const POLL_MS = 250;
const REMEMBERED_ANSWERS = 1_000;

/** An answer to a key, and how much longer it holds, in milliseconds. */
interface KnownAnswer {
  readonly answer: readonly CallOutcome[] | typeof KEY_OF_ANOTHER_REQUEST;
  readonly holdsMs: number;
}

/** This instance must carry the request out. Without an ETag, the table cannot be used. */
interface Claim {
  readonly row: AnswerRow;
  readonly etag?: string;
}

/**
 * Answers to notification requests with an `Idempotency-Key`. The first request with a key is carried out; the same request again
 * gets the first answer, whichever instance it comes to. While the table cannot be used, only this process remembers: calling
 * somebody twice beats calling nobody.
 */
export class IdempotencyStore {
  readonly #table: CallsTable;
  readonly #remembered = new LRUCache<string, { fingerprint: string; answering: Promise<KnownAnswer> }>({
    max: REMEMBERED_ANSWERS,
    ttl: ANSWER_HOLDS_MS,
  });

  constructor(table: CallsTable) {
    this.#table = table;
  }

  /**
   * Carries a request out once.
   *
   * @param key the caller's `Idempotency-Key`
   * @param carryOut places the calls; called once at most
   */
  async once(
    key: string,
    request: NotificationRequest,
    carryOut: () => Promise<readonly CallOutcome[]>,
    log: Log,
  ): Promise<KnownAnswer['answer']> {
    const fingerprint = fingerprintOf(request);
    const remembered = this.#remembered.get(key);
    if (remembered !== undefined) {
      return remembered.fingerprint === fingerprint ? (await remembered.answering).answer : KEY_OF_ANOTHER_REQUEST;
    }
    const answering = this.#answer(key, fingerprint, carryOut, log);
    this.#remembered.set(key, { fingerprint, answering });
    try {
      const { answer, holdsMs } = await answering;
      if (answer === KEY_OF_ANOTHER_REQUEST) this.#remembered.delete(key);
      else this.#remembered.set(key, { fingerprint, answering }, { ttl: Math.max(1, Math.floor(holdsMs)) });
      return answer;
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
  ): Promise<KnownAnswer> {
    const claim = await this.#claim(key, fingerprint, log);
    if ('answer' in claim) return claim;
    const { row, etag } = claim;
    const answer = await carryOut();
    if (etag !== undefined) {
      try {
        await this.#table.write(answerRowAddress(key), answerRowValues({ ...row, outcomes: answer }), etag);
      } catch (error) {
        warnOfTable(error, 'answer not recorded', log);
      }
    }
    return known(answer, row);
  }

  async #claim(key: string, fingerprint: string, log: Log): Promise<KnownAnswer | Claim> {
    const address = answerRowAddress(key);
    const row = { fingerprint, orderedAt: new Date() };
    try {
      for (;;) {
        const stored = await this.#table.read(address);
        const earlier = stored === undefined ? undefined : parseAnswerRow(stored);
        if (stored !== undefined && earlier === undefined) throw new CallsTableUnavailable('unknown row');
        if (earlier !== undefined && ageMs(earlier) < ANSWER_HOLDS_MS) {
          if (earlier.fingerprint !== fingerprint) return known(KEY_OF_ANOTHER_REQUEST, earlier);
          if (earlier.outcomes !== undefined) return known(earlier.outcomes, earlier);
          if (ageMs(earlier) < LOST_AFTER_MS) {
            await sleep(POLL_MS);
            continue;
          }
        }
        const etag = await this.#table.write(address, answerRowValues(row), stored?.etag);
        if (etag !== undefined) return { row, etag };
      }
    } catch (error) {
      warnOfTable(error, 'answers unreachable', log);
      return { row };
    }
  }
}

const ageMs = ({ orderedAt }: AnswerRow): number => Date.now() - orderedAt.getTime();

const known = (answer: KnownAnswer['answer'], row: AnswerRow): KnownAnswer => ({
  answer,
  holdsMs: ANSWER_HOLDS_MS - ageMs(row),
});

const warnOfTable = (error: unknown, event: string, log: Log): void => {
  if (!(error instanceof CallsTableUnavailable)) throw error;
  log.warn(event, { kind: error.kind });
};

/** A hash of the request, so that its phone numbers need not be stored. */
const fingerprintOf = ({ alertType, recipients }: NotificationRequest): string =>
  hash('sha256', JSON.stringify([alertType.name, recipients]));
