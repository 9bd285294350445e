import { decodingRow } from '../../storage/errors.ts';
import { contributionOf } from '../model/camera-event.ts';
import { hourOfMinute, microsecondOfMinute } from '../model/day.ts';
import { instantFrom, sortableInstant } from '../model/instant.ts';
import type { DayPiece, PartialMinute } from '../model/period.ts';
import { EMPTY_TALLY, type Tally } from '../model/tally.ts';
import { cameraProperties, cameraRowFrom, minutesOf } from '../rows/camera-row.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { bucketProperties, type Buckets, bucketsFrom } from '../rows/buckets.ts';
import { cameraKey, DAY_KEY, eventsOfMinute, hourKey, parseEventKey } from '../rows/keys.ts';
import { minuteRowFrom, overflowedSecondsOf, sampleRows, samplesOf, SECOND, secondOf } from '../rows/minute-row.ts';
import { inStripe, type RowRequest } from '../rows/stripes.ts';
import { ActivitySum } from './activity-sum.ts';
import { demandCurrentStill, namesIn, readShard, type ReadingSource, type StripeReading } from './counter-page.ts';

// Which rows a piece of a period is read from, and what that costs, is in the README, under Reading. All of one event is in one row of a
// piece, and each row is read as of one moment over all stripes, so no event is ever half visible.

/** The counts of a piece of a day, in one shard. */
export type PieceActivity = Pick<ActivitySum, 'tally' | 'cameras' | 'countCameras'>;

/** What all cameras of a shard did in disjoint pieces of the day, in their order. @throws {DayMoved | StorageTrouble | DamagedRow} */
export const readPieces = async (
  source: ReadingSource,
  pieces: readonly DayPiece[],
): Promise<readonly PieceActivity[]> => {
  const hours = new Map(pieces.flatMap((piece) => piece.hours.map((hour) => [hour, piece])));
  const minutes = minutesByRow(pieces);
  const requests = [
    ...Array.from(minutes, ([key, wanted]) => ({ key, select: bucketProperties([...wanted.keys()]) })),
    ...samplesRequests(pieces.flatMap(({ partialMinutes }) => partialMinutes)),
  ];
  const stripes = await readShard(source, requests, { tally: true, cameras: true, hours: [...hours.keys()] });
  const names = stripes.map(namesIn);
  const sums = new Map(pieces.map((piece) => [piece, new ActivitySum(source.partition, names)]));
  const addBuckets = (stripe: number, buckets: Buckets, wanted: ReadonlyMap<number, DayPiece>): void => {
    for (const [number, bucket] of buckets) {
      const piece = wanted.get(number);
      if (piece !== undefined) sums.get(piece)?.addBucket(stripe, bucket);
    }
  };
  for (const { stripe, day, rows } of stripes) {
    decodingRow({ partitionKey: source.partition, rowKey: inStripe(DAY_KEY, stripe) }, () =>
      addBuckets(stripe, day.hours, hours),
    );
    for (const [key, wanted] of minutes) {
      const row = rows.get(key);
      if (row !== undefined) decodingRow(row, () => addBuckets(stripe, bucketsFrom(row), wanted));
    }
  }
  return Promise.all(
    Array.from(sums, async ([piece, sum]): Promise<PieceActivity> => {
      if (piece.whole) for (const { day } of stripes) sum.addTally(day.tally, day.cameras.ids);
      await Promise.all(piece.partialMinutes.map(async (partial) => addSamples(sum, source, stripes, partial)));
      return sum;
    }),
  );
};

/** What one camera, which is in the shard, did in disjoint pieces of the day. @throws {DayMoved | StorageTrouble | DamagedRow} */
export const readPiecesOfCamera = async (
  source: ReadingSource,
  pieces: readonly DayPiece[],
  cameraId: string,
): Promise<readonly PieceActivity[]> => {
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
    const minutes = decodingRow(
      row,
      () => new Map(Array.from(hoursOfMinutes, (hour) => [hour, minutesOf(camera, hour)])),
    );
    return [{ camera, minutes }];
  });
  return Promise.all(
    pieces.map(async (piece): Promise<PieceActivity> => {
      const sum = new ActivitySum(source.partition, stripes.map(namesIn));
      await Promise.all(
        piece.partialMinutes.map(async (partial) => addSamples(sum, source, stripes, partial, cameraId)),
      );
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

/** The row of each hour whose minutes pieces need, and the piece that each minute of the hour belongs to. */
const minutesByRow = (pieces: readonly DayPiece[]): ReadonlyMap<string, ReadonlyMap<number, DayPiece>> => {
  const rows = new Map<string, Map<number, DayPiece>>();
  for (const piece of pieces) {
    for (const minute of piece.minutes) {
      const key = hourKey(hourOfMinute(minute));
      const wanted = rows.get(key) ?? new Map<number, DayPiece>();
      rows.set(key, wanted.set(minute % 60, piece));
    }
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
 * @param cameraId undefined: all cameras
 * @throws {DayMoved | StorageTrouble | DamagedRow}
 */
const addSamples = async (
  sum: ActivitySum,
  source: ReadingSource,
  stripes: readonly StripeReading[],
  partial: PartialMinute,
  cameraId?: string,
): Promise<void> => {
  const keys = samplesRequests([partial]).map(({ key }) => key);
  const minuteRows = stripes.flatMap(({ stripe, day, rows }) =>
    keys.flatMap((key) => {
      const stored = rows.get(key);
      const only = cameraId === undefined ? undefined : (day.cameras.indexes.get(cameraId) ?? -1);
      return stored === undefined ? [] : [{ stripe, stored, row: minuteRowFrom(stored), only }];
    }),
  );
  const overflowed = new Set(minuteRows.flatMap(({ row }) => overflowedSecondsOf(row)));
  for (const { stripe, stored, row, only } of minuteRows) {
    for (const sample of decodingRow(stored, () => samplesOf(row, ...microsecondsOf(partial), overflowed))) {
      if (only === undefined || sample.cameraIndex === only) sum.addSample(stripe, sample);
    }
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
