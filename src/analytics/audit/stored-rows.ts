import { DamagedRow, DecodeError, isDamage, unlessDamaged } from '../../storage/errors.ts';
import type { KeyRange, StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import type { Tally } from '../model/tally.ts';
import { indexesIn } from '../rows/bitset.ts';
import { cameraRowFrom, camerasIn, minutesOf } from '../rows/camera-row.ts';
import { bucketsFrom, bucketTally } from '../rows/hour-rows.ts';
import {
  ALL_CAMERA_LISTS,
  camerasKey,
  FENCE_KEY,
  HOURS_AND_HOUR_ROWS,
  HOURS_KEY,
  parseCameraKey,
  parseHourKey,
  parseMinuteKey,
  SECONDS_A_ROW,
  TOTAL_KEY,
} from '../rows/keys.ts';
import { minuteRowFrom, overflowedSecondsOf, samplesOf, SECOND } from '../rows/minute-row.ts';
import { COMMIT_NUMBER, commitNumberOf, inStripe, parseStripe, stripesOf, readStripes } from '../rows/stripes.ts';
import { ByteReader, readTally } from '../rows/tally-bytes.ts';
import { cameraListFrom, readTotal, totalFrom, type TotalRow } from '../rows/total-row.ts';
import { hourly, minutely, NO_CAMERAS, ofCamera, sampled, type Counter } from './counters.ts';

/** What a row says of a counter. */
export interface StoredEntry {
  readonly rowKey: string;
  readonly counter: Counter;
  readonly tally: Tally;
  /** The active cameras that it names. */
  readonly cameras: ReadonlySet<string>;
  /** Of a minute or a part of it: the minute of the day. */
  readonly minute?: number;
  /** Of a sample: where it is in the minute, and of which camera. */
  readonly sample?: { readonly microsecond: number; readonly cameraId: string };
}

/** The plain key of a row and its stripe; undefined: its key has the suffix of none. */
export const stripeOf = (rowKey: string): ReturnType<typeof parseStripe> | undefined =>
  unlessDamaged(() => parseStripe(rowKey));

/** The versions of rows in one text. */
export const versionsOf = (rows: readonly StoredRow[] = []): string =>
  rows.map(({ rowKey, etag }) => `${rowKey} ${etag}`).join('\n');

/** Reads the rows of a shard for an audit. Those that are damaged are noted, and left out. */
export class StoredRows {
  /** Rows that cannot be decoded, or should not be there, by key: what is wrong, and the version that was read, if one was. */
  readonly damaged = new Map<string, { readonly damage: string; readonly etag: string | undefined }>();
  /** The counter rows that were met, by stripe, and the newest commit of any but the total. */
  readonly stripes = new Map<number, { readonly rows: Set<string>; readonly newest: number }>();
  readonly table: Table;
  readonly partition: string;
  /** The newest total that was read of each stripe: the names for the indexes in its rows. */
  readonly #totals = new Map<number, TotalRow>();

  constructor(table: Table, partition: string) {
    this.table = table;
    this.partition = partition;
  }

  /** All rows of a key range. */
  async all(range: KeyRange, select?: readonly string[]): Promise<readonly StoredRow[]> {
    return this.table.all(this.partition, range, { select });
  }

  /** Notes that a row is damaged. Any other error is thrown again: it is a bug, or storage failed. */
  damage(rowKey: string, error: unknown, etag?: string): void {
    if (!isDamage(error)) throw error;
    if (!this.damaged.has(rowKey)) this.damaged.set(rowKey, { damage: error.message, etag });
  }

  /** What a function decodes of a row; undefined if it cannot be decoded. */
  decoded<Value>({ rowKey, etag }: StoredRow, decode: () => Value): Value | undefined {
    try {
      return decode();
    } catch (error) {
      this.damage(rowKey, error, etag);
      return undefined;
    }
  }

  /** What counter rows, none of which is a total, say of their counters, row by row. */
  async *entries(rows: readonly StoredRow[]): AsyncGenerator<readonly StoredEntry[]> {
    for (const row of rows) {
      const parsed = this.decoded(row, () => ({ ...parseStripe(row.rowKey), commit: commitNumberOf(row) }));
      if (parsed === undefined) continue;
      const { key, stripe, commit } = parsed;
      const total = await this.#totalIn(stripe, commit);
      const own = total && this.decoded(row, () => entriesIn(row, key, total));
      // Without its total nothing is known of a row.
      if (own !== undefined || total === undefined) this.#meet(stripe, row.rowKey, commit);
      if (own !== undefined) yield own;
    }
  }

  /** The rows of each camera, those in all stripes together as of one moment. */
  cameras(properties: readonly string[]): ReturnType<typeof camerasIn> {
    const select = [...properties, COMMIT_NUMBER];
    return camerasIn(
      this.table,
      this.partition,
      select,
      (row) => this.decoded(row, () => parseCameraKey(parseStripe(row.rowKey).key)),
      async (key) => this.#inAllStripes(key, select),
    );
  }

  async #inAllStripes(key: string, select: readonly string[]): Promise<readonly StoredRow[]> {
    try {
      return [...(await readStripes(this.table, this.partition, key, select)).values()];
    } catch (error) {
      this.damage(error instanceof DamagedRow ? error.rowKey : key, error);
      return [];
    }
  }

  /**
   * The totals by stripe, the fence, the `hours` rows and those of each hour, as of one moment; undefined: a commit came between. Every
   * commit changes a total.
   */
  async top() {
    const rows = await this.all(stripesOf(TOTAL_KEY));
    const [fence, hours, lists] = await Promise.all([
      this.table.get(this.partition, FENCE_KEY),
      this.all(HOURS_AND_HOUR_ROWS),
      this.all(ALL_CAMERA_LISTS),
    ]);
    if (versionsOf(rows) !== versionsOf(await this.all(stripesOf(TOTAL_KEY), []))) return undefined;
    const totals = new Map<number, TotalRow>();
    for (const row of [...lists, ...rows]) {
      const parsed = this.decoded(row, () => parseStripe(row.rowKey));
      if (parsed === undefined) continue;
      const { key, stripe } = parsed;
      this.#meet(stripe, row.rowKey);
      if (key !== TOTAL_KEY) continue;
      try {
        const first = lists.find(({ rowKey }) => rowKey === inStripe(camerasKey(1), stripe));
        const total = await totalFrom(this.table, row, stripe, first);
        const [listed, active] = [cameraListFrom(total.lists.flatMap(({ texts }) => texts)), total.cameras];
        if (listed.ids.length !== active.ids.length) throw new DecodeError('its camera list is longer than it says');
        totals.set(stripe, total);
        this.#totals.set(stripe, total);
      } catch (error) {
        this.damage(row.rowKey, error);
      }
    }
    return { totals, fence, hours };
  }

  /** The total of a stripe, which is read again if it is older than a commit; undefined: it does not name what that commit wrote. */
  async #totalIn(stripe: number, commit: number): Promise<TotalRow | undefined> {
    const known = this.#totals.get(stripe);
    if (known !== undefined && known.commit >= commit) return known;
    try {
      const total = await readTotal(this.table, this.partition, stripe);
      if (total === undefined || total.commit < commit) return undefined;
      this.#totals.set(stripe, total);
      return total;
    } catch (error) {
      this.damage(inStripe(TOTAL_KEY, stripe), error);
      return undefined;
    }
  }

  #meet(stripe: number, rowKey: string, commit = 0): void {
    const { rows, newest } = this.stripes.get(stripe) ?? { rows: new Set(), newest: 0 };
    this.stripes.set(stripe, { rows: rows.add(rowKey), newest: Math.max(newest, commit) });
  }
}

