import { hourOfMinute } from '../model/day.ts';
import type { DayPiece } from '../model/period.ts';
import { EMPTY_TALLY, type Tally } from '../model/tally.ts';
import { CAMERA_DAY_PROPERTIES, cameraProperties, cameraRowFrom, minutesOf } from '../rows/camera-row.ts';
import { decodingRow } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import { bucketProperties, bucketsFrom, type Bucket } from '../rows/hour-rows.ts';
import { cameraKey, hourKey, HOURS_KEY } from '../rows/keys.ts';
import { ActivitySum } from './activity-sum.ts';
import { readSamples, samplesRequests, type PartialMinuteReading } from './samples.ts';
import { namesIn, readShard, type ReadingSource, type RowRequest, type StripeReading } from './shard-reading.ts';

/** What happened in a piece of a day, in one shard. */
export interface PieceActivity {
  readonly tally: Tally;
  /** The distinct cameras that sent events. Looks up their ids: ask only if they are needed. */
  readonly cameras: () => ReadonlySet<string>;
  /** How many cameras those are. */
  readonly countCameras: () => number;
}

/** What a period covers of a day that it does not cover as a whole. */
export type PartOfDay = Extract<DayPiece, { whole: false }>;

/** A bucket row to read, and the part of the day that each of the buckets wanted belongs to. */
type BucketRows = ReadonlyMap<string, ReadonlyMap<number, PartOfDay>>;

/**
 * Reads pieces of periods from the rows of one shard of a day: a whole day from its `total` rows (or a camera's rows), whole hours
 * and minutes from the `hours` and `hour` rows (or the camera's rows), and partial minutes from the `minute` rows: the sums over
 * the shard's stripes. All of one event is in one row of a piece, and each row is read as of one moment over all stripes, so no
 * event is ever half visible. All is read by key, so that the number of reads depends on neither the events nor the cameras; and
 * every row is read once, however many parts of the day it serves. Event rows are read only for seconds that have overflowed.
 */
export class ShardReader {
  readonly #source: ReadingSource;

  constructor(source: ReadingSource) {
    this.#source = source;
  }

