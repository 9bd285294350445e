import { hourOfMinute, microsecondOfMinute } from '../model/day.ts';
import { sortableInstant } from '../model/instant.ts';
import type { DayPiece, PartialMinute } from '../model/period.ts';
import { EMPTY_TALLY, sumOf, type Tally } from '../model/tally.ts';
import {
  CAMERA_DAY_PROPERTIES,
  cameraProperties,
  cameraRowFrom,
  minutesOf,
  type CameraRow,
} from '../rows/camera-row.ts';
import { decodingRow } from '../rows/damaged-row.ts';
import { CONTRIBUTION_PROPERTIES, contributionFrom } from '../rows/event-row.ts';
import { bucketProperties, bucketsFrom, type Bucket } from '../rows/hour-rows.ts';
import { cameraKey, eventsOfMinute, hourKey, HOURS_KEY, minuteKey, parseEventKey } from '../rows/keys.ts';
import { minuteRowFrom, sampleProperties, samplesOf, type StoredSample } from '../rows/minute-row.ts';
import type { StoredRow } from '../rows/row.ts';
import type { CounterTable } from '../rows/table.ts';
import { listsTooShort, readCategories, readTotal } from '../rows/total-row.ts';
import { ShardSum } from './shard-sum.ts';

/** What happened in a piece of a period, in one shard. */
export interface ShardActivity {
  readonly tally: Tally;
  /** The cameras that sent events, perhaps more than once. */
  readonly cameras: readonly string[];
}

/** Runs reads, so many at a time. */
export type Bounded = <Result>(run: () => Promise<Result>) => Promise<Result>;

type PartOfDay = Extract<DayPiece, { whole: false }>;

/** A partial minute as it was read: its samples, or its event rows where one of its seconds has overflowed. */
export interface PartialMinuteRows {
  readonly samples: readonly StoredSample[];
  readonly events: ShardActivity;
}

/** The names for the indexes in a shard's rows. */
export interface Lists {
  readonly categories: readonly string[];
  readonly ids: readonly string[];
}

const NOTHING: ShardActivity = { tally: EMPTY_TALLY, cameras: [] };
const LIST_TRIES = 5;

/** Minutes of the day by their hour, there as minutes of the hour. */
const byHour = (minutes: readonly number[]): ReadonlyMap<number, readonly number[]> =>
  new Map(
    Array.from(Map.groupBy(minutes, hourOfMinute), ([hour, ofHour]) => [hour, ofHour.map((minute) => minute % 60)]),
  );

/** The sum of some hours and minutes of a camera. */
const tallyOf = (row: CameraRow, hours: readonly number[], minutes: ReadonlyMap<number, readonly number[]>): Tally =>
  sumOf([
    ...hours.map((hour) => row.hours.get(hour)?.tally ?? EMPTY_TALLY),
    ...[...minutes].flatMap(([hour, wanted]) => {
      const ofHour = minutesOf(row, hour);
      return wanted.map((minute) => ofHour.get(minute) ?? EMPTY_TALLY);
    }),
  ]);

/**
 * Reads pieces of periods from the rows of one shard of a day: a whole day from its `total` row (or a camera's row), whole hours
 * and minutes from the `hours` and `hour` rows (or the camera's row), and partial minutes from the `minute` rows. Each row is read
 * whole, so no event is ever half visible, and by its key, so that the number of reads depends on neither the events nor the
 * cameras. Event rows are read only for seconds that have overflowed.
 */
export class ShardReader {
  readonly #table: CounterTable;
  readonly #partition: string;
  readonly #read: Bounded;

  constructor(table: CounterTable, partition: string, read: Bounded) {
    this.#table = table;
    this.#partition = partition;
    this.#read = read;
  }

  /** What all cameras of the shard did in a piece of the day. */
  async piece(piece: DayPiece): Promise<ShardActivity> {
    return piece.whole ? this.#day() : this.#partOfDay(piece);
  }

  /** What one camera, which is in the shard, did in a piece of the day. */
  async pieceOfCamera(piece: DayPiece, cameraId: string): Promise<ShardActivity> {
    return piece.whole ? this.#dayOfCamera(cameraId) : this.#partOfCamera(piece, cameraId);
  }

