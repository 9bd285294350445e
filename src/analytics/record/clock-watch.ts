import type { Log } from '../../log.ts';
import type { Table } from '../../storage/table.ts';

/** A larger difference from storage's clock is logged, hourly: which events come too early or too late, and the days of answers, depend on it. */
const OFF_MS = 60_000;
const TELL_AGAIN_MS = 3_600_000;

/** Compares the clock of this process with the clock of storage, and warns if they differ. */
export class ClockWatch {
  readonly #table: Table;
  readonly #log: Log;
  #toldAt = -Infinity;

  constructor(table: Table, log: Log) {
    this.#table = table;
    this.#log = log;
  }

  /** Call it after storage has answered. */
  look(): void {
    const aheadMs = Date.now() - this.#table.now();
    if (Math.abs(aheadMs) <= OFF_MS || performance.now() - this.#toldAt < TELL_AGAIN_MS) return;
    this.#toldAt = performance.now();
    this.#log.warn('clock is off', { ahead_seconds: Math.round(aheadMs / 1_000) });
  }
}
