import pLimit from 'p-limit';

import { EmptyPages } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { CAMERA_DAY_PROPERTIES, cameraProperties, cameraRowFrom } from '../rows/camera-row.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { cameraKey, hasKnownOrder, rangeOver } from '../rows/keys.ts';
import { inStripe, readStripes } from '../rows/stripes.ts';
import type { KnownRowsOfShard } from './known-rows.ts';
import { ofKind, type KnownRow, type ShardRow } from './shard-snapshot.ts';
import type { WantedCamera, WantedRows } from './wanted-rows.ts';

const PARALLEL_READS = 16;
// From this many keys close together one range is cheaper than a read for each, unless it has too many other rows.
const KEYS_FOR_RANGE = 3;
const CAMERAS_A_KEY_FOR_RANGE = 8;
const EVENTS_A_KEY_FOR_RANGE = 20;

/** Reads rows of one shard, from memory or from storage, by their keys or many that are close together by a range. */
export class RowReads {
  readonly table: Table;
  readonly partition: string;
  /** What the process knows of the shard's rows. */
  readonly known: KnownRowsOfShard;
  readonly #limit = pLimit(PARALLEL_READS);

  constructor(table: Table, partition: string, known: KnownRowsOfShard) {
    this.table = table;
    this.partition = partition;
    this.known = known;
  }

  /** Runs a read for each item, so many at a time. */
  async each<Item>(items: Iterable<Item>, read: (item: Item) => Promise<void>): Promise<void> {
    await this.#limit.map(items, read);
  }

  /** Reads a row. */
  async one(key: string, select?: readonly string[]): Promise<StoredRow | undefined> {
    return this.table.get(this.partition, key, { select });
  }

  /** A row from memory, or read and kept there. @throws {StorageTrouble | DamagedRow} */
  async kept(key: string, rowFrom: (row: StoredRow) => ShardRow): Promise<KnownRow> {
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const row = await this.one(key);
    return this.known.keep(key, row && { ...rowFrom(row), etag: row.etag });
  }

  /**
   * The rows of cameras in a stripe, with the hours that are wanted of each, by row key: from memory, or read and kept there.
   *
   * @param cameras how many the stripe has
   * @throws {StorageTrouble | DamagedRow}
   */
  async cameras(
    stripe: number,
    wanted: Iterable<readonly [cameraId: string, wanted: WantedCamera]>,
    cameras: number,
  ): Promise<ReadonlyMap<string, KnownRow>> {
    const rows = new Map<string, KnownRow>();
    const missing = new Map<string, ReadonlySet<number>>();
    for (const [cameraId, { hours }] of wanted) {
      const key = inStripe(cameraKey(cameraId), stripe);
      const row = this.known.get(key);
      const known = ofKind(row, 'camera')?.hours ?? new Set();
      if (row !== undefined && (row.kind === 'absent' || hours.isSubsetOf(known))) rows.set(key, row);
      else missing.set(key, hours.union(known));
    }
    const keep = (key: string, hours: ReadonlySet<number>, row: StoredRow | undefined): void => {
      const camera = row && ({ kind: 'camera', etag: row.etag, value: cameraRowFrom(row), hours } as const);
      rows.set(key, this.known.keep(key, camera));
    };
    const mostForRange = CAMERAS_A_KEY_FOR_RANGE * missing.size;
    const all = new Set([...missing.values()].flatMap((hours) => Array.from(hours)));
    if (missing.size > 1 && cameras <= mostForRange) {
      const found = await this.#many([...missing.keys()], cameras, mostForRange, cameraProperties(all, all));
      for (const key of missing.keys()) keep(key, all, found.get(key));
    } else {
      await this.each(missing, async ([key, hours]) =>
        keep(key, hours, await this.one(key, cameraProperties(hours, hours))),
      );
    }
    return rows;
  }

  /** The categories that cameras have in any stripe, by camera id. @throws {StorageTrouble | DamagedRow} */
  async categoriesInAllStripes(cameraIds: Iterable<string>): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const categories = new Map<string, ReadonlySet<string>>();
    await this.each(cameraIds, async (cameraId) => {
      const stored = await readStripes(this.table, this.partition, cameraKey(cameraId), CAMERA_DAY_PROPERTIES);
      const found = [...stored.values()].flatMap((row) => Array.from(cameraRowFrom(row).tally.categories.keys()));
      categories.set(cameraId, new Set(found));
    });
    return categories;
  }

  /**
   * The rows of events that are stored, by row key: from memory, or read and kept there. Those of new frames from memory only.
   *
   * @param eventsIn about how many events a minute of the day (0 to 1439) has
   * @throws {StorageTrouble | DamagedRow}
   */
  async events(
    { events, inserted }: WantedRows,
    eventsIn: (minute: number) => number,
  ): Promise<ReadonlyMap<string, KnownRow>> {
    const rows = new Map<string, KnownRow>();
    const missing = new Map<number, string[]>();
    for (const key of [...events.keys(), ...inserted]) {
      const known = this.known.get(key);
      const minute = events.get(key)?.minute;
      if (known !== undefined) rows.set(key, known);
      else if (minute !== undefined) missing.set(minute, [...(missing.get(minute) ?? []), key]);
    }
    await Promise.all(
      Array.from(missing, async ([minute, keys]) => {
        const found = await this.#many(keys, eventsIn(minute), EVENTS_A_KEY_FOR_RANGE * keys.length);
        for (const [key, row] of found) {
          rows.set(key, this.known.keep(key, { kind: 'event', etag: row.etag, value: eventRowFrom(row) }));
        }
      }),
    );
    return rows;
  }

  /**
   * Reads rows, by row key. A row that is not stored is left out.
   *
   * @param inRange about how many rows a range over the keys has
   * @param mostForRange how many it may have at most to be cheaper than a read for each key
   */
  async #many(
    keys: readonly string[],
    inRange: number,
    mostForRange: number,
    select?: readonly string[],
  ): Promise<ReadonlyMap<string, StoredRow>> {
    const found = new Map<string, StoredRow>();
    let single = keys;
    if (keys.length >= KEYS_FOR_RANGE && inRange <= mostForRange) {
      const ordered = new Set(keys.filter(hasKnownOrder));
      try {
        const rows = await this.table.all(this.partition, rangeOver(ordered), { select });
        for (const row of rows) if (ordered.has(row.rowKey)) found.set(row.rowKey, row);
        single = keys.filter((key) => !ordered.has(key));
      } catch (error) {
        if (!(error instanceof EmptyPages)) throw error;
      }
    }
    await this.each(single, async (key) => {
      const row = await this.one(key, select);
      if (row !== undefined) found.set(key, row);
    });
    return found;
  }
}
