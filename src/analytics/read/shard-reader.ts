import { bucketProperties, bucketsFrom, type Bucket } from '../rows/bucket-row.ts';
import { CAMERA_DAY_PROPERTIES, cameraDayFrom, cameraProperties, minutesOf, type CameraDay } from '../rows/camera-row.ts';
import { hourOfMinute, intoMinute } from '../model/day.ts';
import { CONTRIBUTION_PROPERTIES, contributionFromRow } from '../rows/event-row.ts';
import { grouped } from '../grouped.ts';
import { sortableInstant } from '../model/instant.ts';
import { cameraKey, eventsOfMinute, hourKey, HOURS_KEY, minuteKey, parseEventKey } from '../rows/keys.ts';
import { momentProperties, momentsFrom, momentsOf, type StoredMoment } from '../rows/minute-row.ts';
import type { DayPiece, MinutePart } from '../model/period.ts';
import { ShardSum } from './shard-sum.ts';
import type { CounterTable, StoredRow } from '../rows/table.ts';
import { EMPTY_TALLY, sumOf, type Tally } from '../model/tally.ts';
import { readCategories, readTotal } from '../rows/total-row.ts';

/** What there is in one piece of a period. */
export interface Part {
  readonly tally: Tally;
  /** The cameras that sent events, perhaps more than once. */
  readonly cameras: readonly string[];
}

/** Runs reads, so many at a time. */
export type Bounded = <Result>(run: () => Promise<Result>) => Promise<Result>;

type PartialDay = Extract<DayPiece, { whole: false }>;

/** What there is of a part of a minute: its moments, or what its event rows say where it is crowded. */
interface End {
  readonly moments: readonly StoredMoment[];
  readonly looked: Part;
}

/** What the places in a shard's rows stand for. */
interface Lists {
  readonly categories: readonly string[];
  readonly ids: readonly string[];
}

type Properties = StoredRow['properties'];

const NOTHING: Part = { tally: EMPTY_TALLY, cameras: [] };
const LIST_TRIES = 5;

/** Minutes of the day by their hour, there as minutes of the hour. */
const byHour = (minutes: readonly number[]): ReadonlyMap<number, readonly number[]> =>
  new Map([...grouped(minutes, hourOfMinute)].map(([hour, ofHour]) => [hour, ofHour.map((minute) => minute % 60)]));

/** Hours and minutes of a camera's day. */
const tallyOf = (day: CameraDay, hours: readonly number[], minutes: ReadonlyMap<number, readonly number[]>): Tally =>
  sumOf([
    ...hours.map((hour) => day.hours.get(hour)?.tally ?? EMPTY_TALLY),
    ...[...minutes].flatMap(([hour, wanted]) => {
      const ofHour = minutesOf(day, hour);
      return wanted.map((minute) => ofHour.get(minute) ?? EMPTY_TALLY);
    }),
  ]);

/** Names what was read, with lists that were read meanwhile or, where those turn out to be older than it, with later ones. */
const named = async <List, Result>(
  list: List,
  readAgain: () => Promise<List>,
  name: (list: List) => Result | undefined,
): Promise<Result> => {
  let result = name(list);
  for (let tries = 1; result === undefined; tries += 1) {
    if (tries > LIST_TRIES) throw new TypeError('a stored total is damaged');
    result = name(await readAgain());
  }
  return result;
};