  /** What all cameras of the shard did in disjoint pieces of the day, in their order. @throws {StorageTrouble | DamagedRow} */
  async pieces(pieces: readonly DayPiece[]): Promise<readonly PieceActivity[]> {
    const parts = partsOf(pieces);
    return parts === undefined ? [await this.#day()] : this.#parts(parts);
  }

  /** What one camera, which is in the shard, did in disjoint pieces of the day. @throws {StorageTrouble | DamagedRow} */
  async piecesOfCamera(pieces: readonly DayPiece[], cameraId: string): Promise<readonly PieceActivity[]> {
    const parts = partsOf(pieces);
    return parts === undefined ? [await this.#dayOfCamera(cameraId)] : this.#partsOfCamera(parts, cameraId);
  }

  async #day(): Promise<PieceActivity> {
    const stripes = await readShard(this.#source, [], 'cameras');
    const sum = new ActivitySum(this.#source.partition, []);
    for (const { total } of stripes) sum.addTally(total?.tally ?? EMPTY_TALLY, total?.cameras?.ids);
    return activityOf(sum);
  }

  async #parts(parts: readonly PartOfDay[]): Promise<readonly PieceActivity[]> {
    const buckets = bucketRowsOf(parts);
    const partialMinutes = parts.flatMap((part) => part.partialMinutes);
    const stripes = await readShard(
      this.#source,
      [
        ...Array.from(buckets, ([key, wanted]) => ({ key, select: bucketProperties([...wanted.keys()]) })),
        ...samplesRequests(partialMinutes),
      ],
      'cameras',
    );
    const names = stripes.map(namesIn);
    const sums = new Map(parts.map((part) => [part, new ActivitySum(this.#source.partition, names)]));
    for (const { stripe, rows } of stripes) {
      for (const [key, wanted] of buckets) {
        addBuckets(rows.get(key), (bucket, number) => {
          const part = wanted.get(number);
          if (part !== undefined) sums.get(part)?.addBucket(stripe, bucket);
        });
      }
    }
    await Promise.all(
      Array.from(sums, async ([part, sum]) => {
        for (const { samples, events } of await this.#samples(stripes, part)) {
          for (const [stripe, own] of samples) for (const sample of own) sum.addSample(stripe, sample);
          for (const { tally, cameraId } of events) sum.addTally(tally, [cameraId]);
        }
      }),
    );
    return Array.from(sums.values(), activityOf);
  }

  async #dayOfCamera(cameraId: string): Promise<PieceActivity> {
    const key = cameraKey(cameraId);
    const stripes = await readShard(this.#source, [{ key, select: CAMERA_DAY_PROPERTIES }], 'state');
    const sum = new ActivitySum(this.#source.partition, []);
    for (const { rows } of stripes) {
      const row = rows.get(key);
      if (row !== undefined) sum.addTally(cameraRowFrom(row).tally);
    }
    return activityOfCamera(sum, cameraId);
  }

  async #partsOfCamera(parts: readonly PartOfDay[], cameraId: string): Promise<readonly PieceActivity[]> {
    const hours = new Set(parts.flatMap((part) => part.hours));
    const hoursOfMinutes = new Set(parts.flatMap((part) => part.minutes.map(hourOfMinute)));
    const request: RowRequest = { key: cameraKey(cameraId), select: cameraProperties(hours, hoursOfMinutes) };
    const sampled = samplesRequests(parts.flatMap((part) => part.partialMinutes));
    const stripes = await readShard(this.#source, [request, ...sampled], sampled.length === 0 ? 'state' : 'tally');
    const rows = stripes.flatMap(({ stripe, rows: own }) => {
      const row = own.get(request.key);
      if (row === undefined) return [];
      const camera = cameraRowFrom(row);
      const minutes = decodingRow(
        row,
        () => new Map(Array.from(hoursOfMinutes, (hour) => [hour, minutesOf(camera, hour)])),
      );
      return [{ stripe, camera, minutes }];
    });
    const indexes = await this.#indexesOf(
      cameraId,
      stripes,
      new Map(rows.map(({ stripe, camera }) => [stripe, camera.index])),
      sampled,
    );
    return Promise.all(
      parts.map(async (part): Promise<PieceActivity> => {
        const sum = new ActivitySum(this.#source.partition, stripes.map(namesIn));
        for (const { samples, events } of await this.#samples(stripes, part, cameraId)) {
          for (const [stripe, own] of samples) {
            const index = indexes.get(stripe);
            for (const sample of own) if (sample.cameraIndex === index) sum.addSample(stripe, sample);
          }
          for (const { tally } of events) sum.addTally(tally);
        }
        for (const { camera, minutes } of rows) {
          for (const hour of part.hours) sum.addTally(camera.hours.get(hour)?.tally ?? EMPTY_TALLY);
          for (const minute of part.minutes) {
            sum.addTally(minutes.get(hourOfMinute(minute))?.get(minute % 60) ?? EMPTY_TALLY);
          }
        }
        return activityOfCamera(sum, cameraId);
      }),
    );
  }

  /**
   * The camera's index in each stripe, from its row there. A stripe may have samples of a camera without a row: the row came after it
   * was looked for and before the samples were read, or it was damaged and set aside. Then the camera list tells.
   */
  async #indexesOf(
    cameraId: string,
    stripes: readonly StripeReading[],
    known: ReadonlyMap<number, number>,
    sampled: readonly RowRequest[],
  ): Promise<ReadonlyMap<number, number>> {
    const isKnown = stripes.every(({ stripe, rows }) => known.has(stripe) || !sampled.some(({ key }) => rows.has(key)));
    if (isKnown) return known;
    const indexes = new Map(known);
    for (const { stripe, total } of await readShard(this.#source, [], 'cameras')) {
      const index = total?.cameras?.indexes.get(cameraId);
      if (index !== undefined && !known.has(stripe)) indexes.set(stripe, index);
    }
    return indexes;
  }

  async #samples(
    stripes: readonly StripeReading[],
    { partialMinutes }: PartOfDay,
    cameraId?: string,
  ): Promise<readonly PartialMinuteReading[]> {
    return Promise.all(partialMinutes.map(async (partial) => readSamples(this.#source, stripes, partial, cameraId)));
  }
}

const activityOf = (sum: ActivitySum): PieceActivity => ({
  tally: sum.tally(),
  cameras: () => sum.cameras(),
  countCameras: () => sum.countCameras(),
});

/** What one camera did, which is active if it sent events. */
const activityOfCamera = (sum: ActivitySum, cameraId: string): PieceActivity => {
  const tally = sum.tally();
  const cameras: ReadonlySet<string> = new Set(tally.events > 0 ? [cameraId] : []);
  return { tally, cameras: () => cameras, countCameras: () => cameras.size };
};

/** The parts that pieces of one day are; undefined where the piece is the whole day. */
const partsOf = (pieces: readonly DayPiece[]): readonly PartOfDay[] | undefined => {
  const parts = pieces.flatMap((piece) => (piece.whole ? [] : [piece]));
  return parts.length < pieces.length ? undefined : parts;
};

/** The rows of hours and minutes that parts need. */
const bucketRowsOf = (parts: readonly PartOfDay[]): BucketRows => {
  const rows = new Map<string, Map<number, PartOfDay>>();
  const want = (key: string, number: number, part: PartOfDay): void => {
    const wanted = rows.get(key) ?? new Map<number, PartOfDay>();
    rows.set(key, wanted.set(number, part));
  };
  for (const part of parts) {
    for (const hour of part.hours) want(HOURS_KEY, hour, part);
    for (const minute of part.minutes) want(hourKey(hourOfMinute(minute)), minute % 60, part);
  }
  return rows;
};

/** Hands over the buckets that were read of a row. */
const addBuckets = (row: StoredRow | undefined, add: (bucket: Bucket, number: number) => void): void => {
  if (row === undefined) return;
  decodingRow(row, () => {
    for (const [number, bucket] of bucketsFrom(row)) add(bucket, number);
  });
};
