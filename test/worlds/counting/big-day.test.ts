import { setTimeout as sleep } from 'node:timers/promises';

import { expect, it } from 'vitest';

import { randomFrom } from '../../../infra/cli/demo/random.ts';
import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom, sortableInstant } from '../../../src/analytics/model/instant.ts';
import { backUpDays } from '../../../src/analytics/retention/back-up-days.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { FORMAT } from '../../../src/analytics/rows/properties.ts';
import { shardPartition } from '../../../src/analytics/rows/keys.ts';
import type { Page } from '../../../src/storage/connection.ts';
import { Table } from '../../../src/storage/table.ts';
import { CountingProcess, frame, SILENT } from '../../analytics/counting.ts';
import { DAY } from '../../analytics/oracle.ts';
import { MemoryContainer } from '../../storage/memory-container.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { inVirtualTime } from '../virtual-time.ts';

const START = 20_700n * DAY;
const DATE = dayOf(instantFrom(START));
const SHARD = shardPartition(DATE, 0);

/** A tenth of 20 million events, and of the 20 minutes of a run. Every row stands for a page of a thousand. */
const PAGES_AN_HOUR = 83;
const RUN_MS = 2 * 60_000;
const REQUEST_MS = 100;

/** A table in which requests take time. Each page of a large day is one row here. */
class SlowTable extends MemoryTable {
  /** Of each hour: the pages that are left. */
  readonly left = Array.from({ length: 24 }, () => PAGES_AN_HOUR);

  override async page(...args: Parameters<MemoryTable['page']>): Promise<Page> {
    const [partitionKey, { from, before }, { continuation }] = args;
    await sleep(REQUEST_MS);
    if (!from.startsWith('event|') || partitionKey !== SHARD) return super.page(...args);
    const end = hourIn(before, 24);
    let [hour = 0, at = 0] = continuation?.split(' ').map(Number) ?? [hourIn(from, 0)];
    // Deleted pages, and the ends of hours, are skipped.
    at = Math.max(at, PAGES_AN_HOUR - (this.left[hour] ?? 0));
    while (at === PAGES_AN_HOUR && hour < end) {
      hour += 1;
      at = PAGES_AN_HOUR - (this.left[hour] ?? 0);
    }
    return hour < end
      ? { rows: [eventRow(hour, at)], continuation: `${hour} ${at + 1}` }
      : { rows: [], continuation: undefined };
  }

  override async transact(...args: Parameters<MemoryTable['transact']>): Promise<readonly string[]> {
    const [partitionKey, [write]] = args;
    await sleep(REQUEST_MS);
    if (write?.kind !== 'delete' || partitionKey !== SHARD) return super.transact(...args);
    const hour = hourIn(write.rowKey, 0);
    this.left[hour] = (this.left[hour] ?? 0) - 1;
    return [''];
  }
}

const hourIn = (key: string, otherwise: number): number => Number(/^event\|(\d\d)/.exec(key)?.[1] ?? otherwise);

const eventRow = (hour: number, at: number) => {
  const minute = Math.floor((at * 60) / PAGES_AN_HOUR);
  const ts = sortableInstant(instantFrom(START + BigInt(60 * hour + minute) * 60_000_000n));
  const clock = `${String(hour).padStart(2, '0')}${String(minute).padStart(2, '0')}`;
  return {
    partitionKey: SHARD,
    rowKey: `event|${clock}|a|f${at}`,
    etag: 'e',
    properties: { format: FORMAT, ts_utc: ts },
  };
};

it('a day that is too large for one run, with pages of 100 ms, is backed up and closed in some runs, none longer than its time', async () => {
  const begins = Number((START + 40n * DAY) / 1_000n);
  const played = await inVirtualTime(begins, randomFrom('a big day'), true, async (time) => {
    const memory = new SlowTable(() => time.now);
    await memory.create();
    const table = new Table(memory, { format: FORMAT });
    const process = new CountingProcess(table);
    const frames = Array.from({ length: 24 }, (_, hour) => frame('a', 'f', START + BigInt(hour) * 3_600_000_000n));
    await time.passUntil(process.record([...frames, frame('a', 'f', START + DAY)]), RUN_MS);
    const container = new MemoryContainer();
    /** Runs a timer every two hours until its work is done. @returns the time of each run, in milliseconds */
    const runs = async (run: () => Promise<void>, isDone: () => Promise<boolean>): Promise<readonly number[]> => {
      const took: number[] = [];
      while (!(await isDone()) && took.length < 30) {
        await time.pass(2 * 3_600_000);
        const before = time.now;
        if (!(await time.passUntil(run(), 3_600_000))) throw new Error('a run does not end');
        took.push(time.now - before);
      }
      return took;
    };
    const fileCount = async (day: string) => (await container.list(`${day}.`)).size;
    const parts = { table, shards: 1, container: async () => container, runMs: RUN_MS };
    const backups = await runs(
      async () => backUpDays(parts, SILENT),
      async () => (await fileCount(DATE)) === 24,
    );
    const isClosed = async () => (await memory.get(SHARD, 'day|00', {}))?.properties['events_deleted'] === true;
    const closings = await runs(async () => closeDays({ ...parts, retentionDays: 7 }, SILENT), isClosed);
    const events = [...(await container.list(`${SHARD}/`)).values()].map(({ facts }) => Number(facts['events']));
    return { backups, closings, events, left: memory.left };
  });
  expect(played.events).toEqual(Array.from({ length: 24 }, () => PAGES_AN_HOUR));
  expect(Math.max(...played.backups, ...played.closings)).toBeLessThan(RUN_MS + 10 * REQUEST_MS);
  expect(played.backups.length).toBe(2);
  expect(played.closings.length).toBe(5);
  expect(new Set(played.left)).toEqual(new Set([0]));
}, 60_000);