  async #day(): Promise<ShardActivity> {
    const total = await this.#read(async () => readTotal(this.#table, this.#partition));
    return total === undefined ? NOTHING : { tally: total.tally, cameras: total.cameras.ids };
  }

  async #partOfDay({ hours, minutes, partialMinutes }: PartOfDay): Promise<ShardActivity> {
    const sum = new ShardSum();
    const add = (bucket: Bucket): void => sum.addBucket(bucket);
    const [lists, partial] = await Promise.all([
      this.lists(),
      Promise.all(partialMinutes.map(async (minute) => this.partialMinute(minute))),
      this.buckets(HOURS_KEY, hours, add),
      ...Array.from(byHour(minutes), async ([hour, wanted]) => this.buckets(hourKey(hour), wanted, add)),
    ]);
    for (const { samples } of partial) for (const sample of samples) sum.addSample(sample);
    const readAgain = async (): Promise<Lists> => this.lists();
    const counted = await this.named(lists, readAgain, ({ categories, ids }): ShardActivity | undefined => {
      const [tally, cameras] = [sum.tally(categories), sum.cameras(ids)];
      return tally && cameras && { tally, cameras };
    });
    const all = [counted, ...partial.map(({ events }) => events)];
    return { tally: sumOf(all.map(({ tally }) => tally)), cameras: all.flatMap(({ cameras }) => cameras) };
  }

  async #dayOfCamera(cameraId: string): Promise<ShardActivity> {
    const row = await this.row(cameraKey(cameraId), CAMERA_DAY_PROPERTIES);
    return row === undefined ? NOTHING : { tally: cameraRowFrom(row).tally, cameras: [cameraId] };
  }

  async #partOfCamera({ hours, minutes, partialMinutes }: PartOfDay, cameraId: string): Promise<ShardActivity> {
    const wanted = byHour(minutes);
    const readList = async (): Promise<readonly string[]> => (partialMinutes.length === 0 ? [] : this.categories());
    const [list, partial, stored] = await Promise.all([
      readList(),
      Promise.all(partialMinutes.map(async (minute) => this.partialMinute(minute, cameraId))),
      this.row(cameraKey(cameraId), cameraProperties(hours, wanted.keys())),
    ]);
    if (stored === undefined) return NOTHING;
    const row = cameraRowFrom(stored);
    const sum = new ShardSum();
    for (const { samples } of partial) {
      for (const sample of samples) if (sample.cameraIndex === row.index) sum.addSample(sample);
    }
    const tally = sumOf([
      decodingRow(stored, () => tallyOf(row, hours, wanted)),
      await this.named(list, readList, (categories) => sum.tally(categories)),
      ...partial.map(({ events }) => events.tally),
    ]);
    return { tally, cameras: tally.events > 0 ? [cameraId] : [] };
  }

  /** The names for the indexes in the shard's rows. */
  async lists(): Promise<Lists> {
    const total = await this.#read(async () => readTotal(this.#table, this.#partition));
    return { categories: [...(total?.tally.categories.keys() ?? [])], ids: total?.cameras.ids ?? [] };
  }

  /** The names of the categories alone. */
  async categories(): Promise<readonly string[]> {
    return this.#read(async () => readCategories(this.#table, this.#partition));
  }

  /** Reads some buckets of a row and adds each. */
  async buckets(
    rowKey: string,
    numbers: readonly number[],
    add: (bucket: Bucket, number: number) => void,
  ): Promise<void> {
    const row = numbers.length === 0 ? undefined : await this.row(rowKey, bucketProperties(numbers));
    if (row === undefined) return;
    decodingRow(row, () => {
      for (const [number, bucket] of bucketsFrom(row)) add(bucket, number);
    });
  }

  /** Reads a partial minute of all cameras; its event rows, where a second has overflowed, of all cameras or one. */
  async partialMinute(minute: PartialMinute, cameraId?: string): Promise<PartialMinuteRows> {
    const [from, to] = [microsecondOfMinute(minute.start), microsecondOfMinute(minute.end)];
    const row = await this.row(minuteKey(minute.minute), sampleProperties(from, to));
    const samples = row === undefined ? [] : decodingRow(row, () => samplesOf(minuteRowFrom(row), from, to));
    if (samples !== undefined) return { samples, events: NOTHING };
    return { samples: [], events: await this.#events(minute, cameraId) };
  }

  async #events({ minute, start, end }: PartialMinute, cameraId: string | undefined): Promise<ShardActivity> {
    const range = eventsOfMinute(minute, cameraId);
    const filter = `ts_utc ge '${sortableInstant(start)}' and ts_utc le '${sortableInstant(end)}'`;
    const rows = await this.#read(async () =>
      this.#table.all(this.#partition, range, { select: CONTRIBUTION_PROPERTIES, filter }),
    );
    return {
      tally: sumOf(rows.map(contributionFrom)),
      cameras: rows.map((row) => decodingRow(row, () => parseEventKey(row.rowKey).cameraId)),
    };
  }

  /** Names a sum with lists that were read meanwhile, or with later ones where they are older than the summed rows. */
  async named<List, Result>(
    list: List,
    readAgain: () => Promise<List>,
    name: (list: List) => Result | undefined,
  ): Promise<Result> {
    let result = name(list);
    for (let tries = 1; result === undefined; tries += 1) {
      if (tries > LIST_TRIES) throw listsTooShort(this.#partition);
      result = name(await readAgain());
    }
    return result;
  }

  /** One row, or some of its properties. */
  async row(rowKey: string, select: readonly string[]): Promise<StoredRow | undefined> {
    return this.#read(async () => this.#table.get(this.#partition, rowKey, select));
  }
}
