import { hourOfMinute } from '../model/day.ts';
import type { DayPiece } from '../model/period.ts';
import { EMPTY_TALLY, sumOf } from '../model/tally.ts';
import { CAMERA_DAY_PROPERTIES, cameraProperties, cameraRowFrom, minutesOf } from '../rows/camera-row.ts';
import { decodingRow } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import { bucketProperties, bucketsFrom, type Bucket } from '../rows/hour-rows.ts';
import { cameraKey, hourKey, HOURS_KEY } from '../rows/keys.ts';
import { knownCameras, PartSum, type PieceActivity } from './part-sum.ts';
import { readSamples, samplesRequests, type PartialMinuteReading } from './samples.ts';
import { readShard, type ReadingSource, type RowRequest, type StripeReading } from './shard-reading.ts';

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
    return {
      tally: sumOf(stripes.map(({ total }) => total?.tally ?? EMPTY_TALLY)),
      ...knownCameras(stripes.flatMap(({ total }) => total?.cameras?.ids ?? [])),
    };
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
    const sums = new Map(parts.map((part) => [part, new PartSum(this.#source.partition, stripes)]));
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
        for (const reading of await this.#samples(stripes, part)) sum.addSamples(reading);
      }),
    );
    return Array.from(sums.values(), (sum) => sum.activity());
  }

  async #dayOfCamera(cameraId: string): Promise<PieceActivity> {
    const key = cameraKey(cameraId);
    const stripes = await readShard(this.#source, [{ key, select: CAMERA_DAY_PROPERTIES }], 'state');
    const tallies = stripes.flatMap(({ rows }) => {
      const row = rows.get(key);
      return row === undefined ? [] : [cameraRowFrom(row).tally];
    });
    return { tally: sumOf(tallies), ...knownCameras(tallies.length === 0 ? [] : [cameraId]) };
  }

  async #partsOfCamera(parts: readonly PartOfDay[], cameraId: string): Promise<readonly PieceActivity[]> {
    const hours = new Set(parts.flatMap((part) => part.hours));
    const hoursOfMinutes = new Set(parts.flatMap((part) => part.minutes.map(hourOfMinute)));
    const request: RowRequest = { key: cameraKey(cameraId), select: cameraProperties(hours, hoursOfMinutes) };
    const sampled = samplesRequests(parts.flatMap((part) => part.partialMinutes));
    const stripes = await readShard(this.#source, [request, ...sampled], sampled.length === 0 ? 'state' : 'tally');
    const stored = await this.#camerasOf(stripes, request, sampled);
    const rows = Array.from(stored, ([stripe, row]) => {
      const camera = cameraRowFrom(row);
      const minutes = decodingRow(
        row,
        () => new Map(Array.from(hoursOfMinutes, (hour) => [hour, minutesOf(camera, hour)])),
      );
      return { stripe, camera, minutes };
    });
    return Promise.all(
      parts.map(async (part): Promise<PieceActivity> => {
        const sum = new PartSum(this.#source.partition, stripes);
        for (const { samples, events } of await this.#samples(stripes, part, cameraId)) {
          const own = rows.map(
            ({ stripe, camera }) =>
              [stripe, (samples.get(stripe) ?? []).filter(({ cameraIndex }) => cameraIndex === camera.index)] as const,
          );
          sum.addSamples({ samples: new Map(own), events });
        }
        const whole = rows.map(({ camera, minutes }) =>
          sumOf([
            ...part.hours.map((hour) => camera.hours.get(hour)?.tally ?? EMPTY_TALLY),
            ...part.minutes.map((minute) => minutes.get(hourOfMinute(minute))?.get(minute % 60) ?? EMPTY_TALLY),
          ]),
        );
        const tally = sumOf([sum.tally(), ...whole]);
        return { tally, ...knownCameras(tally.events > 0 ? [cameraId] : []) };
      }),
    );
  }

  /**
   * The camera's row in each stripe. A row that was not there when it was read, beside the samples of its stripe, may have come
   * before these: without the camera's index its samples cannot be told. Then the rows are read again, after the samples.
   */
  async #camerasOf(
    stripes: readonly StripeReading[],
    request: RowRequest,
    sampled: readonly RowRequest[],
  ): Promise<ReadonlyMap<number, StoredRow>> {
    const found = (readings: readonly StripeReading[]): ReadonlyMap<number, StoredRow> =>
      new Map(
        readings.flatMap(({ stripe, rows }): [number, StoredRow][] => {
          const row = rows.get(request.key);
          return row === undefined ? [] : [[stripe, row]];
        }),
      );
    const isUncertain = stripes.some(({ rows }) => !rows.has(request.key) && sampled.some(({ key }) => rows.has(key)));
    if (!isUncertain || this.#source.striped.get(this.#source.partition) === 1) return found(stripes);
    return found(await readShard(this.#source, [request], 'state'));
  }

  async #samples(
    stripes: readonly StripeReading[],
    { partialMinutes }: PartOfDay,
    cameraId?: string,
  ): Promise<readonly PartialMinuteReading[]> {
    return Promise.all(partialMinutes.map(async (partial) => readSamples(this.#source, stripes, partial, cameraId)));
  }
}

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
