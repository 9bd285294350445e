import type { TableClient } from '@azure/data-tables';

import { MICROSECONDS } from '../src/analytics/model/day.ts';
import { instantFrom } from '../src/analytics/model/instant.ts';
import { rowBytes } from '../test/storage/table-limits.ts';
import { keptCountersOn } from './counters.ts';
import { report, type ResultRow, sized } from './measure.ts';
import type { Stage } from './stage.ts';
import { dayStart, frames, requests } from './workload.ts';

const CAMERAS = sized(1_300, 60);

/** Most events that fit into a transaction is 46: 2 operations each, and the counters'. */
const EVENTS = [1, 6, 46] as const;

/** Where in a minute to commit: its row grows with its frames. */
const SECONDS = [30, 57] as const;

/** What the SDK adds to a row, and its keys, which are counted apart. */
const NOT_STORED = new Set(['odata.metadata', 'etag', 'timestamp', 'partitionKey', 'rowKey']);

/** Bytes of a whole row as the service counts them. */
const storedBytes = async (client: TableClient, partitionKey: string, rowKey: string): Promise<number> => {
  const row = Object.entries(await client.getEntity(partitionKey, rowKey));
  const properties = Object.fromEntries(row.filter(([name]) => !NOT_STORED.has(name)));
  return rowBytes({ partitionKey, rowKey, properties });
};

/** How many bytes of rows one more commit touches, after an hour of a network of cameras. */
export const commitBytesBench = async (stage: Stage): Promise<void> => {
  const hour = Number(process.env['BENCH_EVENTS'] ?? sized(90_000, 600));
  let sent = 0;
  const { connectionString } = await stage.proxy(await stage.azurite(), ({ path, body }, carryOut) => {
    if (path.includes('$batch')) sent += body.length;
    return carryOut();
  });
  const { recorder, client, table } = keptCountersOn(connectionString, 'bytes');
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
      const sizes = await Promise.all(
        transactions.flatMap(({ partition, rows: written }) =>
          written.map(async ({ rowKey }) => storedBytes(client, partition, rowKey)),
        ),
      );
      rows.push({
        'second of the minute': second,
        'events in the commit': events,
        transactions: transactions.length,
        'rows written': sizes.length,
        'bytes of these rows': sizes.reduce((sum, bytes) => sum + bytes, 0),
        'bytes sent': sent,
      });
    }
  }
  report(
    `Bytes of the rows that a commit touches, ${CAMERAS} cameras, in the last minute of an hour of ${hour} frames`,
    rows,
  );
};
