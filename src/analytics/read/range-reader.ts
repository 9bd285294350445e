import { decodingRow } from '../../storage/errors.ts';
import { contributionOf } from '../model/camera-event.ts';
import { hourOfMinute, microsecondOfMinute } from '../model/day.ts';
import { instantFrom, sortableInstant } from '../model/instant.ts';
import type { DayPiece, PartialMinute } from '../model/period.ts';
import { GrowingTally, sumOf, type Tally } from '../model/tally.ts';
import { indexesIn, unionOf } from '../rows/bitset.ts';
import { type Bucket, bucketProperties, bucketsFrom } from '../rows/buckets.ts';
import { cameraProperties, cameraRowFrom, minutesOf } from '../rows/camera-row.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { cameraKey, DAY_KEY, eventsOfMinute, hourKey, parseEventKey } from '../rows/keys.ts';
import { minuteRowFrom, overflowedSecondsOf, sampleRows, samplesOf, SECOND, secondOf } from '../rows/minute-row.ts';
import type { StoredSample } from '../rows/minute-row.ts';
import { listsTooShort } from '../rows/stripe-row.ts';
import { inStripe, type RowRequest } from '../rows/stripes.ts';
import { ByteReader, TallySum } from '../rows/tally-bytes.ts';
import { demandCurrentStill, readShard, type ReadingSource, type StripeReading } from './counter-page.ts';

// Which rows a piece of a period is read from, and what that costs, is in the README, under Reading. All of one event is in one row of a
// piece, and each row is read as of one moment over all stripes, so no event is ever half visible.

/** The sum of one stripe by the indexes of its categories and cameras, and their names. */
interface StripeSum {
  readonly stripe: number;
  readonly categories: readonly string[];
  readonly ids: readonly string[];
  readonly tally: TallySum;
  readonly cameras: Set<number>;
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
  readonly #named = new GrowingTally();
  readonly #cameras = new Set<string>();

