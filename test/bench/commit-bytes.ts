import { MICROSECONDS } from '../../src/analytics/model/day.ts';
import { instantFrom } from '../../src/analytics/model/instant.ts';
import { keptCountersOn } from './counters.ts';
import { report, type ResultRow, sized } from './measure.ts';
import type { Stage } from './stage.ts';
import { dayStart, frames, requests } from './workload.ts';

const CAMERAS = sized(1_300, 60);

/** Most events that fit into a transaction is 46: 2 operations each, and the counters'. */
const EVENTS = [1, 6, 46] as const;

/** Where in a minute to commit: its row grows with its frames. */
const SECONDS = [30, 57] as const;

/** How many rows one more commit writes, and how many bytes it sends, after an hour of a network of cameras. */
export const commitBytesBench = async (stage: Stage): Promise<void> => {
  const hour = Number(process.env['BENCH_EVENTS'] ?? sized(90_000, 600));
  let sent = 0;
  const { connectionString } = await stage.proxy(await stage.azurite(), ({ path, body }, carryOut) => {
    if (path.includes('$batch')) sent += body.length;
    return carryOut();
  });
  const { recorder, table } = keptCountersOn(connectionString, 'bytes');
  const start = instantFrom(dayStart() + 8n * MICROSECONDS.hour);
  const messages = frames({ cameras: CAMERAS, frames: hour, step: MICROSECONDS.hour / BigInt(hour), start });
  const rows: ResultRow[] = [];
  let recorded = 0;
  for (const second of SECONDS) {
    const filled = Math.floor((hour * (59 * 60 + second)) / 3_600);
    for (const request of requests(messages.slice(recorded, filled), 5_000)) await recorder.record(request);
    recorded = filled;
    for (const [index, events] of EVENTS.entries()) {
      sent = 0;
      table.writes.length = 0;
      const at = instantFrom(start + 59n * MICROSECONDS.minute + BigInt(second + index) * 1_000_000n);
      const name = `c${second}-${events}`;
      await recorder.record(frames({ cameras: CAMERAS, frames: events, step: 10_000n, start: at, name }));
      const transactions = table.writes.splice(0);
      rows.push({
        'second of the minute': second,
        'events in the commit': events,
        transactions: transactions.length,
        'rows written': transactions.reduce((sum, { rows: written }) => sum + written.length, 0),
        'bytes sent': sent,
      });
    }
  }
  report(`What a commit sends, ${CAMERAS} cameras, in the last minute of an hour of ${hour} frames`, rows);
};
