import { FORMAT } from '../../src/analytics/rows/format.ts';
import { cameraKey, shardPartition, TOTAL_KEY } from '../../src/analytics/rows/keys.ts';
import { readFence } from '../../src/analytics/rows/stripes.ts';
import { AzureTable } from '../../src/storage/azure-table.ts';
import type { TableClient } from '@azure/data-tables';

import { startAzurite } from '../../infra/local/azurite.ts';
import { dayOf, endOfDay } from '../../src/analytics/model/day.ts';
import { Table } from '../../src/storage/table.ts';
import { countersOn } from './counters.ts';
import { inTurn, percentile, report, rounded, type ResultRow } from './measure.ts';
import { sized } from './size.ts';
import { dayStart, frames, requests } from './workload.ts';

const ROUNDS = sized(200, 1);
const CAMERA = 'camera-0007';
const DAY = dayOf(dayStart());
const PERIOD = { start: dayStart(), end: endOfDay(DAY) };
const PARTITION = shardPartition(DAY, 0);

/** Keeps the requests that it is asked for, so that they can be sent again with nothing around them. */
class KeepingReads extends Table {
  readonly #bare: TableClient;
  readonly kept: (() => Promise<unknown>)[] = [];

  constructor(bare: TableClient) {
    super(new AzureTable(() => bare), { format: FORMAT });
    this.#bare = bare;
  }

  override async get(...[partition, key, { select } = {}]: Parameters<Table['get']>): ReturnType<Table['get']> {
    const queryOptions = select && { select: ['PartitionKey', 'RowKey', 'Timestamp', ...select] };
    this.kept.push(async () =>
      // A row that is not there is an answer.
      this.#bare.getEntity(partition, key, { ...(queryOptions && { queryOptions }) }).catch(() => undefined),
    );
    return super.get(partition, key, { select });
  }

  override async page(...args: Parameters<Table['page']>): ReturnType<Table['page']> {
    const [partition, { from, before }, { select } = {}] = args;
    const filter = `PartitionKey eq '${partition}' and RowKey ge '${from}' and RowKey lt '${before}'`;
    const queryOptions = { filter, ...(select && { select: ['PartitionKey', 'RowKey', 'Timestamp', ...select] }) };
    this.kept.push(async () => this.#bare.listEntities({ queryOptions }).byPage({ maxPageSize: 1_000 }).next());
    return super.page(...args);
  }
}

const ratioOf = ({ left, right }: { readonly left: number[]; readonly right: number[] }): number =>
  rounded(percentile(left, 0.5) / percentile(right, 0.5));

/** Records four frames of each camera with so many recorders at once, on as many stripes. */
const recorded = async (connectionString: string, prefix: string, cameras: number, stripes: number): Promise<void> => {
  const recorders = Array.from({ length: stripes }, () => countersOn(connectionString, prefix));
  const all = frames({ cameras, frames: cameras * 4, step: 86_400_000_000n / BigInt(cameras * 4) });
  const parts = requests(all, Math.ceil(all.length / stripes));
  await Promise.all(
    recorders.map(async ({ recorder }, index) => {
      // Several commits each, so that they meet.
      for (const request of requests(parts[index] ?? [], 50)) await recorder.record(request);
    }),
  );
  const found = await readFence(countersOn(connectionString, prefix).table, PARTITION);
  if (found?.stripes !== stripes) throw new Error(`${found?.stripes} stripes in place of ${stripes}`);
};

/**
 * The answer for a day and for a day of a camera, against one bare `getEntity` of the row that holds it, and against the reader's own
 * requests, sent at once with nothing around them.
 */
export const readingBench = async (): Promise<void> => {
  const azurite = await startAzurite();
  try {
    const rows: ResultRow[] = [];
    for (const { cameras, stripes } of [
      { cameras: 20, stripes: 1 },
      { cameras: 200, stripes: 1 },
      { cameras: sized(1_300, 300), stripes: 1 },
      { cameras: sized(1_300, 200), stripes: 4 },
    ]) {
      const prefix = `read${cameras}x${stripes}`;
      await recorded(azurite.connectionString, prefix, cameras, stripes);
      const { reader, client } = countersOn(azurite.connectionString, prefix);
      const tables: KeepingReads[] = [];
      const keeping = countersOn(azurite.connectionString, prefix, 1, (own) => {
        const table = new KeepingReads(own);
        tables.push(table);
        return table;
      });
      for (const [what, key, camera] of [
        ['day', TOTAL_KEY, undefined],
        ["a camera's day", cameraKey(CAMERA), CAMERA],
      ] as const) {
        const read = async (): Promise<unknown> => reader.activity(PERIOD, camera);
        // The first reading learns how many shards and stripes there are.
        await keeping.reader.activity(PERIOD, camera);
        for (const table of tables) table.kept.length = 0;
        await keeping.reader.activity(PERIOD, camera);
        const kept = tables.flatMap((table) => table.kept.slice());
        const same = async (): Promise<unknown> => Promise.all(kept.map(async (send) => send()));
        const one = async (): Promise<unknown> => client.getEntity(PARTITION, key);
        await inTurn(sized(50, 1), read, same);
        const againstSame = await inTurn(ROUNDS, read, same);
        const againstOne = await inTurn(ROUNDS, read, one);
        rows.push({
          cameras,
          stripes,
          answer: what,
          requests: kept.length,
          'p50, ms': rounded(percentile([...againstSame.left, ...againstOne.left], 0.5)),
          'against the same requests, bare': ratioOf(againstSame),
          'against one bare getEntity': ratioOf(againstOne),
        });
      }
    }
    report('Answers against bare requests', rows);
  } finally {
    await azurite.stop();
  }
};
