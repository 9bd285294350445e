import type { TableClient } from '@azure/data-tables';
import { beforeAll, describe, expect, it } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import type { StoredRow } from '../../../src/analytics/rows/row.ts';
import { CounterTable } from '../../../src/analytics/rows/table.ts';
import { CountingStorage } from '../counting.ts';
import type { PlainMessage } from '../oracle.ts';

const MIDNIGHT = BigInt(Date.parse('2026-03-14T00:00:00Z')) * 1_000n;
const DAY = dayOf(instantFrom(MIDNIGHT));
const MINUTE = 60_000_000n;

/** With two shards ridge-0 is in shard 00. */
const SHARD = `${DAY}_00`;

const messages: readonly PlainMessage[] = Array.from({ length: 120 }, (_, at) => {
  const ts = MIDNIGHT + (480n + BigInt(at)) * MINUTE;
  return {
    eventId: `f-${at}`,
    cameraId: `ridge-${at % 8}`,
    ts,
    time: ts + 1n,
    detections: { smoke: at % 3, fire: 1 },
    ...(at % 4 === 0 && { reviewed: true, annotations: { smoke: 1 } }),
  };
});

type Row = Readonly<Record<string, unknown>>;
/** Changes a row; undefined: deletes it. */
type Damage = (row: Row) => Row | undefined;

const textOf = (value: unknown): string => {
  if (typeof value !== 'string') throw new Error('there is no such text');
  return value;
};
const bytesOf = (value: unknown): Uint8Array => {
  if (!(value instanceof Uint8Array)) throw new Error('there are no such bytes');
  return value;
};
const flipFirst = (value: unknown): Uint8Array => bytesOf(value).map((byte, at) => (at === 0 ? byte ^ 2 : byte));
const deleted: Damage = () => undefined;
const set =
  (property: string, value: unknown): Damage =>
  (row) => ({ ...row, [property]: value });
const without =
  (property: string): Damage =>
  (row) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => name !== property));
const replaced =
  (property: string, from: string | RegExp, to: string): Damage =>
  (row) => ({ ...row, [property]: textOf(row[property]).replace(from, to) });
const flipped =
  (property: string): Damage =>
  (row) => ({ ...row, [property]: flipFirst(row[property]) });
const cut =
  (property: string): Damage =>
  (row) => ({ ...row, [property]: bytesOf(row[property]).slice(0, -1) });

// ridge-0 sends f-0 at 08:00, reviewed and annotated, and f-8 at 08:08.
const EVENT = 'event|0800|ridge-0|f-0';
const CAMERA = 'camera|ridge-0';

