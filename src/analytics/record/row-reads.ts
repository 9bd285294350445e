import pLimit from 'p-limit';

import { cameraProperties, cameraRowFrom } from '../rows/camera-row.ts';
import { eventRowFrom, type EventRow } from '../rows/event-row.ts';
import { cameraKey, type KeyRange } from '../rows/keys.ts';
import type { CounterTable } from '../rows/table.ts';
import type { KnownCamera, Versioned } from './shard-snapshot.ts';

const PARALLEL_READS = 16;
// From this many keys close together one range is cheaper than a read for each.
const KEYS_FOR_RANGE = 3;
const CAMERAS_A_KEY_FOR_RANGE = 8;
const ROWS_A_KEY_FOR_RANGE = 20;

const rangeOver = (keys: Iterable<string>): KeyRange => {
  const sorted = [...keys].sort();
  return { from: sorted[0] ?? '', before: `${sorted.at(-1) ?? ''}\u0000` };
};

/** Reads rows of one shard, each by its key, or many that are close together by a range. A row that is not stored is left out. */
export class RowReads {
  readonly #table: CounterTable;
  readonly #partition: string;
  readonly #limit = pLimit(PARALLEL_READS);

  constructor(table: CounterTable, partition: string) {
    this.#table = table;
    this.#partition = partition;
  }

  /** Runs a read for each item, so many at a time. */
  async each<Item>(items: Iterable<Item>, read: (item: Item) => Promise<void>): Promise<void> {
    await this.#limit.map(items, read);
  }

  /** Reads the wanted hours of camera rows, by camera id. `cameras`: how many the shard has in all. */
  async cameras(
    wanted: ReadonlyMap<string, ReadonlySet<number>>,
    cameras: number,
  ): Promise<ReadonlyMap<string, KnownCamera>> {
    const found = new Map<string, KnownCamera>();
    if (wanted.size >= KEYS_FOR_RANGE && cameras <= CAMERAS_A_KEY_FOR_RANGE * wanted.size) {
      const ids = new Map(Array.from(wanted.keys(), (id) => [cameraKey(id), id]));
      const known = new Set(Array.from(wanted.values(), (hours) => [...hours]).flat());
      const select = cameraProperties(known, known);
      for (const row of await this.#table.all(this.#partition, rangeOver(ids.keys()), { select })) {
        const cameraId = ids.get(row.rowKey);
        if (cameraId !== undefined) found.set(cameraId, { etag: row.etag, value: cameraRowFrom(row), known });
      }
    } else {
      await this.each(wanted, async ([cameraId, known]) => {
        const row = await this.#table.get(this.#partition, cameraKey(cameraId), cameraProperties(known, known));
        if (row !== undefined) found.set(cameraId, { etag: row.etag, value: cameraRowFrom(row), known });
      });
    }
    return found;
  }

  /** Reads event rows, by minute of the day and row key. `eventsIn`: how many events a minute has. */
  async events(
    wanted: ReadonlyMap<number, ReadonlySet<string>>,
    eventsIn: (minute: number) => number,
  ): Promise<ReadonlyMap<string, Versioned<EventRow>>> {
    const found = new Map<string, Versioned<EventRow>>();
    const readOne = async (key: string): Promise<void> => {
      const row = await this.#table.get(this.#partition, key);
      if (row !== undefined) found.set(key, { etag: row.etag, value: eventRowFrom(row) });
    };
    const readRange = async (keys: ReadonlySet<string>): Promise<void> => {
      for (const row of await this.#table.all(this.#partition, rangeOver(keys))) {
        if (keys.has(row.rowKey)) found.set(row.rowKey, { etag: row.etag, value: eventRowFrom(row) });
      }
    };
    const isCheapRange = (minute: number, { size }: ReadonlySet<string>): boolean =>
      size >= KEYS_FOR_RANGE && eventsIn(minute) <= ROWS_A_KEY_FOR_RANGE * size;
    const reads = [...wanted].flatMap(([minute, keys]) =>
      isCheapRange(minute, keys) ? [async () => readRange(keys)] : Array.from(keys, (key) => async () => readOne(key)),
    );
    await this.each(reads, async (read) => read());
    return found;
  }
}
