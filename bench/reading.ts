import { dayOf, endOfDay, MICROSECONDS } from '../src/analytics/model/day.ts';
import { instantFrom } from '../src/analytics/model/instant.ts';
import { countersOn, keptCountersOn } from './counters.ts';
import { type Bound, demandAtMost, inTurn, p50, ratio, report, type ResultRow, sized } from './measure.ts';
import { moved } from './movement.ts';
import type { Stage } from './stage.ts';
import { dayStart, frames, requests } from './workload.ts';

const ROUNDS = sized(200, 1);
/** Rounds that are not measured: the SDK has answered thousands of requests before, and the reader none. */
const WARM_UP = sized(500, 1);
const CAMERA = 'camera-0007';
const START = dayStart();
const DAY = { start: START, end: endOfDay(dayOf(START)) };
/** Both ends are inside a minute: every kind of row is read. */
const RAGGED = {
  start: instantFrom(START + 20n * MICROSECONDS.minute + 12_345_678n),
  end: instantFrom(START + 20n * MICROSECONDS.hour + 12_345_678n),
};

/** With the bounds of an answer against its bare requests. */
const QUESTIONS = [
  { answer: 'a day', period: DAY, camera: undefined, bound: 1.5 },
  { answer: "a camera's day", period: DAY, camera: CAMERA, bound: 1.75 },
  { answer: '20 h, ragged', period: RAGGED, camera: undefined, bound: 1.75 },
] as const;

/** The largest public network, and its frames in one minute. A question that ends in it reads them one by one. */
const FRAMES_OF_MINUTE = sized(217 * 60, 60);
const MAX_RAGGED_MS = 400;

/** A day of a small network. Azurite scans its whole table for each query. */
const FRAMES_OF_DAY = sized(28_000, 100);
const DAYS = sized(Number(process.env['BENCH_DAYS'] ?? 5), 2);

/** Records four frames of each camera with this number of recorders at once, each on its own stripe. */
const recorded = async (
  connectionString: string,
  prefix: string,
  cameras: number,
  recorders: number,
): Promise<void> => {
  const all = frames({ cameras, frames: cameras * 4, step: MICROSECONDS.day / BigInt(cameras * 4) });
  await Promise.all(
    requests(all, Math.ceil(all.length / recorders)).map(async (part) => {
      const { recorder } = countersOn(connectionString, prefix);
      // Several commits each, so that they meet.
      for (const request of requests(part, 50)) {
        await recorder.record(request);
        moved();
      }
    }),
  );
};

/** Answers against the reader's own requests, sent at once with nothing around them. */
const againstBare = async (connectionString: string): Promise<readonly Bound[]> => {
  const rows: ResultRow[] = [];
  const bounds: Bound[] = [];
  for (const [cameras, recorders] of [
    [20, 1],
    [sized(1_300, 300), 1],
    [sized(1_300, 200), 4],
  ] as const) {
    const prefix = `read${cameras}x${recorders}`;
    await recorded(connectionString, prefix, cameras, recorders);
    const { reader } = countersOn(connectionString, prefix);
    const keeping = keptCountersOn(connectionString, prefix);
    for (const { answer, period, camera, bound } of QUESTIONS) {
      // The first reading learns how many shards and stripes there are.
      await keeping.reader.activity(period, camera);
      keeping.table.reads.length = 0;
      await keeping.reader.activity(period, camera);
      const kept = keeping.table.reads.splice(0);
      const read = async (): Promise<unknown> => reader.activity(period, camera);
      const bare = async (): Promise<unknown> => Promise.all(kept.map(async (send) => send()));
      await inTurn(WARM_UP, read, bare);
      const [took = [], bareTook = []] = await inTurn(ROUNDS, read, bare);
      rows.push({
        cameras,
        recorders,
        answer,
        requests: kept.length,
        'p50, ms': p50(took),
        'against the bare requests': ratio(took, bareTook),
      });
      bounds.push([`${answer} of ${cameras} cameras, against its bare requests`, ratio(took, bareTook), bound]);
    }
  }
  report('Answers against bare requests', rows);
  return bounds;
};

/** A question that ends inside of a busy minute. */
const raggedEnd = async (connectionString: string): Promise<Bound> => {
  const { recorder, reader } = countersOn(connectionString, 'minute');
  const step = MICROSECONDS.minute / BigInt(FRAMES_OF_MINUTE);
  for (const request of requests(frames({ cameras: 1_300, frames: FRAMES_OF_MINUTE, step }), 500)) {
    await recorder.record(request);
    moved();
  }
  const period = { start: START, end: instantFrom(START + MICROSECONDS.minute - 2n) };
  const [took = []] = await inTurn(sized(20, 1), async () => reader.activity(period));
  report(`A question that ends in a minute with ${FRAMES_OF_MINUTE} frames`, [{ 'p50, ms': p50(took) }]);
  return ['A ragged end, ms', p50(took), MAX_RAGGED_MS];
};

/** Answers from a table with many rows of other days. */
const largeTable = async (connectionString: string): Promise<void> => {
  const { recorder, reader } = countersOn(connectionString, 'large');
  const step = MICROSECONDS.day / BigInt(FRAMES_OF_DAY);
  for (let day = 0; day < DAYS; day += 1) {
    const start = instantFrom(START + BigInt(day) * MICROSECONDS.day);
    for (const request of requests(frames({ cameras: 25, frames: FRAMES_OF_DAY, step, start }), 500)) {
      await recorder.record(request);
      moved();
    }
  }
  const rows: ResultRow[] = [];
  for (const { answer, period, camera } of QUESTIONS) {
    const [took = []] = await inTurn(sized(50, 1), async () => reader.activity(period, camera));
    rows.push({ answer, 'p50, ms': p50(took) });
  }
  report(`Answers from a table with ${DAYS} days of ${FRAMES_OF_DAY} events`, rows);
};

/** Answers against bare requests, at a ragged end, and from a large table. */
export const readingBench = async (stage: Stage): Promise<void> => {
  const bounds = [...(await againstBare(await stage.azurite())), await raggedEnd(await stage.azurite())];
  await largeTable(await stage.azurite());
  demandAtMost(...bounds);
};
