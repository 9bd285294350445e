import pLimit from 'p-limit';

import { countersOn } from './counters.ts';
import { sized } from './measure.ts';
import { frames, requests } from './workload.ts';

/*
 * One of several processes that record at the same time: warms up on tables of its own, reports that, waits for its parent, records
 * its own frames with 16 producers, and reports when it started and ended.
 */

const WARM_UP_FRAMES = sized(4_000, 100);

const [connectionString = '', prefix = '', name = '', count = '0', cameras = '1'] = process.argv.slice(2);

const recordAll = async ({ recorder }: ReturnType<typeof countersOn>, frameCount: number): Promise<void> => {
  const all = frames({ cameras: Number(cameras), frames: frameCount, step: 100_000n, name });
  await pLimit(16).map(requests(all, 100), async (request) => recorder.record(request));
};

await recordAll(countersOn(connectionString, `${prefix}${name}`), WARM_UP_FRAMES);
const counters = countersOn(connectionString, prefix);
await counters.recorder.record([]);
process.send?.('ready');
process.once('message', () => {
  void (async () => {
    const start = Date.now();
    await recordAll(counters, Number(count));
    process.send?.({ start, end: Date.now() });
    process.disconnect();
  })();
});
