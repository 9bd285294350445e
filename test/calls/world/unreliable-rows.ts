import { setTimeout as sleep } from 'node:timers/promises';

import {
  type CommitResult,
  type KeyRange,
  type RowAddress,
  type RowChange,
  type Rows,
  RowsUnavailable,
  type RowValues,
  type StoredRow,
} from '../../../src/calls/store/rows.ts';
import type { Conditions } from './conditions.ts';
import { type Life, never } from './life.ts';
import type { Chance } from './random.ts';

// The bounds of the table's requests: in a call, and otherwise.
const IN_A_CALL_MS = 1_500;
const PATIENT_MS = 3_000;

/** What rows with faults need. */
export interface UnreliableRowsParts {
  /** Shared by all instances. */
  readonly table: Rows;
  /** Of the process that uses the rows. */
  readonly life: Life;
  readonly conditions: Conditions;
  readonly chance: Chance;
  readonly onRequest: () => void;
}

/** The shared rows as one instance reaches them: requests and answers take time and get lost, and storage has outages. */
export class UnreliableRows implements Rows {
  readonly #parts: UnreliableRowsParts;

  constructor(parts: UnreliableRowsParts) {
    this.#parts = parts;
  }

  read(address: RowAddress, patience: 'in a call' | 'patient'): Promise<StoredRow | undefined> {
    return this.#ask(patience === 'patient' ? PATIENT_MS : IN_A_CALL_MS, (table) => table.read(address, patience));
  }

  write(address: RowAddress, values: RowValues, readEtag: string | undefined): Promise<string | undefined> {
    return this.#ask(IN_A_CALL_MS, (table) => table.write(address, values, readEtag));
  }

  list(partitionKey: string, range: KeyRange, mostRows?: number): Promise<readonly StoredRow[]> {
    return this.#ask(PATIENT_MS, (table) => table.list(partitionKey, range, mostRows));
  }

  commit(partitionKey: string, changes: readonly RowChange[]): Promise<CommitResult> {
    return this.#ask(PATIENT_MS, (table) => table.commit(partitionKey, changes));
  }

  delete(address: RowAddress): Promise<void> {
    return this.#ask(PATIENT_MS, (table) => table.delete(address));
  }

  async #ask<Answer>(boundMs: number, carryOut: (table: Rows) => Promise<Answer>): Promise<Answer> {
    const { life, onRequest } = this.#parts;
    if (life.isOver) return never();
    onRequest();
    return life.during(this.#exchange(boundMs, carryOut));
  }

  async #exchange<Answer>(boundMs: number, carryOut: (table: Rows) => Promise<Answer>): Promise<Answer> {
    const { table, life, conditions, chance } = this.#parts;
    if (conditions.isOutage) return fail(boundMs);
    const { rowFault } = conditions.faults;
    const fault = chance.byProbability([
      [rowFault / 2, 'lost request'],
      [rowFault / 2, 'lost answer'],
    ]);
    // A broken connection is noticed at once; of a lost packet nothing is noticed until the bound.
    const noticedAfterMs = chance.happens(0.5) ? 10 : boundMs;
    await sleep(chance.between(1, 20));
    if (life.isOver && chance.happens(0.5)) return never();
    if (conditions.isOutage) return fail(boundMs);
    if (fault === 'lost request') return fail(noticedAfterMs);
    const answer = await carryOut(table);
    if (fault === 'lost answer') return fail(noticedAfterMs);
    await sleep(chance.between(1, 20));
    return answer;
  }
}

const fail = async (afterMs: number): Promise<never> => {
  await sleep(afterMs);
  throw new RowsUnavailable('deadline');
};
