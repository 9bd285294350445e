import { decodingRow } from '../../storage/errors.ts';
import { type Hour, hourOf, minuteOfHour } from '../model/day.ts';
import type { DayPiece } from '../model/period.ts';
import { growingTally, sumOf, type Tally } from '../model/tally.ts';
import { indexesIn, unionOf } from '../rows/bitset.ts';
import { type Bucket, bucketsPart } from '../rows/buckets.ts';
import { cameraPart } from '../rows/camera-row.ts';
import { type CameraList, DAY_STATE, dayPart, listsTooShort } from '../rows/day-row.ts';
import { cameraCounter, type Counter, counterKey, DAY_COUNTER, hourCounter } from '../rows/keys.ts';
import { ByteReader, TallySum } from '../rows/tally-bytes.ts';
import { type EventSum, readPartialMinute } from './partial-minute.ts';
import { readShard, type ShardReading, type ShardSource } from './read-shard.ts';

// Which rows a piece of a period is read from, and what that costs, is in the README, under Reading. All of one event is in one row of a
// piece, and each row is read as of one moment over all stripes, so no event is ever half visible.

/** What a shard did in disjoint pieces of a day, in their order. */
export interface PiecesReading {
  readonly sums: readonly ActivitySum[];
  /** Whether the day is closed: then partial minutes were read from event rows that may be gone. */
  readonly isClosed: boolean;
}

/** The sum of one stripe by the indexes of its categories and cameras, and their names. */
interface StripeSum {
  readonly stripe: number;
  readonly categories: readonly string[];
  readonly ids: readonly string[];
  readonly tally: TallySum;
  active: Uint8Array;
}

/**
 * Adds up what the rows of a shard say of one piece of a day: of each stripe by the indexes of cameras and categories, which are named
 * last. Lists are only appended to, so lists that were read later than the rows do as well.
 */
export class ActivitySum {
  readonly #partition: string;
  readonly #stripes: ReadonlyMap<number, StripeSum>;
  /** The sum by name. */
  readonly #named = growingTally();
  readonly #cameras = new Set<string>();

  constructor(
    partition: string,
    stripes: readonly {
      readonly stripe: number;
      readonly day: { readonly tally: Tally; readonly cameras: CameraList };
    }[] = [],
  ) {
    this.#partition = partition;
    this.#stripes = new Map(
      stripes.map(({ stripe, day: { tally, cameras } }) => [
        stripe,
        {
          stripe,
          categories: [...tally.categories.keys()],
          ids: cameras.ids,
          tally: new TallySum(),
          active: new Uint8Array(),
        },
      ]),
    );
  }

  /** Adds a bucket of a counter; undefined: nothing happened in it. @throws {DamagedRow} */
  addBucket(counter: Counter, stripe: number, bucket: Bucket | undefined): void {
    const sum = this.#stripes.get(stripe);
    if (sum === undefined || bucket === undefined) return;
    const row = { partitionKey: this.#partition, rowKey: counterKey(counter, stripe) };
    decodingRow(row, () => sum.tally.add(new ByteReader(bucket.tally)));
    sum.active = unionOf(sum.active, bucket.active);
  }

  /** Adds a tally, and the cameras that sent its events. */
  addTally(tally: Tally, cameras: Iterable<string>): void {
    this.#named.add(tally);
    for (const cameraId of cameras) this.#cameras.add(cameraId);
  }

  tally(): Tally {
    const ofStripes = Array.from(this.#stripes.values(), ({ stripe, tally, categories }) => {
      const named = tally.named(categories);
      if (named === undefined) throw listsTooShort(this.#partition, stripe);
      return named;
    });
    return sumOf([...ofStripes, this.#named]);
  }

  /** The distinct cameras. Looks up their ids: ask only if they are needed. */
  cameras(): ReadonlySet<string> {
    const cameras = new Set(this.#cameras);
    for (const stripe of this.#stripes.values()) {
      for (const index of this.#indexesOf(stripe)) cameras.add(stripe.ids[index] ?? '');
    }
    return cameras;
  }

  countCameras(): number {
    const [first, ...others] = this.#stripes.values();
    // With one stripe the indexes are enough. A minute series of a network would look up more than a million ids.
    if (first === undefined || others.length > 0 || this.#cameras.size > 0) return this.cameras().size;
    return this.#indexesOf(first).length;
  }

  /** The indexes of the cameras of a stripe, each of which its list has. */
  #indexesOf({ stripe, active, ids }: StripeSum): readonly number[] {
    const indexes = indexesIn(active);
    if ((indexes.at(-1) ?? -1) >= ids.length) throw listsTooShort(this.#partition, stripe);
    return indexes;
  }
}

/** What all cameras of a shard did in disjoint pieces of the day. @throws {DayHeld | StorageTrouble | DamagedRow} */
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
    const sum = new ActivitySum(source.partition, stripes);
    for (const { stripe, day: ofDay, values } of stripes) {
      if (piece.whole) sum.addTally(ofDay.tally, ofDay.cameras.ids);
      for (const hour of piece.hours) sum.addBucket(DAY_COUNTER, stripe, ofDay.hours.get(hour));
      for (const minute of piece.minutes) {
        const counter = hourCounter(hourOf(minute));
        sum.addBucket(counter, stripe, values.get(counter)?.get(minuteOfHour(minute)));
      }
    }
    for (const { tally, cameras } of events[index] ?? []) sum.addTally(tally, cameras);
    return sum;
  });
  return { sums, isClosed };
};

/** What one camera did in disjoint pieces of the day. @throws {DayHeld | StorageTrouble | DamagedRow} */
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

/** Reads the partial minutes of pieces beside counters, and before the `day` rows. */
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
