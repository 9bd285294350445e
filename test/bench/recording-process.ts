import type { Recorder } from '../../src/analytics/record/recorder.ts';
import { countersOn } from './counters.ts';
import { frames, requests } from './workload.ts';

/*
 * One of several processes that record at the same time: warms up on tables of its own, reports that, waits for its parent, records
 * its own frames with 16 producers, and reports when it started and ended.
 */

const WARM_UP_FRAMES = 4_000;

const [connectionString = '', prefix = '', name = '', count = '0', cameras = '1'] = process.argv.slice(2);

const recordAll = async (recorder: Recorder, frameCount: number): Promise<void> => {
  const queue = requests(frames({ cameras: Number(cameras), frames: frameCount, step: 100_000n, name }), 100);
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let request = queue.shift(); request !== undefined; request = queue.shift()) await recorder.record(request);
    }),
  );
};

await recordAll(countersOn(connectionString, `${prefix}${name}`).recorder, WARM_UP_FRAMES);
const { recorder } = countersOn(connectionString, prefix);
await recorder.record([]);
process.send?.('ready');
process.once('message', () => {
  void (async () => {
    const start = Date.now();
    await recordAll(recorder, Number(count));
    process.send?.({ start, end: Date.now() });
    process.disconnect();
  })();
});
