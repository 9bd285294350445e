import { decodingRow } from '../../storage/row.ts';
import { contributionOf } from '../model/camera-event.ts';
import { type Hour, hourOf, minuteOfHour } from '../model/day.ts';
import { sortableInstant } from '../model/instant.ts';
import type { DayPiece, PartialMinute } from '../model/period.ts';
import { growingTally, type Tally } from '../model/tally.ts';
import { type Bucket, bucketsPart, indexesIn, unionOf } from '../rows/buckets.ts';
import { cameraPart } from '../rows/camera-row.ts';
import { DAY_STATE, dayPart, listsTooShort } from '../rows/day-row.ts';
import { eventFrom } from '../rows/event-row.ts';
import { cameraCounter, type Counter, counterKey, DAY_COUNTER, eventsOfMinute, hourCounter } from '../rows/keys.ts';
import { ByteReader, readTallyBytes } from '../rows/stored-tally.ts';
import { readShard, type ShardReading, type ShardSource } from './read-shard.ts';

// README.md ("Reading") has the rows that each piece of a period is read from. All of one event is in one row of a
// piece, and each row is read as of one moment over all stripes, so no event is ever half visible.

/** The activity of a shard in disjoint pieces of a day, in their order. */
export interface PiecesReading {
  readonly sums: readonly ActivitySum[];
  /** Whether the day is closed: then partial minutes were read from event rows that may be gone. */
  readonly isClosed: boolean;
}

/** The lists that name the indexes in the rows of a stripe. Lists only grow, so a list that was read later names them, too. */
interface StripeNames {
  readonly stripe: number;
  readonly day: { readonly tally: Tally; readonly cameras: readonly string[] };
}

/** Adds up rows of a shard that are in one piece of a day. */
export class ActivitySum {
  readonly #partition: string;
  readonly #tally = growingTally();
  /** Lists of active cameras, which may have the same cameras. */
  readonly #lists: Iterable<string>[] = [];
  /** The active cameras of buckets, as bitsets of each stripe's indexes: ids are looked up only if they are needed. */
  readonly #active = new Map<StripeNames, Uint8Array>();

  constructor(partition: string) {
    this.#partition = partition;
  }

  get tally(): Tally {
    return this.#tally;
  }