/** What a counter row says of its counters. @throws {DamagedRow | DecodeError} */
const entriesIn = (
  row: StoredRow,
  key: string,
  { tally: ofDay, cameras: { ids } }: TotalRow,
): readonly StoredEntry[] => {
  const { rowKey } = row;
  const categories = [...ofDay.categories.keys()];
  const idOf = (index: number): string => named(ids[index]);
  const [kind = ''] = key.split('|');
  switch (kind) {
    case 'minute': {
      const { minute, second } = parseMinuteKey(key);
      return samplesIn(row, second).map(({ microsecond, cameraIndex, tally: bytes }) => {
        const cameraId = idOf(cameraIndex);
        const tally = named(readTally(new ByteReader(bytes), categories));
        const sample = { microsecond, cameraId };
        const counter = sampled(minute, microsecond, cameraId);
        return { rowKey, minute, sample, counter, tally, cameras: new Set([cameraId]) };
      });
    }
    case 'camera': {
      const cameraId = parseCameraKey(key);
      const camera = cameraRowFrom(row);
      if (ids[camera.index] !== cameraId)
        throw new DecodeError('its place is not that of its camera in the camera list');
      const entryOf = (tally: Tally, of: { hour?: number; minute?: number } = {}): StoredEntry => {
        return { rowKey, ...of, counter: ofCamera(cameraId, of), tally, cameras: NO_CAMERAS };
      };
      const entries = [entryOf(camera.tally)];
      for (const [hour, own] of camera.hours) {
        entries.push(entryOf(own.tally, { hour }));
        for (const [minute, tally] of minutesOf(camera, hour))
          entries.push(entryOf(tally, { minute: hour * 60 + minute }));
      }
      return entries;
    }
    default: {
      const hour = key === HOURS_KEY ? undefined : parseHourKey(key);
      return Array.from(bucketsFrom(row), ([number, bucket]): StoredEntry => {
        if (hour === undefined && number >= 24) throw new DecodeError('it has more than 24 hours');
        const tally = named(bucketTally(bucket, categories));
        const cameras = new Set(indexesIn(bucket.active).map(idOf));
        if (hour === undefined) return { rowKey, counter: hourly(number), tally, cameras };
        const minute = hour * 60 + number;
        return { rowKey, minute, counter: minutely(minute), tally, cameras };
      });
    }
  }
};

/** The samples of half a minute, but for the seconds that have overflowed. */
const samplesIn = (row: StoredRow, first: number): ReturnType<typeof samplesOf> => {
  const seconds = minuteRowFrom(row);
  if ([...seconds.keys()].some((second) => second < first || second >= first + SECONDS_A_ROW)) {
    throw new DecodeError('it has seconds of another row');
  }
  return samplesOf(seconds, 0, 60 * SECOND - 1, new Set(overflowedSecondsOf(seconds)));
};

/** What an index stands for. @throws {DecodeError} if it stands for nothing */
const named = <Value>(value: Value | undefined): Value => {
  if (value === undefined) throw new DecodeError('it has a camera or a category that the total of its stripe lacks');
  return value;
};
