import type { EventMessage } from '../src/analytics/model/camera-event.ts';
import { dayOf, MICROSECONDS } from '../src/analytics/model/day.ts';
import { instantFrom, type Instant } from '../src/analytics/model/instant.ts';
import type { Period } from '../src/analytics/model/period.ts';
import type { Recorder } from '../src/analytics/record/recorder.ts';
import { shardPartition } from '../src/analytics/rows/keys.ts';
import type { Table } from '../src/storage/table.ts';
import { countersOn } from './counters.ts';
import { inTurn, p50, percentile, ratio, report, type ResultRow, rounded, sized } from './measure.ts';
import type { Stage } from './stage.ts';
import { dayStart, frames, requests } from './workload.ts';

const DAYS = 31n;
const CAMERAS = 200;
const NETWORK = sized(1_300, 5);

const after = (start: Instant, microseconds: bigint): Instant => instantFrom(start + microseconds);

/** Ragged ends: 20 minutes and 12.345678 s into an hour. */
const RAGGED = 20n * MICROSECONDS.minute + 12_345_678n;

const lasting = (length: bigint): Period => {
  const start = after(dayStart(), MICROSECONDS.day + 9n * MICROSECONDS.hour + RAGGED);
  return { start, end: after(start, length) };
};

const HOURS_36 = lasting(36n * MICROSECONDS.hour);

const RANGES: readonly { readonly name: string; readonly period: Period; readonly camera?: string }[] = [
  { name: '1 h', period: lasting(MICROSECONDS.hour) },
  { name: 'window of 24 h', period: lasting(MICROSECONDS.day) },
  { name: '36 h, ragged', period: HOURS_36 },
  { name: '36 h, ragged, of a camera', period: HOURS_36, camera: 'camera-0007' },
  {
    name: '31 days, ragged',
    period: { start: after(dayStart(), RAGGED), end: after(dayStart(), DAYS * MICROSECONDS.day - RAGGED) },
  },
];

const fill = async (recorder: Recorder, messages: readonly EventMessage[]): Promise<void> => {
  for (const request of requests(messages, 5_000)) await recorder.record(request);
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

const bareQuery = (table: Table) => async () =>
  table.all(shardPartition(dayOf(dayStart()), 0), { from: 'none', before: 'nonf' });

/** How the cost of a range grows with the events in the table, and what 1,300 cameras cost. */
export const rangesBench = async (stage: Stage): Promise<void> => {
  const most = Number(process.env['BENCH_EVENTS'] ?? sized(1_000_000, 300));
  const connectionString = await stage.azurite();
  const few = countersOn(connectionString, 'few');
  const many = countersOn(connectionString, 'many');
  await fill(few.recorder, month(sized(10_000, 100)));
  await fill(many.recorder, month(most));
  const rows: ResultRow[] = [];
  for (const { name, period, camera } of RANGES) {
    const ofFew = async () => few.reader.activity(period, camera);
    const ofMany = async () => many.reader.activity(period, camera);
    await inTurn(5, ofFew, ofMany);
    const [small = [], large = []] = await inTurn(sized(40, 1), ofFew, ofMany);
    rows.push({
      range: name,
      'events in it, few': (await ofFew()).tally.events,
      'events in it, many': (await ofMany()).tally.events,
      'p50 few, ms': p50(small),
      'p50 many, ms': p50(large),
      ratio: ratio(large, small),
    });
  }
  // Azurite reads every row of the table for each query, whatever its keys: the cost of a range that used a query.
  const [bareFew = [], bareMany = []] = await inTurn(sized(20, 1), bareQuery(few.table), bareQuery(many.table));
  rows.push({
    range: 'a bare query of a range of keys without rows',
    'events in it, few': 0,
    'events in it, many': 0,
    'p50 few, ms': p50(bareFew),
    'p50 many, ms': p50(bareMany),
    ratio: ratio(bareMany, bareFew),
  });
  report(`Ranges, ${CAMERAS} cameras, 10,000 against ${most} events in the table`, rows);

  const networks: ResultRow[] = [];
  for (const aMinute of [sized(1_500, 20), sized(13_000, 40)]) {
    networks.push(await network(countersOn(connectionString, `net${aMinute}`), aMinute));
  }
  report(`36 h with ragged ends, ${NETWORK} cameras`, networks);
};

/** 36 h of 1,300 cameras: a frame an hour each, and in the minutes of both ends the rate of a normal day or of the top of the field. */
const network = async ({ recorder, reader }: ReturnType<typeof countersOn>, aMinute: number): Promise<ResultRow> => {
  const step = MICROSECONDS.hour / BigInt(NETWORK);
  const sparse = frames({ cameras: NETWORK, frames: NETWORK * 72, step, name: 's' });
  const dense = [HOURS_36.start, HOURS_36.end].flatMap((end, at) => {
    const start = instantFrom(end - (end % MICROSECONDS.minute));
    return frames({
      cameras: NETWORK,
      frames: aMinute,
      step: MICROSECONDS.minute / BigInt(aMinute),
      start,
      name: `d${at}`,
    });
  });
  await fill(recorder, [...sparse, ...dense]);
  const read = async () => reader.activity(HOURS_36);
  await inTurn(5, read);
  const [took = []] = await inTurn(sized(60, 1), read);
  return {
    'frames in the minutes at the ends': aMinute,
    'events in the range': (await read()).tally.events,
    'p50, ms': p50(took),
    'p95, ms': rounded(percentile(took, 0.95)),
  };
};
