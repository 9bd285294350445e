import { DecodeError, isDamage, unlessDamaged } from '../../storage/errors.ts';
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
import { COMMIT_NUMBER, commitNumberOf, inStripe, parseStripe, stripesOf } from '../rows/stripes.ts';
import { ByteReader, readTally } from '../rows/tally-bytes.ts';
import { cameraListFrom, readTotal, totalFrom, type TotalRow } from '../rows/total-row.ts';
import { type Counter, NO_CAMERAS, type StoredEntry } from './subtraction.ts';

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
  /** The counter rows that were met, by stripe, and their newest commit. */
  readonly stripes = new Map<number, { readonly rows: Set<string>; readonly newest: number }>();
  /** The newest total that was read of each stripe: the names for the indexes in its rows. */
  readonly totals = new Map<number, TotalRow>();
  readonly table: Table;
  readonly partition: string;

  constructor(table: Table, partition: string) {
    this.table = table;
    this.partition = partition;
  }

  async all(range: KeyRange, select?: readonly string[]): Promise<readonly StoredRow[]> {
    return this.table.all(this.partition, range, { select });
  }

  /** The rows of each camera, those in all stripes together as of one moment. */
  cameras(properties: readonly string[]): ReturnType<typeof camerasIn> {
    return camerasIn(this.table, this.partition, [...properties, COMMIT_NUMBER], (error) =>
      this.damage(error.rowKey, error),
    );
  }

  /** Notes that a row is damaged. Any other error is thrown again: it is a bug, or storage failed. */
  damage(rowKey: string, error: unknown, etag?: string): void {
    if (!isDamage(error)) throw error;
    if (!this.damaged.has(rowKey)) this.damaged.set(rowKey, { damage: error.message, etag });
  }

  /** What a function decodes of a row; undefined if it cannot be decoded. */
  decoded<Value>({ rowKey, etag }: StoredRow, decode: () => Value): Value | undefined {
    return unlessDamaged(decode, (error) => this.damage(rowKey, error, etag));
  }

  async entries(rows: readonly StoredRow[]): Promise<readonly StoredEntry[]> {
    const entries: (readonly StoredEntry[])[] = [];
    for (const row of rows) {
      const parsed = this.decoded(row, () => ({ ...parseStripe(row.rowKey), commit: commitNumberOf(row) }));
      if (parsed === undefined) continue;
      const { key, stripe, commit } = parsed;
      const total = await this.#totalIn(stripe, commit);
      const own = total && this.decoded(row, () => entriesIn(row, key, total));
      // Without its total nothing is known of a row.
      if (own !== undefined || total === undefined) this.#meet(stripe, row.rowKey, commit);
      if (own !== undefined) entries.push(own);
    }
    return entries.flat();
  }

  /**
   * The totals of all stripes, the `hours` rows and those of each hour, and the fence, as of one moment; undefined: a commit came between.
   * Every commit changes a total.
   */
  async top(): Promise<{ readonly rows: readonly StoredRow[]; readonly fence: StoredRow | undefined } | undefined> {
    const rows = await this.all(stripesOf(TOTAL_KEY));
    const [fence, hours, lists] = await Promise.all([
      this.table.get(this.partition, FENCE_KEY),
      this.all(HOURS_AND_HOUR_ROWS),
      this.all(ALL_CAMERA_LISTS),
    ]);
    if (versionsOf(rows) !== versionsOf(await this.all(stripesOf(TOTAL_KEY), []))) return undefined;
    this.totals.clear();
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
        this.totals.set(stripe, total);
      } catch (error) {
        this.damage(row.rowKey, error);
      }
    }
    return { rows: [...rows.filter(({ rowKey }) => !this.damaged.has(rowKey)), ...hours], fence };
  }

  /** The total of a stripe, which is read again if it is older than a commit; undefined: it does not name what that commit wrote. */
  async #totalIn(stripe: number, commit: number): Promise<TotalRow | undefined> {
    const known = this.totals.get(stripe);
    if (known !== undefined && known.commit >= commit) return known;
    try {
      const total = await readTotal(this.table, this.partition, stripe);
      if (total === undefined || total.commit < commit) return undefined;
      this.totals.set(stripe, total);
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
  const categories = [...ofDay.categories.keys()];
  const idOf = (index: number): string => named(ids[index]);
  const entryOf = (counter: Counter, tally: Tally, cameras: ReadonlySet<string> = NO_CAMERAS): StoredEntry => ({
    rowKey: row.rowKey,
    counter,
    tally,
    cameras,
  });
  const [kind = ''] = key.split('|');
  switch (kind) {
    case TOTAL_KEY:
      return [entryOf({}, ofDay, new Set(ids))];
    case 'minute': {
      const { minute, second } = parseMinuteKey(key);
      return samplesIn(row, second).map(({ microsecond, cameraIndex, tally }) => {
        const cameraId = idOf(cameraIndex);
        const counted = named(readTally(new ByteReader(tally), categories));
        return entryOf({ cameraId, minute, microsecond }, counted, new Set([cameraId]));
      });
    }
    case 'camera': {
      const cameraId = parseCameraKey(key);
      const camera = cameraRowFrom(row);
      if (ids[camera.index] !== cameraId)
        throw new DecodeError('its place is not that of its camera in the camera list');
      const entries = [entryOf({ cameraId }, camera.tally)];
      for (const [hour, { tally }] of camera.hours) {
        entries.push(entryOf({ cameraId, hour }, tally));
        for (const [minute, own] of minutesOf(camera, hour)) {
          entries.push(entryOf({ cameraId, minute: hour * 60 + minute }, own));
        }
      }
      return entries;
    }
    default: {
      const hour = key === HOURS_KEY ? undefined : parseHourKey(key);
      return Array.from(bucketsFrom(row), ([number, bucket]) => {
        if (hour === undefined && number >= 24) throw new DecodeError('it has more than 24 hours');
        const counter = hour === undefined ? { hour: number } : { minute: hour * 60 + number };
        return entryOf(counter, named(bucketTally(bucket, categories)), new Set(indexesIn(bucket.active).map(idOf)));
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
