import { TableClient, type TableServiceClientOptions } from '@azure/data-tables';
import { describe, expect, inject, test, vi } from 'vitest';

import { ONE_REQUEST } from '../../src/azure/one-request.ts';
import { AzureTable } from '../../src/storage/azure-table.ts';
import type { TableConnection } from '../../src/storage/connection.ts';
import { LaterFormat, RequestRefused, TableMissing, WriteConflict } from '../../src/storage/errors.ts';
import { ANY_VERSION, type NewProperties, type RowWrite } from '../../src/storage/row.ts';
import { Table, type TableOptions } from '../../src/storage/table.ts';
import { ownTablesPrefix } from '../harness/app.ts';
import { MemoryTable } from './memory-table.ts';

// The rest of the service, and every world in memory, relies on these promises.

/** Table Storage answers null for each selected property that a row lacks. Azurite leaves it out; this policy adds it. */
const SELECTED_NULLS: NonNullable<TableServiceClientOptions['additionalPolicies']>[number] = {
  position: 'perRetry',
  policy: {
    name: 'selected nulls',
    sendRequest: async (request, next) => {
      const response = await next(request);
      const names = new URL(request.url).searchParams.get('$select')?.split(',') ?? [];
      const nulls = Object.fromEntries(names.map((name) => [name, null]));
      const filled = (_: string, value: unknown): unknown =>
        typeof value === 'object' && value !== null && 'RowKey' in value ? { ...nulls, ...value } : value;
      const text = response.bodyAsText ?? '';
      return { ...response, bodyAsText: text.startsWith('{') ? JSON.stringify(JSON.parse(text, filled)) : text };
    },
  },
};

const onAzurite = (): TableConnection => {
  const client = TableClient.fromConnectionString(inject('tablesConnectionString'), `${ownTablesPrefix()}contract`, {
    allowInsecureConnection: true,
    ...ONE_REQUEST,
    additionalPolicies: [SELECTED_NULLS],
  });
  return new AzureTable(() => client);
};

const EVERY_KEY = { from: '', before: '\uFFFF' };
const insert = (rowKey: string, properties: NewProperties = {}): RowWrite => ({ kind: 'insert', rowKey, properties });
const inserts = (count: number) => Array.from({ length: count }, (_, index) => insert(`r${index}`));