  /** Adds a bucket of a counter; undefined: nothing happened in it. @throws {DamagedRow} */
  addBucket(counter: Counter, names: StripeNames, bucket: Bucket | undefined): void {
    if (bucket === undefined) return;
    const row = { partitionKey: this.#partition, rowKey: counterKey(counter, names.stripe) };
    const categories = [...names.day.tally.categories.keys()];
    const tally = decodingRow(row, () => readTallyBytes(new ByteReader(bucket.tally), categories));
    if (tally === undefined) throw listsTooShort(this.#partition, names.stripe);
    this.#tally.add(tally);
    const before = this.#active.get(names);
    this.#active.set(names, before === undefined ? bucket.active : unionOf(before, bucket.active));
  }

  /** Adds a tally, and the cameras that sent its events. */
  addTally(tally: Tally, cameras: Iterable<string>): void {
    this.#tally.add(tally);
    this.#lists.push(cameras);
  }

  /** The cameras; some may come several times. */
  *cameras(): Iterable<string> {
    for (const list of this.#lists) yield* list;
    for (const [names, active] of this.#active) {
      for (const index of this.#indexesOf(names, active)) yield names.day.cameras[index] ?? '';
    }
  }

  countCameras(): number {
    const [first, ...others] = this.#active;
    // With one stripe the indexes are enough. A minute series of a network would look up more than a million ids.
    if (first === undefined || others.length > 0 || this.#lists.length > 0) return new Set(this.cameras()).size;
    return this.#indexesOf(...first).length;
  }

  /** The indexes in a bitset, each of which the stripe's list has. */
  #indexesOf({ stripe, day }: StripeNames, active: Uint8Array): readonly number[] {
    const indexes = indexesIn(active);
    if ((indexes.at(-1) ?? -1) >= day.cameras.length) throw listsTooShort(this.#partition, stripe);
    return indexes;
  }
}

/** The activity of all cameras of a shard in disjoint pieces of the day. @throws {DayHeld | StorageTrouble | DamagedRow} */
export const readPieces = async (source: ShardSource, pieces: readonly DayPiece[]): Promise<PiecesReading> => {
  const minutesByHour = Map.groupBy(
    pieces.flatMap(({ minutes }) => minutes),
    hourOf,
  );
  const requests = Array.from(minutesByHour, ([hour, minutes]) => ({
    counter: hourCounter(hour),
    part: bucketsPart(minutes.map(minuteOfHour)),
  }));
  const day = dayPart(pieces.flatMap(({ hours }) => hours));
  const [events, { stripes, isClosed }] = await withPartialMinutes(source, pieces, undefined, async (earlier) =>
    readShard(source, day, requests, earlier),
  );
  const sums = pieces.map((piece, index) => {
    const sum = new ActivitySum(source.partition);
    for (const stripe of stripes) {
      const { tally, cameras, hours } = stripe.day;
      if (piece.whole) sum.addTally(tally, cameras);
      for (const hour of piece.hours) sum.addBucket(DAY_COUNTER, stripe, hours.get(hour));
      for (const minute of piece.minutes) {
        const counter = hourCounter(hourOf(minute));
        sum.addBucket(counter, stripe, stripe.values.get(counter)?.get(minuteOfHour(minute)));
      }
    }
    for (const { tally, cameras } of events[index] ?? []) sum.addTally(tally, cameras);
    return sum;
  });
  return { sums, isClosed };
};

/** The activity of one camera in disjoint pieces of the day. @throws {DayHeld | StorageTrouble | DamagedRow} */
export const readPiecesOfCamera = async (
  source: ShardSource,
  pieces: readonly DayPiece[],
  cameraId: string,
): Promise<PiecesReading> => {
  const counter = cameraCounter(cameraId);
  const hours = new Set<Hour>(pieces.flatMap((piece) => [...piece.hours, ...piece.minutes.map(hourOf)]));
  const part = cameraPart([...hours]);
  const [events, { stripes, isClosed }] = await withPartialMinutes(source, pieces, cameraId, async (earlier) =>
    readShard(source, DAY_STATE, [{ counter, part }], earlier),
  );
  const rows = stripes.flatMap(({ values }) => values.get(counter) ?? []);
  const sums = pieces.map((piece, index) => {
    const sum = new ActivitySum(source.partition);
    // A tally that exists says that the camera sent an event, even if it was removed.
    const add = (tally: Tally | undefined): void => {
      if (tally !== undefined) sum.addTally(tally, [cameraId]);
    };
    for (const row of rows) {
      if (piece.whole) add(row.tally);
      for (const hour of piece.hours) for (const tally of row.hours.get(hour)?.values() ?? []) add(tally);
      for (const minute of piece.minutes) add(row.hours.get(hourOf(minute))?.get(minuteOfHour(minute)));
    }
    for (const { tally, cameras } of events[index] ?? []) sum.addTally(tally, cameras);
    return sum;
  });
  return { sums, isClosed };
};

/** Reads the partial minutes of pieces and counters at the same time, and the `day` rows after them. */
const withPartialMinutes = async <Day, Value>(
  source: ShardSource,
  pieces: readonly DayPiece[],
  cameraId: string | undefined,
  readCounters: (earlier: Promise<unknown>) => Promise<ShardReading<Day, Value>>,
): Promise<readonly [events: readonly (readonly EventSum[])[], counters: ShardReading<Day, Value>]> => {
  const events = Promise.all(
    pieces.map(async ({ partialMinutes }) =>
      Promise.all(partialMinutes.map(async (partial) => readPartialMinute(source, partial, cameraId))),
    ),
  );
  return Promise.all([events, readCounters(events)]);
};

/** The tally of events, and the cameras that sent them. */
interface EventSum {
  readonly tally: Tally;
  readonly cameras: ReadonlySet<string>;
}

/**
 * Adds up the event rows of a part of a minute, page by page. Each event is as of some moment since the question.
 *
 * @param cameraId undefined: all cameras
 */
const readPartialMinute = async (
  { table, partition, limit }: ShardSource,
  { minute, start, end }: PartialMinute,
  cameraId: string | undefined,
): Promise<EventSum> => {
  const tally = growingTally();
  const cameras = new Set<string>();
  const where = { property: 'ts_utc', from: sortableInstant(start), to: sortableInstant(end) };
  await limit(async () => {
    for await (const rows of table.pages(partition, eventsOfMinute(minute, cameraId), { where })) {
      for (const row of rows) {
        const event = eventFrom(row);
        tally.add(contributionOf(event.facets));
        cameras.add(event.cameraId);
      }
    }
  });
  return { tally, cameras };
};
