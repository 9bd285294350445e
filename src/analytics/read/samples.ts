import { microsecondOfMinute } from '../model/day.ts';
import { instantFrom, sortableInstant, type Instant } from '../model/instant.ts';
import type { PartialMinute } from '../model/period.ts';
import type { Tally } from '../model/tally.ts';
import { decodingRow } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import { CONTRIBUTION_PROPERTIES, contributionFrom, INSTANT_PROPERTIES, instantOf } from '../rows/event-row.ts';
import { eventsOfMinute, parseEventKey } from '../rows/keys.ts';
import {
  minuteRowFrom,
  overflowedSecondsOf,
  sampleRows,
  samplesOf,
  SECOND,
  secondOf,
  type MinuteRow,
  type StoredSample,
} from '../rows/minute-row.ts';
import type { ReadingSource, RowRequest, StripeReading } from './shard-reading.ts';

/** What one event counts, and its camera. */
export interface EventTally {
  readonly cameraId: string;
  readonly tally: Tally;
}

/** What is known of a partial minute. */
export interface PartialMinuteReading {
  /** By stripe. */
  readonly samples: ReadonlyMap<number, readonly StoredSample[]>;
  /** The events of the seconds that have overflowed: their samples are left out. */
  readonly events: readonly EventTally[];
}

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
 * The samples of a partial minute, out of the rows that were read. A second that has overflowed in any stripe is read from its event
 * rows, of all cameras or one, for all stripes: only such seconds, because of a closed day no other event rows are left.
 *
 * @throws {StorageTrouble | DamagedRow}
 */
export const readSamples = async (
  source: ReadingSource,
  stripes: readonly StripeReading[],
  partial: PartialMinute,
  cameraId?: string,
): Promise<PartialMinuteReading> => {
  const minuteRows = stripes.flatMap(({ stripe, rows }) =>
    minuteRowsIn(rows, partial).map((minuteRow) => ({ stripe, minuteRow })),
  );
  const seconds = new Set(minuteRows.flatMap(({ minuteRow }) => overflowedSecondsOf(minuteRow.row)));
  const samples = new Map<number, StoredSample[]>();
  for (const { stripe, minuteRow } of minuteRows) {
    const own = decodingRow(minuteRow.stored, () => samplesBeside(seconds, minuteRow.row, partial));
    samples.set(stripe, [...(samples.get(stripe) ?? []), ...own]);
  }
  return { samples, events: seconds.size === 0 ? [] : await readEvents(source, partial, seconds, cameraId) };
};

/** The events in some seconds of a partial minute. */
const readEvents = async (
  { table, partition, read }: ReadingSource,
  { minute, start, end }: PartialMinute,
  seconds: ReadonlySet<number>,
  cameraId: string | undefined,
): Promise<readonly EventTally[]> => {
  // One query from the first of them to the last. A condition for each second would be more than a filter may have.
  const [first, last] = [Math.min(...seconds), Math.max(...seconds)];
  const startOfMinute = start - BigInt(microsecondOfMinute(start));
  const from = laterOf(start, instantFrom(startOfMinute + BigInt(first * SECOND)));
  const to = earlierOf(end, instantFrom(startOfMinute + BigInt((last + 1) * SECOND - 1)));
  const where = { property: 'ts_utc', from: sortableInstant(from), to: sortableInstant(to) };
  const select = [...INSTANT_PROPERTIES, ...CONTRIBUTION_PROPERTIES];
  const rows = await read(async () => table.all(partition, eventsOfMinute(minute, cameraId), { select, where }));
  return rows
    .filter((row) => seconds.has(secondOf(microsecondOfMinute(instantOf(row)))))
    .map((row) => ({
      cameraId: decodingRow(row, () => parseEventKey(row.rowKey).cameraId),
      tally: contributionFrom(row),
    }));
};

const laterOf = (left: Instant, right: Instant): Instant => (left > right ? left : right);
const earlierOf = (left: Instant, right: Instant): Instant => (left < right ? left : right);

/** A `minute` row as it is stored, and what is in it. */
interface StoredMinuteRow {
  readonly stored: StoredRow;
  readonly row: MinuteRow;
}

/** The `minute` rows of a partial minute in one stripe. */
const minuteRowsIn = (rows: ReadonlyMap<string, StoredRow>, partial: PartialMinute): readonly StoredMinuteRow[] =>
  [...sampleRows(partial.minute, ...microsecondsOf(partial)).keys()].flatMap((key) => {
    const stored = rows.get(key);
    return stored === undefined ? [] : [{ stored, row: minuteRowFrom(stored) }];
  });

/** The samples of a partial minute in one of its rows, without those of some seconds. */
const samplesBeside = (
  seconds: ReadonlySet<number>,
  row: MinuteRow,
  partial: PartialMinute,
): readonly StoredSample[] => {
  const others = seconds.size === 0 ? row : new Map([...row].filter(([second]) => !seconds.has(second)));
  const samples = samplesOf(others, ...microsecondsOf(partial));
  if (samples === undefined) throw new RangeError('the seconds that have overflowed were left out');
  return samples;
};