describe.each([
  ['in memory', () => new MemoryTable()],
  ['on Azurite', onAzurite],
])('a table %s', (_, connect) => {
  const make = (options: Partial<TableOptions> = {}, connection = connect()): Table =>
    new Table(connection, { format: 2, ...options });

  test('is created by the first client that may create it, which is told; to a client that only reads it is missing', async () => {
    const connection = connect();
    const told: string[] = [];
    const reader = make({ isCreated: false }, connection);
    await expect(reader.get('p', 'r')).rejects.toThrow(TableMissing);
    await expect(reader.transact('p', [insert('r')])).rejects.toThrow(TableMissing);
    for (const name of ['first', 'second']) {
      const table = make({ onCreated: () => told.push(name) }, connection);
      await Promise.all([1, 2, 3].map(async (at) => table.insert('p', `${name} ${at}`, {})));
    }
    expect([told, await connection.create(AbortSignal.timeout(60_000))]).toEqual([['first'], false]);
    expect(await reader.all('p', EVERY_KEY)).toHaveLength(6);
  });

  test('keeps every kind of value, and answers the time of the write', async () => {
    const table = make();
    const properties = { text: 'ü \u{1F525} ', empty: '', number: -7, fraction: 0.5, yes: true, when: new Date(123) };
    const binary = Uint8Array.of(0, 255, 10);
    const etag = await table.insert('p', 'r', { ...properties, binary, none: undefined });
    const row = await table.get('p', 'r');
    const { timestamp, binary: stored, ...others } = row?.properties ?? {};
    expect(new Date(String(timestamp)).getTime()).toBeGreaterThan(Date.now() - 60_000);
    expect(stored instanceof Uint8Array && [...stored]).toEqual([...binary]);
    expect(row).toMatchObject({ partitionKey: 'p', rowKey: 'r', etag });
    expect(others).toEqual({ ...properties, format: 2 });
  });

  test.each(['merge', 'replace'] as const)(
    'a %s needs the version that was read, and gives a new one',
    async (kind) => {
      const table = make();
      const first = (await table.insert('p', 'r', { n: 1, kept: 'yes' })) ?? '';
      const write = async (etag: string, n: number) =>
        table.transact('p', [{ kind, rowKey: 'r', etag, properties: { n } }]);
      const [second = ''] = await write(first, 2);
      await expect(write(first, 3)).rejects.toThrow(WriteConflict);
      const { etag, properties } = (await table.get('p', 'r')) ?? {};
      expect([etag === first, etag, properties?.['n'], properties?.['kept']]).toEqual([
        false,
        second,
        2,
        kind === 'merge' ? 'yes' : undefined,
      ]);
    },
  );

  test('a merge at any version changes only what it names, and gives a new version', async () => {
    const table = make();
    const etag = (await table.insert('p', 'r', { mine: 1, other: 1 })) ?? '';
    const mark: RowWrite = { kind: 'merge', rowKey: 'r', etag: ANY_VERSION, properties: { mine: 2 } };
    await table.transact('p', [mark]);
    await expect(table.transact('p', [{ ...mark, etag }])).rejects.toThrow(WriteConflict);
    expect((await table.get('p', 'r'))?.properties).toMatchObject({ mine: 2, other: 1 });
    await expect(table.transact('p', [{ ...mark, rowKey: 'absent' }])).rejects.toThrow(WriteConflict);
  });

  test('inserts and deletes a row once, whatever its version and its key', async () => {
    const table = make();
    for (const key of ['it\'s "quoted" & <tagged>', '／＃｜', ' ', '🔥🌲', '\u00a0\ufeff', '--batch_x']) {
      expect(await table.insert('p', key, { n: 1, key })).toBeTypeOf('string');
      expect(await table.insert('p', key, { n: 2 })).toBeUndefined();
      expect((await table.get('p', key))?.properties).toMatchObject({ n: 1, key });
      const remove = async () => table.transact('p', [{ kind: 'delete', rowKey: key }]);
      expect(await remove()).toEqual(['']);
      expect(await table.get('p', key)).toBeUndefined();
      await expect(remove()).rejects.toThrow(WriteConflict);
    }
  });

  test('applies all writes of a transaction or none, and names the one that failed', async () => {
    const table = make();
    const [one = '', two = ''] = await table.transact('p', [insert('1', { n: 1 }), insert('2', { n: 1 })]);
    const merge: RowWrite = { kind: 'merge', rowKey: '1', etag: one, properties: { n: 2 } };
    const etags = await table.transact('p', [insert('3', { n: 1 }), merge, { kind: 'delete', rowKey: '2' }]);
    expect(etags).toEqual([expect.any(String), (await table.get('p', '1'))?.etag, '']);
    const stale = { kind: 'replace', rowKey: '3', etag: two, properties: { n: 3 } } as const;
    const failing = [insert('4'), { ...stale, rowKey: '1', etag: etags[1] ?? '' }, stale];
    await expect(table.transact('p', failing)).rejects.toMatchObject({ name: 'WriteConflict', index: 2 });
    const rows = await table.all('p', EVERY_KEY);
    expect(rows.map(({ rowKey, properties }) => `${rowKey}: ${String(properties['n'])}`)).toEqual(['1: 2', '3: 1']);
  });

  test('refuses more than 100 writes, a row written twice, and a text or bytes of more than 64 KiB', async () => {
    const table = make();
    const [text, bytes] = ['x'.repeat(32 * 1024 + 1), new Uint8Array(64 * 1024 + 1)];
    for (const writes of [
      inserts(101),
      [insert('r'), insert('r')],
      [insert('r', { text })],
      [insert('r', { bytes })],
    ]) {
      await expect(table.transact('p', writes)).rejects.toThrow(RequestRefused);
    }
    await table.transact('p', inserts(100));
    expect(await table.all('p', EVERY_KEY)).toHaveLength(100);
  });

  test('answers the rows of a key range of one partition in the order of their keys, in pages with continuations', async () => {
    const table = make();
    const keys = ['event|b', 'event|a', 'event}', 'event', 'event|\uFF0Fz', 'camera|a', 'event|a 01'];
    for (const key of keys) await table.insert('p', key, { own: key });
    await table.insert('q', 'event|q', {});
    const range = { from: 'event|', before: 'event}' };
    const first = await table.page('p', range, { most: 3 });
    const { continuation } = first;
    const second = await table.page('p', range, { most: 3, continuation });
    expect([continuation === undefined, second.continuation]).toEqual([false, undefined]);
    const paged = [first, second].map(({ rows }) => rows.map(({ rowKey }) => rowKey));
    expect(paged).toEqual([['event|a', 'event|a 01', 'event|b'], ['event|\uFF0Fz']]);
    const all = await table.all('p', range, { most: 1, select: ['own'] });
    expect(all.map(({ properties }) => properties['own'])).toEqual(paged.flat());
  });

  test('answers only the rows of which a text is in a range', async () => {
    const table = make();
    for (const own of ['a', 'b', "b'c", 'c']) await table.insert('p', `r|${own.length}${own.charAt(0)}`, { own });
    await table.insert('p', 'r|without', {});
    const rows = await table.all('p', EVERY_KEY, { where: { property: 'own', from: 'b', to: "b'c" } });
    expect(rows.map(({ properties }) => properties['own'])).toEqual(['b', "b'c"]);
  });

  test('answers only the properties that are asked for; those that a row lacks are absent', async () => {
    const table = make();
    await table.insert('p', 'r', { one: 1, two: 2 });
    expect((await table.get('p', 'r', { select: ['one', 'three'] }))?.properties).toEqual({ format: 2, one: 1 });
    const written = await table.get('p', 'r', { select: ['Timestamp'] });
    expect(Object.keys(written?.properties ?? {}).sort()).toEqual(['format', 'timestamp']);
  });

  test('names the first partition with a row, of a range of partitions', async () => {
    const table = make();
    for (const partition of ['a_63', 'b', 'b_07', 'b_40', 'c_00']) await table.insert(partition, 'r', {});
    const first = async (from: string) => table.firstPartition({ from, before: 'c_00' });
    expect([await first('b_00'), await first('b_08'), await first('b_41')]).toEqual(['b_07', 'b_40', undefined]);
  });

  test('tells the time of storage, whatever the clock of this process says', async () => {
    const table = make();
    const right = Date.now();
    vi.spyOn(Date, 'now').mockReturnValue(right - 180_000);
    await table.get('p', 'r');
    expect(Math.abs(table.now() - right)).toBeLessThan(60_000);
  });

  test('a row of a later format is an error', async () => {
    const connection = connect();
    await make({ format: 3 }, connection).insert('p', 'r', {});
    const table = make({}, connection);
    for (const select of [['n'], undefined]) await expect(table.get('p', 'r', { select })).rejects.toThrow(LaterFormat);
    await expect(table.all('p', EVERY_KEY)).rejects.toThrow(LaterFormat);
  });
});

test('a table in memory refuses a row of more than 1 MiB, which Azurite takes', async () => {
  const properties = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`p${index}`, 'x'.repeat(32 * 1024)]));
  const table = new Table(new MemoryTable(), { format: 2 });
  await expect(table.insert('p', 'r', properties)).rejects.toThrow(RequestRefused);
});
