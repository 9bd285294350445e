import { decodingRow } from '../../storage/errors.ts';
import { contributionOf } from '../model/camera-event.ts';
import { hourOfMinute, microsecondOfMinute } from '../model/day.ts';
import { instantFrom, sortableInstant } from '../model/instant.ts';
import type { DayPiece, PartialMinute } from '../model/period.ts';
import { EMPTY_TALLY, type Tally } from '../model/tally.ts';
import { cameraProperties, cameraRowFrom, minutesOf } from '../rows/camera-row.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { bucketProperties, bucketsFrom } from '../rows/hour-rows.ts';
import { cameraKey, eventsOfMinute, hourKey, HOURS_KEY, parseEventKey } from '../rows/keys.ts';
import { minuteRowFrom, overflowedSecondsOf, sampleRows, samplesOf, SECOND, secondOf } from '../rows/minute-row.ts';
import type { RowRequest } from '../rows/stripes.ts';
import { ActivitySum } from './activity-sum.ts';
import { namesIn, readShard, type ReadingSource, type StripeReading } from './shard-reading.ts';

// Which rows a piece of a period is read from, and what that costs, is in the README, under Reading. All of one event is in one row of a
// piece, and each row is read as of one moment over all stripes, so no event is ever half visible.

/** What happened in a piece of a day, in one shard. */
export type PieceActivity = Pick<ActivitySum, 'tally' | 'cameras' | 'countCameras'>;

/** What all cameras of a shard did in disjoint pieces of the day, in their order. @throws {StorageTrouble | DamagedRow} */
export const readPieces = async (
  source: ReadingSource,
  pieces: readonly DayPiece[],
): Promise<readonly PieceActivity[]> => {
  const buckets = bucketRowsOf(pieces);
  const requests = [
    ...Array.from(buckets, ([key, wanted]) => ({ key, select: bucketProperties([...wanted.keys()]) })),
    ...samplesRequests(pieces.flatMap(({ partialMinutes }) => partialMinutes)),
  ];
  const stripes = await readShard(source, requests, 'cameras');
  const names = stripes.map(namesIn);
  const sums = new Map(pieces.map((piece) => [piece, new ActivitySum(source.partition, names)]));
  for (const { stripe, rows } of stripes) {
    for (const [key, wanted] of buckets) {
      const row = rows.get(key);
      if (row === undefined) continue;
      decodingRow(row, () => {
        for (const [number, bucket] of bucketsFrom(row)) {
          const piece = wanted.get(number);
          if (piece !== undefined) sums.get(piece)?.addBucket(stripe, bucket);
        }
      });
    }
  }
  return Promise.all(
    Array.from(sums, async ([piece, sum]): Promise<PieceActivity> => {
      if (piece.whole) for (const { total } of stripes) if (total) sum.addTally(total.tally, total.cameras.ids);
      await Promise.all(piece.partialMinutes.map(async (partial) => addSamples(sum, source, stripes, partial)));
      return sum;
    }),
  );
};

/** What one camera, which is in the shard, did in disjoint pieces of the day. @throws {StorageTrouble | DamagedRow} */
export const readPiecesOfCamera = async (
  source: ReadingSource,
  pieces: readonly DayPiece[],
  cameraId: string,
): Promise<readonly PieceActivity[]> => {
  const hours = new Set(pieces.flatMap((piece) => piece.hours));
  const hoursOfMinutes = new Set(pieces.flatMap(({ minutes }) => minutes.map(hourOfMinute)));
  const request: RowRequest = { key: cameraKey(cameraId), select: cameraProperties(hours, hoursOfMinutes) };
  const sampled = samplesRequests(pieces.flatMap(({ partialMinutes }) => partialMinutes));
  const stripes = await readShard(source, [request, ...sampled], sampled.length === 0 ? 'state' : 'tally');
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
  const known = new Map(rows.map(({ stripe, camera }) => [stripe, camera.index]));
  const indexes = await indexesOf(source, cameraId, stripes, known, sampled);
  return Promise.all(
    pieces.map(async (piece): Promise<PieceActivity> => {
      const sum = new ActivitySum(source.partition, stripes.map(namesIn));
      const only = { cameraId, indexes };
      await Promise.all(piece.partialMinutes.map(async (partial) => addSamples(sum, source, stripes, partial, only)));
      for (const { camera, minutes } of rows) {
        if (piece.whole) sum.addTally(camera.tally);
        for (const hour of piece.hours) sum.addTally(camera.hours.get(hour)?.tally ?? EMPTY_TALLY);
        for (const minute of piece.minutes) {
          sum.addTally(minutes.get(hourOfMinute(minute))?.get(minute % 60) ?? EMPTY_TALLY);
        }
      }
      const tally = sum.tally();
      const cameras: ReadonlySet<string> = new Set(tally.events > 0 ? [cameraId] : []);
      return { tally: () => tally, cameras: () => cameras, countCameras: () => cameras.size };
    }),
  );
};

