import { setTimeout as sleep } from 'node:timers/promises';

import { LRUCache } from 'lru-cache';

import type { Log } from '../../log.ts';
import type { CallId } from '../call-id.ts';
import { type CallRecord, furtherOn, type Step } from '../call-record.ts';
import { callRowAddress, callRowValues, parseCallRow } from './call-rows.ts';
import { type CallsTable, CallsTableUnavailable } from './calls-table.ts';

/** What a step came to. */
export interface Taken<Action> {
  readonly action: Action;
  /** The record after the step. */
  readonly record: CallRecord | undefined;
  /** Whether all instances know of it. If not, the table could not be used and only this process does. */
  readonly shared: boolean;
}

const ATTEMPTS = 10;
const LONGEST_PAUSE_MS = 20;
const REMEMBERED_CALLS = 10_000;

/**
 * The records of all calls. A step of a call is worked out from its record and written only if the record is still the same, so that
 * of all instances that hear of an event exactly one takes the step. Where the table cannot be used, the calls that this process
 * remembers take its place: an alert that is heard twice beats silence.
 */
export class CallLedger {
  readonly #table: CallsTable;
  readonly #remembered = new LRUCache<CallId, CallRecord>({ max: REMEMBERED_CALLS });

  constructor(table: CallsTable) {
    this.#table = table;
  }

  /**
   * Takes a step in a call. Never throws for the table's sake.
   *
   * @param decide a pure function; it may be asked several times, each time with a newer record
   */
  async step<Action extends string>(
    callId: CallId,
    decide: (known: CallRecord | undefined) => Step<Action>,
    log: Log,
  ): Promise<Taken<Action>> {
    // A call only moves forward: what changes nothing in the call as it was remembered changes nothing in it as it is.
    const remembered = this.#remembered.get(callId);
    if (remembered !== undefined) {
      const { action, next } = decide(remembered);
      if (action === 'nothing' && next === undefined) return { action, record: remembered, shared: true };
    }
    try {
      return await this.#stepInTable(callId, decide);
    } catch (error) {
      if (!(error instanceof CallsTableUnavailable)) throw error;
      log.warn('call records unreachable', { call_id: callId, kind: error.kind });
      return this.#stepInMemory(callId, decide);
    }
  }

  async #stepInTable<Action>(
    callId: CallId,
    decide: (known: CallRecord | undefined) => Step<Action>,
  ): Promise<Taken<Action>> {
    const address = callRowAddress(callId);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const row = await this.#table.read(address);
      const stored = row === undefined ? undefined : parseCallRow(row);
      if (row !== undefined && stored === undefined) throw new CallsTableUnavailable('unknown row');

      const known = furtherOn(stored, this.#remembered.get(callId));
      const { action, next } = decide(known);
      if (next === undefined) {
        if (known !== undefined) this.#remember(callId, known);
        return { action, record: known, shared: true };
      }
      if ((await this.#table.write(address, callRowValues(next), row?.etag)) !== undefined) {
        this.#remember(callId, next);
        return { action, record: next, shared: true };
      }
      await sleep(Math.random() * LONGEST_PAUSE_MS);
    }
    throw new CallsTableUnavailable('contended');
  }

  // The answer to an earlier write may come after that to a later one.
  #remember(callId: CallId, record: CallRecord): void {
    this.#remembered.set(callId, furtherOn(record, this.#remembered.get(callId)) ?? record);
  }

  // Nothing is awaited between the look and the change, so that of two events in this process one is the first here as well.
  #stepInMemory<Action>(callId: CallId, decide: (known: CallRecord | undefined) => Step<Action>): Taken<Action> {
    const known = this.#remembered.get(callId);
    const { action, next } = decide(known);
    if (next !== undefined) this.#remembered.set(callId, next);
    return { action, record: next ?? known, shared: false };
  }
}