  constructor(partition: string, stripes: readonly StripeReading[]) {
    this.#partition = partition;
    this.#stripes = new Map(
      stripes.map(({ stripe, categories, day }) => {
        const { ids } = day.cameras;
        const sum = { tally: new TallySum(), cameras: new Set<number>(), active: new Uint8Array() };
        return [stripe, { stripe, categories, ids, ...sum }];
      }),
    );
  }

  /** Adds a bucket; undefined: nothing happened in it. @throws {DecodeError} */
  addBucket(stripe: number, bucket: Bucket | undefined): void {
    const own = this.#stripes.get(stripe);
    if (own === undefined || bucket === undefined) return;
    own.tally.add(new ByteReader(bucket.tally));
    own.active = unionOf(own.active, bucket.active);
  }

  /** @throws {DecodeError} */
  addSample(stripe: number, { tally, cameraIndex }: StoredSample): void {
    const own = this.#stripes.get(stripe);
    own?.tally.add(new ByteReader(tally));
    own?.cameras.add(cameraIndex);
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
    for (const own of this.#stripes.values()) {
      for (const index of this.#indexesOf(own)) cameras.add(own.ids[index] ?? '');
    }
    return cameras;
  }

  countCameras(): number {
    const [only, ...others] = this.#stripes.values();
    // With one stripe the indexes are enough. A minute series of a network would look up more than a million ids.
    if (only === undefined || others.length > 0 || this.#cameras.size > 0) return this.cameras().size;
    return this.#indexesOf(only).size;
  }

  /** The indexes of the cameras of a stripe, each of which its list has. */
  #indexesOf({ stripe, cameras, active, ids }: StripeSum): ReadonlySet<number> {
    const indexes = new Set([...indexesIn(active), ...cameras]);
    for (const index of indexes) if (index >= ids.length) throw listsTooShort(this.#partition, stripe);
    return indexes;
  }
}

/** What all cameras of a shard did in disjoint pieces of the day, in their order. @throws {DayMoved} */
export const readPieces = async (
  source: ReadingSource,
  pieces: readonly DayPiece[],
): Promise<readonly ActivitySum[]> => {
  const minutesByHour = Map.groupBy(
    pieces.flatMap(({ minutes }) => minutes),
    hourOfMinute,
  );
  const requests = Array.from(minutesByHour, ([hour, minutes]) => ({
    key: hourKey(hour),
    select: bucketProperties(minutes.map((minute) => minute % 60)),
  }));
  const hours = pieces.flatMap((piece) => piece.hours);
  const sampled = samplesRequests(pieces.flatMap(({ partialMinutes }) => partialMinutes));
  const stripes = await readShard(source, [...requests, ...sampled], { tally: true, cameras: true, hours });
  const decoded = stripes.map(({ stripe, day, rows }) => {
    const row = { partitionKey: source.partition, rowKey: inStripe(DAY_KEY, stripe) };
    const ofHours = Array.from(minutesByHour.keys(), (hour) => [hour, rows.get(hourKey(hour))] as const);
    const minutesIn = ofHours.flatMap(([hour, stored]) =>
      stored === undefined ? [] : [[hour, { row: stored, buckets: bucketsFrom(stored) }] as const],
    );
    return { stripe, day, row, minutesIn: new Map(minutesIn) };
  });
  return Promise.all(
    pieces.map(async (piece) => {
      const sum = new ActivitySum(source.partition, stripes);
      for (const { stripe, day, row, minutesIn } of decoded) {
        if (piece.whole) sum.addTally(day.tally, day.cameras.ids);
        for (const hour of piece.hours) decodingRow(row, () => sum.addBucket(stripe, day.hours.get(hour)));
        for (const minute of piece.minutes) {
          const own = minutesIn.get(hourOfMinute(minute));
          if (own !== undefined) decodingRow(own.row, () => sum.addBucket(stripe, own.buckets.get(minute % 60)));
        }
      }
      await Promise.all(piece.partialMinutes.map(async (partial) => addSamples(sum, source, stripes, partial)));
      return sum;
    }),
  );
};

/** What one camera, which is in the shard, did in disjoint pieces of the day. @throws {DayMoved} */
export const readPiecesOfCamera = async (
  source: ReadingSource,
  pieces: readonly DayPiece[],
  cameraId: string,
): Promise<readonly ActivitySum[]> => {
  const hours = new Set(pieces.flatMap((piece) => piece.hours));
  const hoursOfMinutes = new Set(pieces.flatMap(({ minutes }) => minutes.map(hourOfMinute)));
  const request: RowRequest = { key: cameraKey(cameraId), select: cameraProperties(hours, hoursOfMinutes) };
  const sampled = samplesRequests(pieces.flatMap(({ partialMinutes }) => partialMinutes));
  // A minute row may have samples of a camera whose row came after the read of the camera's row: the list has its index.
  const detail = { tally: sampled.length > 0, cameras: sampled.length > 0, hours: [] };
  const stripes = await readShard(source, [request, ...sampled], detail);
  const rows = stripes.flatMap(({ rows: own }) => {
    const row = own.get(request.key);
    if (row === undefined) return [];
    const camera = cameraRowFrom(row);
    const minutes = decodingRow(row, () =>
      Array.from(hoursOfMinutes, (hour) => [hour, minutesOf(camera, hour)] as const),
    );
    return [{ camera, minutes: new Map(minutes) }];
  });
  return Promise.all(
    pieces.map(async (piece) => {
      const sum = new ActivitySum(source.partition, stripes);
      await Promise.all(
        piece.partialMinutes.map(async (partial) => addSamples(sum, source, stripes, partial, cameraId)),
      );
      for (const { camera, minutes } of rows) {
        for (const tally of [
          piece.whole ? camera.tally : undefined,
          ...piece.hours.map((hour) => camera.hours.get(hour)?.tally),
          ...piece.minutes.map((minute) => minutes.get(hourOfMinute(minute))?.get(minute % 60)),
        ]) {
          if (tally !== undefined) sum.addTally(tally, tally.events > 0 ? [cameraId] : []);
        }
      }
      return sum;
    }),
  );
};

const microsecondsOf = ({ start, end }: PartialMinute): readonly [from: number, to: number] => [
  microsecondOfMinute(start),
  microsecondOfMinute(end),
];

/** The rows that hold the samples of partial minutes. */
const samplesRequests = (partialMinutes: readonly PartialMinute[]): readonly RowRequest[] =>
  partialMinutes.flatMap((partial) => sampleRows(partial.minute, ...microsecondsOf(partial)));

/**
 * Adds the samples of a partial minute to a sum, out of the rows that were read. A second that has overflowed in any stripe is read from
 * its event rows, for all stripes: only such seconds, because of a closed day no other event rows are left.
 *
 * @param cameraId undefined: all cameras
 */
const addSamples = async (
  sum: ActivitySum,
  source: ReadingSource,
  stripes: readonly StripeReading[],
  partial: PartialMinute,
  cameraId?: string,
): Promise<void> => {
  const minuteRows = stripes.flatMap(({ stripe, day, rows }) =>
    samplesRequests([partial]).flatMap(({ key }) => {
      const stored = rows.get(key);
      const only = cameraId === undefined ? undefined : (day.cameras.indexes.get(cameraId) ?? -1);
      return stored === undefined ? [] : [{ stripe, stored, row: minuteRowFrom(stored), only }];
    }),
  );
  const overflowed = new Set(minuteRows.flatMap(({ row }) => overflowedSecondsOf(row)));
  for (const { stripe, stored, row, only } of minuteRows) {
    decodingRow(stored, () => {
      for (const sample of samplesOf(row, ...microsecondsOf(partial), overflowed)) {
        if (only === undefined || sample.cameraIndex === only) sum.addSample(stripe, sample);
      }
    });
  }
  if (overflowed.size === 0) return;
  for (const { cameraId: id, tally } of await readEvents(source, partial, overflowed, cameraId)) {
    sum.addTally(tally, [id]);
  }
  await demandCurrentStill(source);
};

/** What the events in some seconds of a partial minute count. */
const readEvents = async (
  { table, partition, read }: ReadingSource,
  { minute, start, end }: PartialMinute,
  seconds: ReadonlySet<number>,
  cameraId: string | undefined,
): Promise<readonly { readonly cameraId: string; readonly tally: Tally }[]> => {
  // One query from the first of them to the last. A condition for each second would be more than a filter may have.
  const startOfMinute = start - BigInt(microsecondOfMinute(start));
  const first = startOfMinute + BigInt(Math.min(...seconds) * SECOND);
  const last = startOfMinute + BigInt((Math.max(...seconds) + 1) * SECOND - 1);
  const where = {
    property: 'ts_utc',
    from: sortableInstant(instantFrom(first > start ? first : start)),
    to: sortableInstant(instantFrom(last < end ? last : end)),
  };
  const rows = await read(async () => table.all(partition, eventsOfMinute(minute, cameraId), { where }));
  return rows.flatMap((row) => {
    const { ts, facets } = eventRowFrom(row);
    if (!seconds.has(secondOf(microsecondOfMinute(ts)))) return [];
    return [{ cameraId: decodingRow(row, () => parseEventKey(row.rowKey).cameraId), tally: contributionOf(facets) }];
  });
};
