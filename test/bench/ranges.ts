import { startAzurite } from '../../infra/local/azurite.ts';
import type { EventMessage } from '../../src/analytics/model/camera-event.ts';
import { dayOf, MICROSECONDS } from '../../src/analytics/model/day.ts';
import { instantFrom, type Instant } from '../../src/analytics/model/instant.ts';
import { shardPartition } from '../../src/analytics/rows/keys.ts';
import type { Period } from '../../src/analytics/model/period.ts';
import type { Reader } from '../../src/analytics/read/reader.ts';
import type { Recorder } from '../../src/analytics/record/recorder.ts';
import type { Table } from '../../src/storage/table.ts';
import { countersOn } from './counters.ts';
import { percentile, report, rounded, timed, type ResultRow } from './measure.ts';
import { sized } from './size.ts';
import { dayStart, frames } from './workload.ts';

const DAYS = 31n;
const CAMERAS = 200;
const FILL_BUDGET_MS = 20 * 60_000;

const after = (start: Instant, microseconds: bigint): Instant => instantFrom(start + microseconds);

const minuteOf = (at: Instant): Instant => instantFrom(at - (at % MICROSECONDS.minute));

/** Ragged ends: 20 minutes and 12.345678 s into an hour. */
const RAGGED = 20n * MICROSECONDS.minute + 12_345_678n;

const lasting = (length: bigint): Period => {
  const start = after(dayStart(), MICROSECONDS.day + 9n * MICROSECONDS.hour + RAGGED);
  return { start, end: after(start, length) };
};

const HOURS_36 = lasting(36n * MICROSECONDS.hour);

interface Range {
  readonly name: string;
  readonly period: Period;
  readonly camera?: string;
}

const RANGES: readonly Range[] = [
  { name: '1 h', period: lasting(MICROSECONDS.hour) },
  { name: 'window of 24 h', period: lasting(MICROSECONDS.day) },
  { name: '36 h, ragged', period: HOURS_36 },
  { name: '36 h, ragged, of a camera', period: HOURS_36, camera: 'camera-0007' },
  {
    name: '31 days, ragged',
    period: { start: after(dayStart(), RAGGED), end: after(dayStart(), DAYS * MICROSECONDS.day - RAGGED) },
  },
];

/** Records in steps until the budget ends; returns how many messages were recorded. */
const fill = async (recorder: Recorder, messages: readonly EventMessage[], budgetMs: number): Promise<number> => {
  const end = Date.now() + budgetMs;
  let at = 0;
  for (; at < messages.length && Date.now() < end; at += 5_000) await recorder.record(messages.slice(at, at + 5_000));
  return Math.min(at, messages.length);
};

/** Frames over 31 days, sorted by camera within each hour: recording them takes two thirds of the time. */
const month = (count: number): EventMessage[] => {
  const step = (DAYS * MICROSECONDS.day) / BigInt(count);
  const all = frames({ cameras: CAMERAS, frames: count, step });
  const keyed = all.map((message, at) => ({ message, hour: Number((BigInt(at) * step) / MICROSECONDS.hour) }));
  keyed.sort((left, right) =>
    left.hour === right.hour ? left.message.cameraId.localeCompare(right.message.cameraId) : left.hour - right.hour,
  );
  return keyed.map(({ message }) => message);
};

const measure = async (reader: Reader, { period, camera }: Range, rounds: number): Promise<number[]> => {
  const measured: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    measured.push(await timed(async () => reader.activity(period, camera)));
  }
  return measured;
};

const bareQuery = async (table: Table): Promise<number> => {
  const partition = shardPartition(dayOf(dayStart()), 0);
  const measured: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    measured.push(await timed(async () => table.all(partition, { from: 'none', before: 'nonf' })));
  }
  return percentile(measured, 0.5);
};

/** How the cost of a range grows with the events in the table, and what 1,300 cameras cost. */
export const rangesBench = async (): Promise<void> => {
  const most = Number(process.env['BENCH_EVENTS'] ?? sized(1_000_000, 300));
  const azurite = await startAzurite();
  try {
    const few = countersOn(azurite.connectionString, 'few');
    const many = countersOn(azurite.connectionString, 'many');
    await fill(few.recorder, month(sized(10_000, 100)), FILL_BUDGET_MS);
    const filled = await fill(many.recorder, month(most), FILL_BUDGET_MS);
    const rows: ResultRow[] = [];
    for (const range of RANGES) {
      const { name, period, camera } = range;
      await measure(few.reader, range, 5);
      await measure(many.reader, range, 5);
      const small: number[] = [];
      const large: number[] = [];
      for (let round = 0; round < sized(40, 1); round += 1) {
        small.push(...(await measure(few.reader, range, 1)));
        large.push(...(await measure(many.reader, range, 1)));
      }
      rows.push({
        range: name,
        'events in it, few': (await few.reader.activity(period, camera)).tally.events,
        'events in it, many': (await many.reader.activity(period, camera)).tally.events,
        'p50 few, ms': rounded(percentile(small, 0.5)),
        'p50 many, ms': rounded(percentile(large, 0.5)),
        ratio: rounded(percentile(large, 0.5) / percentile(small, 0.5)),
      });
    }
    // Azurite reads every row of the table for each query, whatever its keys: the cost of a range that used a query.
    const [bareFew, bareMany] = [await bareQuery(few.table), await bareQuery(many.table)];
    rows.push({
      range: 'a bare query of a range of keys without rows',
      'events in it, few': 0,
      'events in it, many': 0,
      'p50 few, ms': rounded(bareFew),
      'p50 many, ms': rounded(bareMany),
      ratio: rounded(bareMany / bareFew),
    });
    report(`Ranges, ${CAMERAS} cameras, 10,000 against ${filled} events in the table`, rows);
    await networkBench(azurite.connectionString);
  } finally {
    await azurite.stop();
  }
};

/** 36 h of 1,300 cameras: a frame an hour each, and in the minutes of both ends the rate of a normal day or of the top of the field. */
const networkBench = async (connectionString: string): Promise<void> => {
  const cameras = sized(1_300, 5);
  const range: Range = { name: '36 h', period: HOURS_36 };
  const rows: ResultRow[] = [];
  for (const aMinute of [sized(1_500, 20), sized(13_000, 40)]) {
    const { recorder, reader } = countersOn(connectionString, `net${aMinute}`);
    const hours = 72;
    const sparse = frames({ cameras, frames: cameras * hours, step: MICROSECONDS.hour / BigInt(cameras), name: 's' });
    const dense = [HOURS_36.start, HOURS_36.end].flatMap((end, at) =>
      frames({
        cameras,
        frames: aMinute,
        step: MICROSECONDS.minute / BigInt(aMinute),
        start: minuteOf(end),
        name: `d${at}`,
      }),
    );
    await fill(recorder, [...sparse, ...dense], FILL_BUDGET_MS);
    await measure(reader, range, 5);
    const measured = await measure(reader, range, sized(60, 1));
    rows.push({
      'frames in the minutes at the ends': aMinute,
      'events in the range': (await reader.activity(HOURS_36)).tally.events,
      'p50, ms': rounded(percentile(measured, 0.5)),
      'p95, ms': rounded(percentile(measured, 0.95)),
    });
  }
  report(`36 h with ragged ends, ${cameras} cameras`, rows);
};
