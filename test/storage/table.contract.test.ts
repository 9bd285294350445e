import { TableClient } from '@azure/data-tables';
import { describe, expect, inject, test, vi } from 'vitest';

import { AzureTable } from '../../src/storage/azure-table.ts';
import type { TableConnection } from '../../src/storage/connection.ts';
import { LaterFormat, RequestRefused, TableMissing, WriteConflict } from '../../src/storage/errors.ts';
import { ANY_VERSION, type NewProperties, type RowWrite } from '../../src/storage/row.ts';
import { Table, type TableOptions } from '../../src/storage/table.ts';
import { ownTablesPrefix } from '../harness/app.ts';
import { SELECTED_NULLS } from './selected-nulls.ts';
import { MemoryTable } from './memory-table.ts';

// What the rest of the service, and every world that is played in memory, relies on.

const onAzurite = (): TableConnection => {
  const client = TableClient.fromConnectionString(inject('tablesConnectionString'), `${ownTablesPrefix()}contract`, {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
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

  test('is created with its first use, and by readers that create none it is reported as missing', async () => {
    const connection = connect();
    const reader = make({ isCreated: false }, connection);
    await expect(reader.get('p', 'r')).rejects.toThrow(TableMissing);
    await expect(reader.transact('p', [insert('r')])).rejects.toThrow(TableMissing);
    expect(await reader.answers()).toBe(false);
    const writer = make({}, connection);
    expect(await writer.get('p', 'r')).toBeUndefined();
    expect(await reader.get('p', 'r')).toBeUndefined();
    expect(await reader.answers()).toBe(true);
  });

  test('keeps every kind of value', async () => {
    const table = make();
    const properties = {
      text: 'ü \u{1F525} ',
      empty: '',
      number: -7,
      fraction: 0.5,
      yes: true,
      bytes: Uint8Array.of(0, 255, 10),
      when: new Date('2026-11-21T08:00:00.123Z'),
    };
    const etag = await table.insert('p', 'r', { ...properties, none: undefined });
    const row = await table.get('p', 'r');
    const { timestamp, bytes, ...others } = row?.properties ?? {};
    expect(new Date(String(timestamp)).getTime()).toBeGreaterThan(Date.now() - 60_000);
    // A Buffer or a Uint8Array.
    expect({ ...others, bytes: Uint8Array.from(bytes instanceof Uint8Array ? bytes : []) }).toEqual({
      ...properties,
      format: 2,
    });
    expect(row).toMatchObject({ partitionKey: 'p', rowKey: 'r', etag });
  });

  test.each(['merge', 'replace'] as const)('a %s needs the version that was read', async (kind) => {
    const table = make();
    const first = (await table.insert('p', 'r', { n: 1, kept: 'yes' })) ?? '';
    const [second = ''] = await table.transact('p', [{ kind, rowKey: 'r', etag: first, properties: { n: 2 } }]);
    expect(second).not.toBe(first);
    const stale = table.transact('p', [{ kind, rowKey: 'r', etag: first, properties: { n: 3 } }]);
    await expect(stale).rejects.toThrow(WriteConflict);
    const row = await table.get('p', 'r');
    expect(row?.etag).toBe(second);
    expect(row?.properties['n']).toBe(2);
    expect(row?.properties['kept']).toBe(kind === 'merge' ? 'yes' : undefined);
  });

  test('a merge at any version changes only what it names, and gives a new version', async () => {
    const table = make();
    const first = (await table.insert('p', 'r', { mine: 1, other: 1 })) ?? '';
    const mark: RowWrite = { kind: 'merge', rowKey: 'r', etag: ANY_VERSION, properties: { mine: 2 } };
    await table.transact('p', [mark]);
    const stale: RowWrite = { kind: 'merge', rowKey: 'r', etag: first, properties: { other: 2 } };
    await expect(table.transact('p', [stale])).rejects.toThrow(WriteConflict);
    expect((await table.get('p', 'r'))?.properties).toMatchObject({ mine: 2, other: 1 });
    await expect(table.transact('p', [{ ...mark, rowKey: 'absent' }])).rejects.toThrow(WriteConflict);
  });

  test('inserts and deletes a row once, whatever its version and its key', async () => {
    const table = make();
    const odd = ['\u2028x\u2029', 'it\'s "quoted" & <tagged>', '／＃｜', ' ', '🔥🌲', '\u00a0\ufeff', '--batch_x'];
    for (const key of ['r', ...odd]) {
      expect(await table.insert('p', key, { n: 1, key })).toBeTypeOf('string');
      expect(await table.insert('p', key, { n: 2 })).toBeUndefined();
      expect((await table.get('p', key))?.properties).toMatchObject({ n: 1, key });
      await table.delete('p', [key]);
      expect(await table.get('p', key)).toBeUndefined();
      await expect(table.delete('p', [key])).rejects.toThrow(WriteConflict);
    }
  });

  test('applies all writes of a transaction or none, and names the one that failed', async () => {
    const table = make();
    const [one = '', two = ''] = await table.transact('p', [insert('1', { n: 1 }), insert('2', { n: 1 })]);
    const etags = await table.transact('p', [
      insert('3', { n: 1 }),
      { kind: 'merge', rowKey: '1', etag: one, properties: { n: 2 } },
      { kind: 'delete', rowKey: '2' },
    ]);
    expect(etags).toHaveLength(3);
    expect(etags[2]).toBe('');
    expect((await table.get('p', '1'))?.etag).toBe(etags[1]);
    const failing = table.transact('p', [
      insert('4'),
      { kind: 'replace', rowKey: '1', etag: etags[1] ?? '', properties: { n: 3 } },
      { kind: 'replace', rowKey: '3', etag: two, properties: { n: 3 } },
    ]);
    await expect(failing).rejects.toMatchObject({ name: 'WriteConflict', index: 2 });
    const rows = await table.all('p', EVERY_KEY);
    expect(rows.map(({ rowKey, properties }) => [rowKey, properties['n']])).toEqual([
      ['1', 2],
      ['3', 1],
    ]);
  });

  test.each([
    ['more than 100 writes', inserts(101)],
    ['a row written twice', [insert('r'), insert('r')]],
    ['a text of more than 64 KiB', [insert('r', { text: 'x'.repeat(32 * 1024 + 1) })]],
    ['bytes of more than 64 KiB', [insert('r', { bytes: new Uint8Array(64 * 1024 + 1) })]],
  ])('refuses %s, and takes 100 writes', async (__, writes) => {
    const table = make();
    await expect(table.transact('p', writes)).rejects.toThrow(RequestRefused);
    expect(await table.all('p', EVERY_KEY)).toEqual([]);
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
    expect(first.rows.map(({ rowKey }) => rowKey)).toEqual(['event|a', 'event|a 01', 'event|b']);
    expect(first.continuation).toBeDefined();
    const second = await table.page('p', range, { most: 3, continuation: first.continuation });
    expect(second.rows.map(({ rowKey }) => rowKey)).toEqual(['event|\uFF0Fz']);
    expect(second.continuation).toBeUndefined();
    const rows = await table.all('p', range, { most: 1, select: ['own'] });
    const own = [...first.rows, ...second.rows].map(({ rowKey }) => rowKey);
    expect(rows.map(({ properties }) => properties['own'])).toEqual(own);
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
    for (const partition of ['2026-11-20_63', '2026-11-21', '2026-11-21_07', '2026-11-21_40', '2026-11-22_00']) {
      await table.insert(partition, 'r', {});
    }
    const first = async (from: string, before: string) => table.firstPartition({ from, before });
    expect(await first('2026-11-21_00', '2026-11-21_64')).toBe('2026-11-21_07');
    expect(await first('2026-11-21_08', '2026-11-21_64')).toBe('2026-11-21_40');
    expect(await first('2026-11-21_41', '2026-11-21_64')).toBeUndefined();
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
    const table = make({ format: 2 }, connection);
    await expect(table.get('p', 'r', { select: ['n'] })).rejects.toThrow(LaterFormat);
    await expect(table.get('p', 'r')).rejects.toThrow(LaterFormat);
    await expect(table.all('p', EVERY_KEY)).rejects.toThrow(LaterFormat);
  });
});

test('a table in memory refuses a row of more than 1 MiB, which Azurite takes', async () => {
  const properties = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`p${index}`, 'x'.repeat(32 * 1024)]));
  const table = new Table(new MemoryTable(), { format: 2 });
  await expect(table.insert('p', 'r', properties)).rejects.toThrow(RequestRefused);
});
