import { decodingRow } from '../../storage/errors.ts';
import { contributionOf } from '../model/camera-event.ts';
import { hourOfMinute, microsecondOfMinute } from '../model/day.ts';
import { instantFrom, sortableInstant } from '../model/instant.ts';
import type { DayPiece, PartialMinute } from '../model/period.ts';
import type { Tally } from '../model/tally.ts';
import { bucketProperties, bucketsFrom } from '../rows/buckets.ts';
import { cameraProperties, cameraRowFrom, minutesOf } from '../rows/camera-row.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { cameraKey, DAY_KEY, eventsOfMinute, hourKey, parseEventKey } from '../rows/keys.ts';
import { minuteRowFrom, overflowedSecondsOf, sampleRows, samplesOf, SECOND, secondOf } from '../rows/minute-row.ts';
import type { RowRequest } from '../rows/stripes.ts';
import { ActivitySum } from './activity-sum.ts';
import { demandCurrentStill, namesIn, readShard, type ReadingSource, type StripeReading } from './counter-page.ts';

// Which rows a piece of a period is read from, and what that costs, is in the README, under Reading. All of one event is in one row of a
// piece, and each row is read as of one moment over all stripes, so no event is ever half visible.

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
    const ofHours = requests.map(({ key }) => [key, rows.get(key)] as const);
    return { stripe, day, hours: new Map(ofHours.map(([key, row]) => [key, row && bucketsFrom(row)])) };
  });
  const names = stripes.map(namesIn);
  return Promise.all(
    pieces.map(async (piece) => {
      const sum = new ActivitySum(source.partition, names);
      for (const { stripe, day, hours: minutesIn } of decoded) {
        if (piece.whole) sum.addTally(day.tally, day.cameras.ids);
        for (const hour of piece.hours) sum.addBucket(stripe, DAY_KEY, day.hours.get(hour));
        for (const minute of piece.minutes) {
          const key = hourKey(hourOfMinute(minute));
          sum.addBucket(stripe, key, minutesIn.get(key)?.get(minute % 60));
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
  const names = stripes.map(namesIn);
  return Promise.all(
    pieces.map(async (piece) => {
      const sum = new ActivitySum(source.partition, names);
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
      return stored === undefined ? [] : [{ stripe, key, stored, row: minuteRowFrom(stored), only }];
    }),
  );
  const overflowed = new Set(minuteRows.flatMap(({ row }) => overflowedSecondsOf(row)));
  for (const { stripe, key, stored, row, only } of minuteRows) {
    for (const sample of decodingRow(stored, () => samplesOf(row, ...microsecondsOf(partial), overflowed))) {
      if (only === undefined || sample.cameraIndex === only) sum.addSample(stripe, key, sample);
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
