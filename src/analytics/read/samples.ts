import { decodingRow } from '../../storage/errors.ts';
import { contributionOf } from '../model/camera-event.ts';
import { microsecondOfMinute } from '../model/day.ts';
import { instantFrom, sortableInstant } from '../model/instant.ts';
import type { PartialMinute } from '../model/period.ts';
import type { Tally } from '../model/tally.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { eventsOfMinute, parseEventKey } from '../rows/keys.ts';
import { minuteRowFrom, overflowedSecondsOf, sampleRows, samplesOf, SECOND, secondOf } from '../rows/minute-row.ts';
import type { ActivitySum } from './activity-sum.ts';
import type { ReadingSource, RowRequest, StripeReading } from './shard-reading.ts';

const microsecondsOf = ({ start, end }: PartialMinute): readonly [from: number, to: number] => [
  microsecondOfMinute(start),
  microsecondOfMinute(end),
];

/** The rows that hold the samples of partial minutes. */
export const samplesRequests = (partialMinutes: readonly PartialMinute[]): readonly RowRequest[] =>
  partialMinutes.flatMap((partial) =>
    Array.from(sampleRows(partial.minute, ...microsecondsOf(partial)), ([key, select]) => ({ key, select })),
  );

/**
 * Adds the samples of a partial minute to a sum, out of the rows that were read. A second that has overflowed in any stripe is read from
 * its event rows, for all stripes: only such seconds, because of a closed day no other event rows are left.
 *
 * @param only one camera, and its index in each stripe; undefined: all cameras
 * @throws {StorageTrouble | DamagedRow}
 */
export const addSamples = async (
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
