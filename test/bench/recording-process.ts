import { countersOn } from './counters.ts';
import { frames, requests } from './workload.ts';

/*
 * One of several processes that record at the same time: connects, reports that, waits for its parent, records its own frames with
 * 16 producers, and reports when it started and ended.
 */

const [connectionString = '', prefix = '', name = '', count = '0', cameras = '1'] = process.argv.slice(2);
const { recorder } = countersOn(connectionString, prefix);
const queue = requests(frames({ cameras: Number(cameras), frames: Number(count), step: 100_000n, name }), 100);
await recorder.record([]);
process.send?.('ready');
process.once('message', () => {
  void (async () => {
    const start = Date.now();
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (let request = queue.shift(); request !== undefined; request = queue.shift())
          await recorder.record(request);
      }),
    );
    process.send?.({ start, end: Date.now() });
    process.disconnect();
  })();
});
