import { dayOf, endOfDay } from '../src/analytics/model/day.ts';
import { cameraKey, DAY_KEY, shardPartition } from '../src/analytics/rows/keys.ts';
import { readSealed } from '../src/analytics/rows/stripes.ts';
import { countersOn, keptCountersOn } from './counters.ts';
import { inTurn, p50, ratio, report, type ResultRow, sized } from './measure.ts';
import type { Stage } from './stage.ts';
import { dayStart, frames, requests } from './workload.ts';

const ROUNDS = sized(200, 1);
const CAMERA = 'camera-0007';
const DAY = dayOf(dayStart());
const PERIOD = { start: dayStart(), end: endOfDay(DAY) };
const PARTITION = shardPartition(DAY, 0);

/** Records four frames of each camera with so many recorders at once, on as many stripes. */
const recorded = async (connectionString: string, prefix: string, cameras: number, stripes: number): Promise<void> => {
  const all = frames({ cameras, frames: cameras * 4, step: 86_400_000_000n / BigInt(cameras * 4) });
  await Promise.all(
    requests(all, Math.ceil(all.length / stripes)).map(async (part) => {
      const { recorder } = countersOn(connectionString, prefix);
      // Several commits each, so that they meet.
      for (const request of requests(part, 50)) await recorder.record(request);
    }),
  );
  const found = await readSealed(countersOn(connectionString, prefix).table, PARTITION);
  // How many there are depends on whom each recorder met.
  if (found?.stripes !== stripes) console.log(`${found?.stripes} stripes in place of ${stripes}`);
};

/**
 * The answer for a day and for a day of a camera, against one bare `getEntity` of the row that holds it, and against the reader's own
 * requests, sent at once with nothing around them.
 */
export const readingBench = async (stage: Stage): Promise<void> => {
  const connectionString = await stage.azurite();
  const rows: ResultRow[] = [];
  for (const { cameras, stripes } of [
    { cameras: 20, stripes: 1 },
    { cameras: 200, stripes: 1 },
    { cameras: sized(1_300, 300), stripes: 1 },
    { cameras: sized(1_300, 200), stripes: 4 },
  ]) {
    const prefix = `read${cameras}x${stripes}`;
    await recorded(connectionString, prefix, cameras, stripes);
    const { reader, client } = countersOn(connectionString, prefix);
    const keeping = keptCountersOn(connectionString, prefix);
    for (const [what, key, camera] of [
      ['day', DAY_KEY, undefined],
      ["a camera's day", cameraKey(CAMERA), CAMERA],
    ] as const) {
      // The first reading learns how many shards and stripes there are.
      await keeping.reader.activity(PERIOD, camera);
      keeping.table.reads.length = 0;
      await keeping.reader.activity(PERIOD, camera);
      const kept = keeping.table.reads.splice(0);
      const read = async (): Promise<unknown> => reader.activity(PERIOD, camera);
      const same = async (): Promise<unknown> => Promise.all(kept.map(async (send) => send()));
      const one = async (): Promise<unknown> => client.getEntity(PARTITION, key);
      await inTurn(sized(50, 1), read, same);
      const [besideSame = [], sameTook = []] = await inTurn(ROUNDS, read, same);
      const [besideOne = [], oneTook = []] = await inTurn(ROUNDS, read, one);
      rows.push({
        cameras,
        stripes,
        answer: what,
        requests: kept.length,
        'p50, ms': p50([...besideSame, ...besideOne]),
        'against the same requests, bare': ratio(besideSame, sameTook),
        'against one bare getEntity': ratio(besideOne, oneTook),
      });
    }
  }
  report('Answers against bare requests', rows);
};
