import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import type { TableConnection } from '../../src/storage/connection.ts';
import { RequestRefused, StorageTrouble, TableMissing, WriteConflict } from '../../src/storage/errors.ts';
import { Table } from '../../src/storage/table.ts';
import { InterposedTable, type TableRequest, type Turn } from './interposed-table.ts';
import { MemoryTable } from './memory-table.ts';

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});
afterEach(() => vi.useRealTimers());

const tableOn = (connection: TableConnection): Table => new Table(connection, { format: 1 });

/** A table in memory that is still missing, and the kinds of requests that it got. */
const tableWith = (turn: Turn = async () => undefined) => {
  const requests: TableRequest['kind'][] = [];
  const memory = new InterposedTable(async (request) => {
    requests.push(request.kind);
    return turn(request);
  });
  return { table: tableOn(memory), requests, memory };
};

/** How long a promise takes, in virtual milliseconds, and what it throws. */
const outcome = async (run: () => Promise<unknown>): Promise<{ readonly ms: number; readonly error: unknown }> => {
  const start = Date.now();
  const settled = run().then(
    () => ({ ms: Date.now() - start, error: undefined }),
    (error: unknown) => ({ ms: Date.now() - start, error }),
  );
  await vi.runAllTimersAsync();
  return settled;
};

/** Requests of a kind fail some times first. */
const failing = (wrong: TableRequest['kind'], times: number, error: Error): Turn => {
  let failed = 0;
  return async ({ kind }) => {
    if (kind !== wrong || failed === times) return;
    failed += 1;
    throw error;
  };
};

const never = async (): Promise<never> => new Promise(() => undefined);

test('a deadline ends each try of a read, also if the connection ignores the signal, and the only try of a write', async () => {
  let aborted = 0;
  const get: TableConnection['get'] = async (_partition, _row, _selection, signal) => {
    signal.addEventListener('abort', () => (aborted += 1));
    return never();
  };
  const table = tableOn(Object.assign(new MemoryTable(), { get, transact: never }));
  const read = await outcome(async () => table.get('p', 'r', { deadlineMs: 100, tries: 2 }));
  expect(read).toMatchObject({ ms: 100 + 25 + 100, error: { name: 'StorageTrouble', reason: 'deadline' } });
  expect(aborted).toBe(2);
  const write = await outcome(async () => table.insert('p', 'r', {}, { deadlineMs: 1_500 }));
  expect(write).toMatchObject({ ms: 1_500, error: { name: 'StorageTrouble' } });
  expect((await outcome(async () => table.insert('p', 'r', {}))).ms, 'by default').toBe(5_000);
});

describe('a failed read', () => {
  test.each([
    ['is repeated with growing pauses of a random part, four times in all', 9, 0, 25 + 50 + 100, 4],
    ['waits as long as storage asks', 1, 2_000, 2_000, 2],
    ['waits no longer than is reasonable', 1, 60_000, 3_000, 2],
  ])('%s', async (_, times, retryAfterMs, ms, gets) => {
    const { table, requests, memory } = tableWith(failing('get', times, new StorageTrouble(retryAfterMs)));
    await memory.memory.create();
    expect((await outcome(async () => table.get('p', 'r'))).ms).toBe(ms);
    expect(requests.filter((kind) => kind === 'get')).toHaveLength(gets);
  });

  test.each([new RequestRefused(400), new WriteConflict()])(
    'is not repeated if it would fail again: $name',
    async (error) => {
      const { table, requests } = tableWith(failing('get', 1, error));
      await expect(table.get('p', 'r')).rejects.toBe(error);
      expect(requests).toEqual(['get']);
    },
  );
});

test('a missing table is created, with one more try of the request; an existing table is only used', async () => {
  const { table, requests, memory } = tableWith(failing('create', 1, new StorageTrouble(0)));
  await expect(table.insert('p', 'r', {})).rejects.toThrow(StorageTrouble);
  expect(await table.insert('p', 'r', {})).toBeTypeOf('string');
  expect(await table.insert('p', 'other', {})).toBeTypeOf('string');
  expect(requests).toEqual(['transact', 'create', 'transact', 'create', 'transact', 'transact']);
  expect(vi.getTimerCount(), 'timers of deadlines').toBe(0);
  memory.turn = failing('transact', 2, new TableMissing());
  await expect(table.insert('p', 'r', {})).rejects.toMatchObject({ name: 'StorageTrouble', reason: 'no table' });
});

test('empty pages are followed, but not for ever', async () => {
  let pages = 0;
  let last = 5;
  const page: TableConnection['page'] = async () => {
    pages += 1;
    return { rows: [], continuation: pages === last ? undefined : 'more' };
  };
  const table = tableOn(Object.assign(new MemoryTable(), { page }));
  expect(await table.all('p', { from: 'a', before: 'b' })).toEqual([]);
  expect(pages).toBe(5);
  last = 1_000;
  await expect(table.all('p', { from: 'a', before: 'b' })).rejects.toMatchObject({ reason: 'empty pages' });
});
