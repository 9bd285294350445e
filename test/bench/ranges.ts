import type { EventMessage } from '../../src/analytics/model/camera-event.ts';
import { dayOf, MICROSECONDS } from '../../src/analytics/model/day.ts';
import { instantFrom, type Instant } from '../../src/analytics/model/instant.ts';
import type { Period } from '../../src/analytics/model/period.ts';
import { shardPartition } from '../../src/analytics/rows/keys.ts';
import { countersOn } from './counters.ts';
import { inTurn, p50, ratio, report, type ResultRow, sized } from './measure.ts';
import type { Stage } from './stage.ts';
import { dayStart, frames, requests } from './workload.ts';

const DAYS = 31n;
const CAMERAS = 200;

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

type Counters = ReturnType<typeof countersOn>;

/** What is asked, and how many events are in the answer. */
const QUESTIONS: readonly { readonly name: string; readonly ask: (counters: Counters) => Promise<number> }[] = [
  ...RANGES.map(({ name, period, camera }) => ({
    name,
    ask: async ({ reader }: Counters) => (await reader.activity(period, camera)).tally.events,
  })),
  // Azurite reads every row of the table for each query, whatever its keys: the cost of a range that used a query.
  {
    name: 'a bare query of a range of keys without rows',
    ask: async ({ table }) =>
      (await table.all(shardPartition(dayOf(dayStart()), 0), { from: 'none', before: 'nonf' })).length,
  },
];

/** How the cost of a range grows with the events in the table. */
export const rangesBench = async (stage: Stage): Promise<void> => {
  const most = Number(process.env['BENCH_EVENTS'] ?? sized(1_000_000, 300));
  const connectionString = await stage.azurite();
  const filled = async (prefix: string, count: number): Promise<Counters> => {
    const counters = countersOn(connectionString, prefix);
    for (const request of requests(month(count), 5_000)) await counters.recorder.record(request);
    return counters;
  };
  const few = await filled('few', sized(10_000, 100));
  const many = await filled('many', most);
  const rows: ResultRow[] = [];
  for (const { name, ask } of QUESTIONS) {
    const ofFew = async () => ask(few);
    const ofMany = async () => ask(many);
    await inTurn(5, ofFew, ofMany);
    const [small = [], large = []] = await inTurn(sized(40, 1), ofFew, ofMany);
    rows.push({
      range: name,
      'events in it, few': await ofFew(),
      'events in it, many': await ofMany(),
      'p50 few, ms': p50(small),
      'p50 many, ms': p50(large),
      ratio: ratio(large, small),
    });
  }
  report(`Ranges, ${CAMERAS} cameras, 10,000 against ${most} events in the table`, rows);
};
