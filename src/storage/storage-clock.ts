const REMEMBERED_MS = 600_000;
const SLICES = 10;

/**
 * The clock of storage, by the `Date` of its answers. A `Date` has whole seconds and arrives late: it is never ahead of the clock of storage. Of
 * the answers of ten minutes, the `Date` that is furthest ahead of the steady clock of this process is the most exact. The clock never runs back.
 */
export class StorageClock {
  readonly #largest = new Map<number, number>();
  #latest = -Infinity;

  /** @param date of an answer, in milliseconds since 1970; NaN is ignored */
  note(date: number): void {
    if (Number.isNaN(date)) return;
    const slice = sliceNow();
    const difference = date - performance.now();
    this.#largest.set(slice, Math.max(difference, this.#largest.get(slice) ?? -Infinity));
    for (const one of this.#largest.keys()) if (one <= slice - SLICES) this.#largest.delete(one);
  }

  /** In milliseconds since 1970. Before any answer, by the clock of this process, which may be wrong. */
  now(): number {
    if (this.#largest.size === 0) return Date.now();
    this.#latest = Math.max(this.#latest, performance.now() + Math.max(...this.#largest.values()));
    return this.#latest;
  }
}

const sliceNow = (): number => Math.floor(performance.now() / (REMEMBERED_MS / SLICES));
