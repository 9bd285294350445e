import { dayOf, endOfDay, MICROSECONDS } from '../src/analytics/model/day.ts';
import { instantFrom } from '../src/analytics/model/instant.ts';
import { countersOn, keptCountersOn } from './counters.ts';
import { inTurn, p50, ratio, report, type ResultRow, sized } from './measure.ts';
import { moved } from './movement.ts';
import type { Stage } from './stage.ts';
import { dayStart, frames, requests } from './workload.ts';

const ROUNDS = sized(200, 1);
const CAMERA = 'camera-0007';
const START = dayStart();
const DAY = { start: START, end: endOfDay(dayOf(START)) };
/** Both ends are inside a minute: every kind of row is read. */
const RAGGED = {
  start: instantFrom(START + 20n * MICROSECONDS.minute + 12_345_678n),
  end: instantFrom(START + 20n * MICROSECONDS.hour + 12_345_678n),
};

const QUESTIONS = [
  { answer: 'a day', period: DAY, camera: undefined },
  { answer: "a camera's day", period: DAY, camera: CAMERA },
  { answer: '20 h, ragged', period: RAGGED, camera: undefined },
] as const;

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
export const readingBench = async (stage: Stage): Promise<void> => {
  const connectionString = await stage.azurite();
  const rows: ResultRow[] = [];
  for (const [cameras, recorders] of [
    [20, 1],
    [sized(1_300, 300), 1],
    [sized(1_300, 200), 4],
  ] as const) {
    const prefix = `read${cameras}x${recorders}`;
    await recorded(connectionString, prefix, cameras, recorders);
    const { reader } = countersOn(connectionString, prefix);
    const keeping = keptCountersOn(connectionString, prefix);
    for (const { answer, period, camera } of QUESTIONS) {
      // The first reading learns how many shards and stripes there are.
      await keeping.reader.activity(period, camera);
      keeping.table.reads.length = 0;
      await keeping.reader.activity(period, camera);
      const kept = keeping.table.reads.splice(0);
      const read = async (): Promise<unknown> => reader.activity(period, camera);
      const bare = async (): Promise<unknown> => Promise.all(kept.map(async (send) => send()));
      await inTurn(sized(50, 1), read, bare);
      const [took = [], bareTook = []] = await inTurn(ROUNDS, read, bare);
      rows.push({
        cameras,
        recorders,
        answer,
        requests: kept.length,
        'p50, ms': p50(took),
        'against the bare requests': ratio(took, bareTook),
      });
    }
  }
  report('Answers against bare requests', rows);
};