describe('the audit names the counter', () => {
  const storage = new CountingStorage();
  const client: TableClient = storage.client();
  const process = storage.process(2);
  beforeAll(async () => {
    await process.record(messages);
  });

  /** The counters that differ while a row is damaged; the row is restored afterwards. */
  const differing = async (partitionKey: string, rowKey: string, damage: Damage): Promise<readonly string[]> => {
    const { etag: _, timestamp: __, ...row } = await client.getEntity(partitionKey, rowKey);
    const damaged = damage(row);
    if (damaged === undefined) await client.deleteEntity(partitionKey, rowKey);
    else await client.updateEntity({ ...damaged, partitionKey, rowKey }, 'Replace', { etag: '*' });
    const before = await rowsOf(client);
    const { differences } = await auditDay(process.table, new DayShards(process.table, 1), DAY);
    expect(await rowsOf(client)).toEqual(before);
    await client.upsertEntity({ ...row, partitionKey, rowKey }, 'Replace');
    return differences.map(({ counter }) => counter);
  };

  it('only where one differs', async () => {
    const report = await auditDay(process.table, new DayShards(process.table, 1), DAY);
    expect(report).toMatchObject({ shards: 2, events: messages.length, differences: [] });
    expect(report.byShard.map(({ shard }) => shard)).toEqual([0, 1]);
    expect(report.counters).toBe(report.byShard.reduce((sum, { counters }) => sum + counters, 0));
  });

  it.each<readonly [string, Damage, readonly string[]]>([
    ['day', replaced('day', /"events":\d+/, '"events":7'), ['total']],
    ['day', replaced('day', '"smoke":', '"smog":'), ['total']],
    ['day', set('day', '{'), ['total']],
    ['day', without('day'), ['total']],
    ['n', set('n', 0), ['commit number of total']],
    ['active_cameras', set('active_cameras', 1), ['number of active cameras of total']],
    ['whole row', deleted, ['total']],
  ])('of a total whose %s is wrong', async (_, damage, counters) => {
    expect(await differing(SHARD, 'total', damage)).toEqual(expect.arrayContaining([...counters]));
  });

  it('of a camera list that names another camera', async () => {
    const counters = await differing(SHARD, 'cameras|0001', replaced('cameras', 'ridge-0', 'ridge-9'));
    expect(counters).toEqual(expect.arrayContaining(['active cameras of total', 'active cameras of minute 08:00']));
  });

  it.each<readonly [string, Damage, readonly string[]]>([
    ['t08', flipped('t08'), ['hour 08']],
    ['t08', cut('t08'), ['hour 08']],
    ['t08', without('t08'), ['hours']],
    ['t08', set('t08', 'x'), ['hours']],
    ['a08', set('a08', Uint8Array.of(0, 1)), ['active cameras of hour 08']],
    ['t31', (row) => ({ ...row, t31: row['t08'], a31: row['a08'] }), ['hour 31']],
    ['whole row', deleted, ['hour 08', 'hour 09', 'active cameras of hour 08']],
  ])('of hours whose %s is wrong', async (_, damage, counters) => {
    expect(await differing(SHARD, 'hours', damage)).toEqual(expect.arrayContaining([...counters]));
  });

  it.each<readonly [string, Damage, readonly string[]]>([
    ['t00', flipped('t00'), ['minute 08:00']],
    ['t00', cut('t00'), ['minute 08:00']],
    ['t00', without('t00'), ['minutes of hour 08']],
    ['a00', set('a00', Uint8Array.of(0, 2)), ['active cameras of minute 08:00']],
    ['whole row', deleted, ['minute 08:00', 'active cameras of minute 08:00']],
  ])('of an hour whose %s is wrong', async (_, damage, counters) => {
    expect(await differing(SHARD, 'hour|08', damage)).toEqual(expect.arrayContaining([...counters]));
  });

  it.each<readonly [string, Damage, readonly string[]]>([
    ['s00', flipped('s00'), ['samples of second 08:00:00']],
    ['s00', cut('s00'), ['samples of second 08:00:00']],
    ['s00', without('s00'), ['samples of second 08:00:00']],
    ['s00', set('s00', 'x'), ['samples of minute 08:00']],
    ['s01', (row) => ({ ...row, s01: row['s00'] }), ['samples of second 08:00:01']],
    ['whole row', deleted, ['samples of second 08:00:00']],
  ])('of a minute whose %s is wrong', async (_, damage, counters) => {
    expect(await differing(SHARD, 'minute|0800|00', damage)).toEqual(counters);
  });

  it.each<readonly [string, Damage, readonly string[]]>([
    ['day', replaced('day', /"reviewed":\d+/, '"reviewed":0'), ['camera ridge-0']],
    ['day', set('day', 1), ['camera ridge-0']],
    ['h08', replaced('h08', /"annotated":\d+/, '"annotated":0'), ['camera ridge-0 hour 08']],
    ['place', set('place', 9), ['index of camera ridge-0']],
    ['m08', cut('m08'), ['camera ridge-0 minutes of hour 08']],
    ['m08', set('m08', new Uint8Array()), ['camera ridge-0 minute 08:00']],
    ['m08', without('m08'), ['camera ridge-0 minute 08:08']],
    ['whole row', deleted, ['camera ridge-0', 'camera ridge-0 hour 09', 'camera ridge-0 minute 08:00']],
  ])('of a camera whose %s is wrong', async (_, damage, counters) => {
    expect(await differing(SHARD, CAMERA, damage)).toEqual(expect.arrayContaining([...counters]));
  });

  const COUNTERS_OF_EVENT = [
    'total',
    'hour 08',
    'minute 08:00',
    'samples of second 08:00:00',
    'camera ridge-0',
    'camera ridge-0 hour 08',
    'camera ridge-0 minute 08:00',
  ];
  it.each<readonly [string, Damage, readonly string[]]>([
    ['detections', set('detections', '{"smoke":5}'), [...COUNTERS_OF_EVENT]],
    ['detections', set('detections', '{"smoke":'), [`row ${EVENT}`, ...COUNTERS_OF_EVENT]],
    ['detections_time', set('detections_time', 'soon'), [`row ${EVENT}`]],
    ['reviewed', set('reviewed', false), [...COUNTERS_OF_EVENT]],
    ['annotations', without('annotations'), [...COUNTERS_OF_EVENT]],
    ['ts_utc', set('ts_utc', '2026-03-14T08:01:00.000000Z'), [`row ${EVENT}`]],
    ['ts_utc', set('ts_utc', '2026-03-15T08:00:00.000000Z'), [`row ${EVENT}`]],
    ['whole row', deleted, [...COUNTERS_OF_EVENT, 'active cameras of minute 08:00']],
  ])('of an event whose %s is wrong', async (_, damage, counters) => {
    expect(await differing(SHARD, EVENT, damage)).toEqual(expect.arrayContaining([...counters]));
  });

  it.each<readonly [string, Damage, readonly string[]]>([
    ['too small', set('shards', 1), ['shards']],
    ['too large', set('shards', 7), ['shard of camera ridge-0']],
    ['damaged', set('shards', 'two'), ['shards']],
    ['gone', deleted, ['shards']],
  ])('of a day whose number of shards is %s', async (_, damage, counters) => {
    expect(await differing(DAY, 'shards', damage)).toEqual(expect.arrayContaining([...counters]));
  });

  it.each([
    ['hour|24', {}],
    ['minute|0860', {}],
    ['minute|9', {}],
    ['camera|a|b', { day: '{}' }],
    ['event|9959|ridge-0|f-0', { ts_utc: '2026-03-14T08:00:00.000000Z' }],
  ])('or the row, where %s is a row that the service never writes', async (rowKey, properties) => {
    await client.createEntity({ partitionKey: SHARD, rowKey, format: 1, ...properties });
    const { differences } = await auditDay(process.table, process.shards, DAY);
    expect(differences.map(({ counter }) => counter)).toEqual([`row ${rowKey}`]);
    await client.deleteEntity(SHARD, rowKey);
  });

  it('of rows that are stored although they have no events', async () => {
    const { etag: _, timestamp: __, ...hour } = await client.getEntity(SHARD, 'hour|08');
    await client.createEntity({ ...hour, partitionKey: SHARD, rowKey: 'hour|23' });
    const { differences } = await auditDay(process.table, process.shards, DAY);
    expect(differences.map(({ counter }) => counter)).toEqual(
      expect.arrayContaining(['minute 23:00', 'active cameras of minute 23:00']),
    );
    await client.deleteEntity(SHARD, 'hour|23');
    const { etag: _e, timestamp: _t, ...minute } = await client.getEntity(SHARD, 'minute|0800|00');
    await client.createEntity({ ...minute, partitionKey: SHARD, rowKey: 'minute|2301|00' });
    const report = await auditDay(process.table, process.shards, DAY);
    expect(report.differences.map(({ counter }) => counter)).toEqual([
      'row minute|2301|00',
      'samples of second 23:01:00',
    ]);
    await client.deleteEntity(SHARD, 'minute|2301|00');
  });
});

/** Every row with its version and time of writing. */
const rowsOf = async (client: TableClient): Promise<readonly unknown[]> => {
  const rows: unknown[] = [];
  for await (const row of client.listEntities()) rows.push(row);
  return rows;
};

/** A table with a bug: the camera rows that it reads cannot be used. */
class BuggyTable extends CounterTable {
  override async *pages(...args: Parameters<CounterTable['pages']>): AsyncGenerator<readonly StoredRow[]> {
    for await (const page of super.pages(...args)) {
      yield page.map(({ partitionKey, rowKey, etag }) => ({
        partitionKey,
        rowKey,
        etag,
        get properties(): never {
          throw new TypeError('a bug');
        },
      }));
    }
  }
}

describe('a bug of the audit', () => {
  it('is thrown and not reported as damage', async () => {
    const storage = new CountingStorage();
    await storage.process().record(messages);
    const table = new BuggyTable(() => storage.client());
    await expect(auditDay(table, new DayShards(table, 1), DAY)).rejects.toThrow(new TypeError('a bug'));
  });
});
