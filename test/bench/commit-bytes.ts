import type { TableClient } from '@azure/data-tables';
import { z } from 'zod';

import { startAzurite } from '../../infra/local/azurite.ts';
import { MICROSECONDS } from '../../src/analytics/model/day.ts';
import { instantFrom } from '../../src/analytics/model/instant.ts';
import { Between } from '../harness/between.ts';
import { rowBytes } from '../analytics/table-limits.ts';
import { countersOn } from './counters.ts';
import { report, type ResultRow } from './measure.ts';
import { sized } from './size.ts';
import { dayStart, frames, requests } from './workload.ts';

const CAMERAS = sized(1_300, 60);

/** Most events that fit into a transaction is 46: 2 operations each, and the counters'. */
const EVENTS = [1, 6, 46] as const;

/** Where in a minute to commit: its row grows with its frames. */
const SECONDS = [30, 57] as const;

const keysSchema = z.object({ PartitionKey: z.string(), RowKey: z.string() });

/** A row that a transaction writes. */
interface WrittenRow {
  readonly partitionKey: string;
  readonly rowKey: string;
}

const keyIn = (target: string, name: string): string | undefined => {
  const quoted = new RegExp(`${name}='((?:[^']|'')*)'`).exec(decodeURIComponent(target))?.[1];
  return quoted?.replaceAll("''", "'");
};

/** The row that an operation of a transaction writes: an update names it in its address, an insert in its body. */
const rowOf = (operation: string): WrittenRow => {
  const target = /^[A-Z]+ (\S+) HTTP\/1\.1/m.exec(operation)?.[1] ?? '';
  const [partitionKey, rowKey] = [keyIn(target, 'PartitionKey'), keyIn(target, 'RowKey')];
  if (partitionKey !== undefined && rowKey !== undefined) return { partitionKey, rowKey };
  const { PartitionKey, RowKey } = keysSchema.parse(JSON.parse(/^\{.*\}\s*$/m.exec(operation)?.[0] ?? '{}'));
  return { partitionKey: PartitionKey, rowKey: RowKey };
};

/** The rows that a transaction writes, from the body of its request. */
const rowsOf = (transaction: string): readonly WrittenRow[] =>
  transaction
    .split(/^--changeset_\S+$/m)
    .filter((part) => part.includes(' HTTP/1.1'))
    .map(rowOf);

/** Bytes of a whole row as the service counts them. */
const storedBytes = async (client: TableClient, { partitionKey, rowKey }: WrittenRow): Promise<number> => {
  const {
    'odata.metadata': _,
    etag: __,
    timestamp: ___,
    partitionKey: ____,
    rowKey: _____,
    ...properties
  } = await client.getEntity(partitionKey, rowKey);
  return rowBytes({ partitionKey, rowKey, properties });
};

/** How many bytes of rows one more commit touches, after an hour of a network of cameras. */
export const commitBytesBench = async (): Promise<void> => {
  const hour = Number(process.env['BENCH_EVENTS'] ?? sized(90_000, 600));
  const azurite = await startAzurite();
  const proxy = await Between.start(azurite.connectionString);
  let transactions: string[] = [];
  proxy.rule = ({ path, body }, carryOut) => {
    if (path.includes('$batch')) transactions.push(body);
    return carryOut();
  };
  try {
    const { recorder } = countersOn(proxy.connectionString, 'bytes');
    const { client } = countersOn(azurite.connectionString, 'bytes');
    const start = instantFrom(dayStart() + 8n * MICROSECONDS.hour);
    const step = MICROSECONDS.hour / BigInt(hour);
    const messages = frames({ cameras: CAMERAS, frames: hour, step, start });
    const rows: ResultRow[] = [];
    let recorded = 0;
    for (const second of SECONDS) {
      const minute = instantFrom(start + 59n * MICROSECONDS.minute);
      const filled = Math.floor((hour * (59 * 60 + second)) / 3_600);
      for (const request of requests(messages.slice(recorded, filled), 5_000)) {
        await recorder.record(request);
        transactions = [];
      }
      recorded = filled;
      for (const [index, events] of EVENTS.entries()) {
        transactions = [];
        const at = instantFrom(minute + BigInt(second + index) * 1_000_000n);
        await recorder.record(
          frames({ cameras: CAMERAS, frames: events, step: 10_000n, start: at, name: `c${second}-${events}` }),
        );
        const written = transactions.flatMap(rowsOf);
        if (written.length === 0) throw new Error('no row was found in the transactions of a commit');
        const sizes = await Promise.all(
          written.map(async (row) => ({ key: row.rowKey, bytes: await storedBytes(client, row) })),
        );
        sizes.sort((left, right) => right.bytes - left.bytes);
        rows.push({
          'second of the minute': second,
          'events in the commit': events,
          transactions: transactions.length,
          'rows written': written.length,
          'bytes of these rows': sizes.reduce((sum, { bytes }) => sum + bytes, 0),
          'bytes sent': transactions.reduce((sum, body) => sum + body.length, 0),
          'largest rows': sizes
            .slice(0, 4)
            .map(({ key, bytes }) => `${key} ${bytes}`)
            .join(', '),
        });
      }
    }
    report(
      `Bytes of the rows that a commit touches, ${CAMERAS} cameras, in the last minute of an hour of ${hour} frames`,
      rows,
    );
  } finally {
    await proxy.stop();
    await azurite.stop();
  }
};
