import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import type { TableConnection } from '../../src/storage/connection.ts';
import { RequestRefused, StorageTrouble, WriteConflict } from '../../src/storage/errors.ts';
import { Table } from '../../src/storage/table.ts';
import { MemoryTable } from './memory-table.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A table in memory of which some requests go another way, and the kinds of requests it got. */
const tableWith = (
  others: Partial<TableConnection>,
): { readonly table: Table; readonly requests: string[]; readonly memory: MemoryTable } => {
  const memory = new MemoryTable();
  const requests: string[] = [];
  const connection: TableConnection = {
    get: async (...given) => (requests.push('get'), (others.get ?? memory.get.bind(memory))(...given)),
    page: async (...given) => (requests.push('page'), (others.page ?? memory.page.bind(memory))(...given)),
    transact: async (...given) => (
      requests.push('transact'),
      (others.transact ?? memory.transact.bind(memory))(...given)
    ),
    create: async (...given) => (requests.push('create'), (others.create ?? memory.create.bind(memory))(...given)),
  };
  return { table: new Table(connection, { format: 1, random: () => 1 }), requests, memory };
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

/** A read that fails so many times first. */
const failing = (times: number, error: () => Error): TableConnection['get'] => {
  let failed = 0;
  return async () => {
    failed += 1;
    if (failed <= times) throw error();
    return undefined;
  };
};

const refuseCreation = async (): Promise<void> => Promise.reject(new RequestRefused(403));

const never = async (): Promise<never> => new Promise(() => undefined);

describe('a deadline', () => {
  test('ends each try of a request, also if the connection ignores the signal', async () => {
    let aborted = 0;
    const get: TableConnection['get'] = async (_partition, _row, _selection, signal) => {
      signal.addEventListener('abort', () => (aborted += 1));
      return never();
    };
    const { table, requests } = tableWith({ get });
    const { ms, error } = await outcome(async () => table.get('p', 'r', { deadlineMs: 100, tries: 2 }));
    expect(error).toMatchObject({ name: 'StorageTrouble', reason: 'deadline' });
    expect([ms, aborted]).toEqual([100 + 50 + 100, 2]);
    expect(requests).toEqual(['create', 'get', 'get']);
  });

  test('of a write ends the only try', async () => {
    const { table, requests } = tableWith({ transact: never });
    const { ms, error } = await outcome(async () => table.insert('p', 'r', {}, { deadlineMs: 1_500 }));
    expect(error).toBeInstanceOf(StorageTrouble);
    expect(ms).toBe(1_500);
    expect(requests).toEqual(['create', 'transact']);
  });
});

describe('a failed read', () => {
  test('is repeated with growing pauses, four times in all', async () => {
    const { table, requests } = tableWith({ get: failing(9, () => new StorageTrouble(0)) });
    const { ms, error } = await outcome(async () => table.get('p', 'r'));
    expect(error).toBeInstanceOf(StorageTrouble);
    expect(ms).toBe(50 + 100 + 200);
    expect(requests.filter((kind) => kind === 'get')).toHaveLength(4);
  });

  test('waits as long as storage asks, within reason', async () => {
    const short = tableWith({ get: failing(1, () => new StorageTrouble(2_000)) });
    expect((await outcome(async () => short.table.get('p', 'r'))).ms).toBe(2_000);
    const long = tableWith({ get: failing(1, () => new StorageTrouble(60_000)) });
    expect((await outcome(async () => long.table.get('p', 'r'))).ms).toBe(3_000);
  });

  test.each([new RequestRefused(400), new WriteConflict()])(
    'is not repeated if it would fail again: $name',
    async (error) => {
      const { table, requests } = tableWith({ get: failing(1, () => error) });
      await expect(table.get('p', 'r')).rejects.toBe(error);
      expect(requests).toEqual(['create', 'get']);
    },
  );
});

describe('the table', () => {
  test('is created once for requests that come together', async () => {
    const { table, requests } = tableWith({});
    await Promise.all([table.get('p', '1'), table.get('p', '2'), table.insert('p', '3', {})]);
    expect(requests.filter((kind) => kind === 'create')).toHaveLength(1);
    expect(vi.getTimerCount(), 'timers of deadlines').toBe(0);
  });

  test('that somebody deleted is created again: a read goes on, a write says that it may be tried again', async () => {
    const { table, memory } = tableWith({});
    await table.insert('p', 'r', {});
    memory.drop();
    expect((await outcome(async () => table.get('p', 'r'))).error).toBeUndefined();
    memory.drop();
    await expect(table.insert('p', 'r', {})).rejects.toMatchObject({ name: 'StorageTrouble', reason: 'no table' });
    expect(await table.insert('p', 'r', {})).toBeTypeOf('string');
  });

  test('that may be used and not created is used', async () => {
    const memory = new MemoryTable();
    await memory.create();
    const { table, requests } = tableWith({ create: refuseCreation, get: memory.get.bind(memory) });
    expect(await table.get('p', 'r')).toBeUndefined();
    expect(await table.get('p', 'r')).toBeUndefined();
    expect(requests).toEqual(['create', 'get', 'get']);
  });

  test('that cannot be created is tried again with the next request', async () => {
    let isDown = true;
    const memory = new MemoryTable();
    const create = async (): Promise<void> => (isDown ? Promise.reject(new StorageTrouble(0)) : memory.create());
    const { table } = tableWith({ create, get: memory.get.bind(memory) });
    expect(await table.answers()).toBe(false);
    isDown = false;
    expect(await table.answers()).toBe(true);
  });
});

test('empty pages are followed, but not for ever', async () => {
  let pages = 0;
  const page: TableConnection['page'] = async () => {
    pages += 1;
    return { rows: [], continuation: pages === 5 ? undefined : 'more' };
  };
  const some = tableWith({ page });
  expect(await some.table.all('p', { from: 'a', before: 'b' })).toEqual([]);
  expect(pages).toBe(5);
  const endless = tableWith({ page: async () => ({ rows: [], continuation: 'more' }) });
  await expect(endless.table.all('p', { from: 'a', before: 'b' })).rejects.toMatchObject({ reason: 'empty pages' });
});
