import { setTimeout as sleep } from 'node:timers/promises';

import { LRUCache } from 'lru-cache';

import type { Log } from '../../log.ts';
import type { CallId } from '../call-id.ts';
import { type CallRecord, hasClaimsOf, type Step, unshared } from '../call-record.ts';
import { mostAdvanced } from '../most-advanced.ts';
import { callRowAddress, callRowValues, parseCallRow } from './call-rows.ts';
import { type Rows, RowsUnavailable } from './rows.ts';

/** The result of a step. */
export interface StepResult<Action> {
  readonly action: Action;
  /** The record after the step. */
  readonly record: CallRecord | undefined;
  /** Whether all instances see the step. If not, the table could not be used, and only this process knows of it. */
  readonly shared: boolean;
}

const ATTEMPTS = 10;
const LONGEST_PAUSE_MS = 20;
// One more try where the first one failed within this time: a missed deadline takes 1.5 s, and somewhat more on a busy machine. So a callee
// waits some 5 s at most. A step that only one process knows of may have another one speak again.
const TRIED_AGAIN_WITHIN_MS = 2_000;
const PAUSE_BEFORE_SECOND_TRY_MS = 100;
const REMEMBERED_CALLS = 10_000;

/**
 * The records of all calls. A step is decided from a call's record and written only if the record has not changed since, so exactly
 * one of the instances that get an event takes the step. While the table cannot be used, the records that this process remembers
 * take its place: an alert that is heard twice beats silence. They are written when the table is back.
 */
export class CallLedger {
  readonly #table: Rows;
  readonly #remembered = new LRUCache<CallId, CallRecord>({ max: REMEMBERED_CALLS });
  /** Whose remembered records may be ahead of the table. */
  readonly #unwritten = new Set<CallId>();
  readonly #onUnwritten: () => void;

  /** @param onUnwritten is told when there is something for `writeAgain` to do */
  constructor(table: Rows, onUnwritten: () => void = () => undefined) {
    this.#table = table;
    this.#onUnwritten = onUnwritten;
  }

  /** A call's record as it is now. */
  async read(callId: CallId, log: Log): Promise<StepResult<'read'>> {
    return this.step(callId, () => ({ action: 'read' }), log);
  }

  /**
   * Takes a step in a call. Does not throw where the table fails.
   *
   * @param decide a pure function; may be called several times, each time with a newer record
   */
  async step<Action extends string>(
    callId: CallId,
    decide: (known: CallRecord | undefined) => Step<Action>,
    log: Log,
  ): Promise<StepResult<Action>> {
    // What is remembered may be old. It spares a look at the table only where no later state could need the step.
    const remembered = this.#remembered.get(callId);
    if (remembered !== undefined) {
      const { action, never } = decide(remembered);
      if (never === true) return { action, record: remembered, shared: true };
    }
    try {
      return await this.#stepInTableOrAgain(callId, decide);
    } catch (error) {
      if (!(error instanceof RowsUnavailable)) throw error;
      log.warn('call records unreachable', { call_id: callId, kind: error.kind });
      return this.#stepInMemory(callId, decide);
    }
  }

  /**
   * Writes what only this process knows, so that every instance does. What cannot be written yet is kept. A row that the table refuses, or
   * that cannot be read, does not hold up the others.
   *
   * @returns the records that were written
   */
  async writeAgain(): Promise<ReadonlyMap<CallId, CallRecord>> {
    const written = new Map<CallId, CallRecord>();
    let isLeft = false;
    for (const callId of this.#unwritten) {
      try {
        const { record } = await this.#stepInTable(callId, (known) =>
          known === undefined ? { action: 'nothing' } : { action: 'written', next: known },
        );
        if (record !== undefined) written.set(callId, record);
      } catch (error) {
        if (!(error instanceof RowsUnavailable)) throw error;
        isLeft = true;
      }
    }
    if (isLeft) this.#onUnwritten();
    return written;
  }

  async #stepInTableOrAgain<Action>(
    callId: CallId,
    decide: (known: CallRecord | undefined) => Step<Action>,
  ): Promise<StepResult<Action>> {
    const begun = performance.now();
    const unclear: StepResult<Action>[] = [];
    try {
      return await this.#stepInTable(callId, decide, unclear);
    } catch (error) {
      if (!(error instanceof RowsUnavailable) || performance.now() - begun > TRIED_AGAIN_WITHIN_MS) throw error;
      await sleep(PAUSE_BEFORE_SECOND_TRY_MS);
      return this.#stepInTable(callId, decide, unclear);
    }
  }

  /** @param unclear results that were to be written, and no answer says whether they were */
  async #stepInTable<Action>(
    callId: CallId,
    decide: (known: CallRecord | undefined) => Step<Action>,
    unclear: StepResult<Action>[] = [],
  ): Promise<StepResult<Action>> {
    const address = callRowAddress(callId);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const row = await this.#table.read(address, 'in a call');
      const stored = row === undefined ? undefined : parseCallRow(row);
      if (row !== undefined && stored === undefined) throw new RowsUnavailable('unknown row');

      const known = mostAdvanced(stored, this.#remembered.get(callId));
      const { action, next } = decide(known);
      if (next === undefined) {
        if (known !== undefined) this.#remember(callId, known);
        // What is in the way may be the claim that was written without an answer.
        const own = unclear.find(({ record }) => stored && record && hasClaimsOf(stored, record));
        return { action: own?.action ?? action, record: known, shared: true };
      }
      const step = { action, record: next, shared: true };
      try {
        if ((await this.#table.write(address, callRowValues(next), row?.etag)) !== undefined) {
          this.#unwritten.delete(callId);
          this.#remember(callId, next);
          return step;
        }
      } catch (error) {
        unclear.push(step);
        throw error;
      }
      await sleep(Math.random() * LONGEST_PAUSE_MS);
    }
    throw new RowsUnavailable('contended');
  }

  // Answers to writes may come out of order.
  #remember(callId: CallId, record: CallRecord): void {
    this.#remembered.set(callId, mostAdvanced(record, this.#remembered.get(callId)) ?? record);
  }

  // No await between reading and writing: of two events in this process, only one can take the step.
  #stepInMemory<Action>(callId: CallId, decide: (known: CallRecord | undefined) => Step<Action>): StepResult<Action> {
    const known = this.#remembered.get(callId);
    const { action, next } = decide(known);
    if (next === undefined) return { action, record: known, shared: false };
    const record = unshared(next, Date.now());
    this.#remembered.set(callId, record);
    this.#unwritten.add(callId);
    this.#onUnwritten();
    return { action, record, shared: false };
  }
}
