import { startAzurite } from '../../infra/local/azurite.ts';
import { dayOf, endOfDay } from '../../src/analytics/model/day.ts';
import { cameraKey, shardPartition, TOTAL_KEY } from '../../src/analytics/rows/keys.ts';
import { countersOn } from './counters.ts';
import { inTurn, percentile, report, rounded, type ResultRow } from './measure.ts';
import { dayStart, frames } from './workload.ts';

const ROUNDS = 200;

/** The answer for a day and for a day of a camera, against one bare `getEntity` of the row that holds it. */
export const readingBench = async (): Promise<void> => {
  const azurite = await startAzurite();
  try {
    const day = dayOf(dayStart());
    const period = { start: dayStart(), end: endOfDay(day) };
    const partition = shardPartition(day, 0);
    const rows: ResultRow[] = [];
    for (const cameras of [20, 200, 1_300]) {
      const { recorder, reader, client } = countersOn(azurite.connectionString, `read${cameras}`);
      await recorder.record(frames({ cameras, frames: cameras * 4, step: 86_400_000_000n / BigInt(cameras * 4) }));
      const camera = 'camera-0007';
      const subjects = [
        { what: 'day', key: TOTAL_KEY, read: async () => reader.activity(period) },
        { what: "a camera's day", key: cameraKey(camera), read: async () => reader.activity(period, camera) },
      ];
      for (const { what, key, read } of subjects) {
        const bare = async (): Promise<unknown> => client.getEntity(partition, key);
        await inTurn(50, read, bare);
        const { left, right } = await inTurn(ROUNDS, read, bare);
        rows.push({
          cameras,
          answer: what,
          'p50, ms': rounded(percentile(left, 0.5)),
          'bare getEntity p50, ms': rounded(percentile(right, 0.5)),
          ratio: rounded(percentile(left, 0.5) / percentile(right, 0.5)),
        });
      }
    }
    report('Answers against a bare getEntity', rows);
  } finally {
    await azurite.stop();
  }
};