/**
 * The camera's index in each stripe, from its row there. A stripe may have samples of a camera without a row: the row came after it
 * was looked for and before the samples were read, or it was damaged and set aside. Then the camera list tells.
 */
const indexesOf = async (
  source: ReadingSource,
  cameraId: string,
  stripes: readonly StripeReading[],
  known: ReadonlyMap<number, number>,
  sampled: readonly RowRequest[],
): Promise<ReadonlyMap<number, number>> => {
  const isKnown = stripes.every(({ stripe, rows }) => known.has(stripe) || !sampled.some(({ key }) => rows.has(key)));
  if (isKnown) return known;
  const listed = (await readShard(source, [], 'cameras')).flatMap(({ stripe, total }): [number, number][] => {
    const index = total?.cameras.indexes.get(cameraId);
    return index === undefined ? [] : [[stripe, index]];
  });
  return new Map([...listed, ...known]);
};

/** The rows of hours and minutes that pieces need, and the piece that each of the buckets wanted belongs to. */
const bucketRowsOf = (pieces: readonly DayPiece[]): ReadonlyMap<string, ReadonlyMap<number, DayPiece>> => {
  const rows = new Map<string, Map<number, DayPiece>>();
  const want = (key: string, number: number, piece: DayPiece): void => {
    const wanted = rows.get(key) ?? new Map<number, DayPiece>();
    rows.set(key, wanted.set(number, piece));
  };
  for (const piece of pieces) {
    for (const hour of piece.hours) want(HOURS_KEY, hour, piece);
    for (const minute of piece.minutes) want(hourKey(hourOfMinute(minute)), minute % 60, piece);
  }
  return rows;
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
 * @param only one camera, and its index in each stripe; undefined: all cameras
 * @throws {StorageTrouble | DamagedRow}
 */
const addSamples = async (
  sum: ActivitySum,
  source: ReadingSource,
  stripes: readonly StripeReading[],
  partial: PartialMinute,
  only?: { readonly cameraId: string; readonly indexes: ReadonlyMap<number, number> },
): Promise<void> => {
  const keys = samplesRequests([partial]).map(({ key }) => key);
  const minuteRows = stripes.flatMap(({ stripe, rows }) =>
    keys.flatMap((key) => {
      const stored = rows.get(key);
      return stored === undefined ? [] : [{ stripe, stored, row: minuteRowFrom(stored) }];
    }),
  );
  const overflowed = new Set(minuteRows.flatMap(({ row }) => overflowedSecondsOf(row)));
  for (const { stripe, stored, row } of minuteRows) {
    for (const sample of decodingRow(stored, () => samplesOf(row, ...microsecondsOf(partial), overflowed))) {
      if (only === undefined || sample.cameraIndex === only.indexes.get(stripe)) sum.addSample(stripe, sample);
    }
  }
  if (overflowed.size === 0) return;
  for (const { cameraId, tally } of await readEvents(source, partial, overflowed, only?.cameraId)) {
    sum.addTally(tally, [cameraId]);
  }
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