/**
 * Reads pieces of periods from the rows of one shard of a day: a whole day from its `total` row (or a camera's row), whole
 * hours and minutes from `hours` and `hour` rows (or the camera's row), and the parts of minutes at the very ends from
 * `minute` rows. Each row is read whole, so no event is ever half visible, and by its key, so that the number of reads
 * depends on neither the events nor the cameras that there are. Only of a crowded second the event rows are read.
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
  async piece(piece: DayPiece): Promise<Part> {
    return piece.whole ? this.#day() : this.#partOfDay(piece);
  }

  /** What one camera, which is in the shard, did in a piece of the day. */
  async pieceOfCamera(piece: DayPiece, cameraId: string): Promise<Part> {
    return piece.whole ? this.#dayOfCamera(cameraId) : this.#partOfCamera(piece, cameraId);
  }

  async #day(): Promise<Part> {
    const total = await this.#read(async () => readTotal(this.#table, this.#partition));
    return total === undefined ? NOTHING : { tally: total.tally, cameras: total.cameras.ids };
  }

  async #partOfDay({ hours, minutes, parts }: PartialDay): Promise<Part> {
    const readLists = async (): Promise<Lists> => {
      const total = await this.#read(async () => readTotal(this.#table, this.#partition));
      return { categories: [...(total?.tally.categories.keys() ?? [])], ids: total?.cameras.ids ?? [] };
    };
    const [lists, ends, ...buckets] = await Promise.all([
      readLists(),
      Promise.all(parts.map(async (part) => this.#end(part))),
      this.#buckets(HOURS_KEY, hours),
      ...[...byHour(minutes)].map(async ([hour, wanted]) => this.#buckets(hourKey(hour), wanted)),
    ]);
    const sum = new ShardSum();
    for (const bucket of buckets.flat()) sum.addBucket(bucket);
    for (const { moments } of ends) for (const moment of moments) sum.addMoment(moment);
    const counted = await named(lists, readLists, ({ categories, ids }): Part | undefined => {
      const [tally, cameras] = [sum.tally(categories), sum.cameras(ids)];
      return tally && cameras && { tally, cameras };
    });
    const looked = ends.map((end) => end.looked);
    return {
      tally: sumOf([counted, ...looked].map(({ tally }) => tally)),
      cameras: [counted, ...looked].flatMap(({ cameras }) => cameras),
    };
  }

  async #dayOfCamera(cameraId: string): Promise<Part> {
    const row = await this.#get(cameraKey(cameraId), CAMERA_DAY_PROPERTIES);
    return row === undefined ? NOTHING : { tally: cameraDayFrom(row).tally, cameras: [cameraId] };
  }

  async #partOfCamera({ hours, minutes, parts }: PartialDay, cameraId: string): Promise<Part> {
    const ofHours = byHour(minutes);
    const readList = async (): Promise<readonly string[]> =>
      parts.length === 0 ? [] : this.#read(async () => readCategories(this.#table, this.#partition));
    const [list, ends, row] = await Promise.all([
      readList(),
      Promise.all(parts.map(async (part) => this.#end(part, cameraId))),
      this.#get(cameraKey(cameraId), cameraProperties(hours, ofHours.keys())),
    ]);
    if (row === undefined) return NOTHING;
    const day = cameraDayFrom(row);
    const sum = new ShardSum();
    for (const { moments } of ends) {
      for (const moment of moments) if (moment.place === day.place) sum.addMoment(moment);
    }
    const tally = sumOf([
      tallyOf(day, hours, ofHours),
      await named(list, readList, (categories) => sum.tally(categories)),
      ...ends.map(({ looked }) => looked.tally),
    ]);
    return { tally, cameras: tally.events > 0 ? [cameraId] : [] };
  }

  /** Some buckets of a row. */
  async #buckets(rowKey: string, numbers: readonly number[]): Promise<readonly Bucket[]> {
    const row = numbers.length === 0 ? undefined : await this.#get(rowKey, bucketProperties(numbers));
    return row === undefined ? [] : [...bucketsFrom(row).values()];
  }

  /** What there is of a part of a minute, of all cameras; where it is crowded, of all cameras or one. */
  async #end(part: MinutePart, cameraId?: string): Promise<End> {
    const [from, to] = [intoMinute(part.start), intoMinute(part.end)];
    const row = await this.#get(minuteKey(part.minute), momentProperties(from, to));
    const moments = row === undefined ? [] : momentsOf(momentsFrom(row), from, to);
    if (moments !== undefined) return { moments, looked: NOTHING };
    return { moments: [], looked: await this.#events(part, cameraId) };
  }

  async #events(part: MinutePart, cameraId: string | undefined): Promise<Part> {
    const range = eventsOfMinute(part.minute, cameraId);
    const filter = `ts_utc ge '${sortableInstant(part.start)}' and ts_utc le '${sortableInstant(part.end)}'`;
    const rows = await this.#read(async () =>
      this.#table.all(this.#partition, range, { select: CONTRIBUTION_PROPERTIES, filter }),
    );
    return {
      tally: sumOf(rows.map((row) => contributionFromRow(row))),
      cameras: rows.map((row) => parseEventKey(row.rowKey).cameraId),
    };
  }

  /** The properties of a row; undefined where it is not there. */
  async #get(rowKey: string, select: readonly string[]): Promise<Properties | undefined> {
    return (await this.#read(async () => this.#table.get(this.#partition, rowKey, select)))?.properties;
  }
}
