import type { StoredRow } from '../../storage/row.ts';

/** A part of a row: the properties to read, and what they say. A row that was read without them cannot be decoded by mistake. */
export interface RowPart<Value> {
  readonly select: readonly string[];
  /** @throws {DamagedRow} */
  readonly from: (row: StoredRow) => Value;
}

/** The values of some hours or minutes. The others were not read: they are unknown, and not empty. */
export class PartOf<Key, Value> {
  readonly #asked: ReadonlySet<Key>;
  readonly #found: ReadonlyMap<Key, Value>;

  constructor(asked: Iterable<Key>, found: ReadonlyMap<Key, Value>) {
    this.#asked = new Set(asked);
    this.#found = found;
  }

  /** undefined: there is nothing. @throws {RangeError} if it was not read */
  get(key: Key): Value | undefined {
    if (!this.#asked.has(key)) throw new RangeError('this part of the row was not read');
    return this.#found.get(key);
  }

  get found(): ReadonlyMap<Key, Value> {
    return this.#found;
  }
}
