import type { TableEntityResult } from '@azure/data-tables';
import { describe, expect, it } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { NotRepairable, repairDay, stepsOf } from '../../../src/analytics/audit/repair.ts';
import { setAside, WHOLE_KEY } from '../../../src/analytics/audit/set-aside.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { LaterFormat } from '../../../src/storage/errors.ts';
import { OPEN_DAYS_PARTITION } from '../../../src/analytics/rows/keys.ts';
import { Oracle } from '../oracle.ts';
import {
  CAMERA,
  COUNTER_DAMAGES,
  damageRow,
  DAY,
  deleted,
  EVENT,
  MANIFEST_DAMAGES,
  messages,
  MIDNIGHT,
  MINUTE,
  replaced,
  seeded,
  seededInMemory,
  set,
  SHARD,
  STRAY_KEYS,
  type Damage,
} from '../damaged-day.ts';
import { repaired, wrongAnswers } from './repaired-day.ts';
import { objectionsTo } from '../table-limits.ts';

describe('a repair', () => {
  it.each(COUNTER_DAMAGES)('of $rowKey with $what gives the answers of the event rows', async ({ rowKey, damage }) => {
    const storage = await seededInMemory();
    await damageRow(storage, SHARD, rowKey, damage);
    const { table } = storage.process(2);
    const audited = await auditDay(table, DAY);
    expect(audited.differences.length).toBeGreaterThan(0);
    await repaired(table, audited);
    expect(await wrongAnswers(storage.process(2), messages)).toEqual([]);
    // The service goes on with what the repair left.
    const more = messages.map((message) => ({
      ...message,
      eventId: `more-${message.eventId}`,
      time: message.time + 1n,
    }));
    expect(await storage.process(2).record(more)).toEqual(more.map(() => 'recorded'));
    expect(await storage.process(2).differences(DAY)).toEqual([]);
  });

  it.each<readonly [string, Damage]>([
    ['broken detections', set('detections', '{"smoke":')],
    ['a wrong time', set('detections_time', 'soon')],
    ['a ts_utc in another minute', set('ts_utc', '2026-03-14T08:01:00.000000Z')],
  ])('of an event with %s sets its row aside as it is, and says what it held', async (_, damage) => {
    const storage = await seeded();
    await damageRow(storage, SHARD, EVENT, damage);
    const { etag: _e, timestamp: _t, 'odata.metadata': _m, ...before } = await storage.client().getEntity(SHARD, EVENT);
    const lines = await repaired(storage.process(2).table);
    expect(lines.join('\n')).toContain(`set aside row ${EVENT} of shard 0, which held {"`);
    expect(
      await wrongAnswers(
        storage.process(2),
        messages.filter(({ eventId }) => eventId !== 'f-0'),
      ),
    ).toEqual([]);
    const kept: unknown[] = [];
    for await (const { etag: _f, timestamp: _g, ...row } of storage.client().listEntities()) {
      if (String(row.rowKey).startsWith('damaged|') && String(row.rowKey).endsWith(EVENT)) kept.push(row);
    }
    expect(kept).toEqual([{ ...before, rowKey: expect.stringMatching(/^damaged\|2\d{3}-.*\|event\|/) }]);
  });

  it('of an event row that somebody deleted takes its contribution back', async () => {
    const storage = await seeded();
    await storage.client().deleteEntity(SHARD, EVENT);
    await repaired(storage.process(2).table);
    expect(
      await wrongAnswers(
        storage.process(2),
        messages.filter(({ eventId }) => eventId !== 'f-0'),
      ),
    ).toEqual([]);
  });

  it.each(MANIFEST_DAMAGES)(
    'of a number of shards that is %s finds the number that fits the cameras',
    async (_, damage) => {
      const storage = await seeded();
      await damageRow(storage, DAY, 'shards', damage);
      await repaired(storage.process(2).table);
      expect(await wrongAnswers(storage.process(), messages)).toEqual([]);
      expect(await new DayShards(storage.process().table, 1).find(DAY)).toBe(2);
    },
  );

  it('of a camera that is in the wrong shard moves its events', async () => {
    const storage = await seeded();
    const client = storage.client();
    const { etag: _, timestamp: __, ...event } = await client.getEntity(SHARD, EVENT);
    await client.deleteEntity(SHARD, EVENT);
    await client.createEntity({ ...event, partitionKey: `${DAY}_01`, rowKey: EVENT });
    await repaired(storage.process(2).table);
    expect(await wrongAnswers(storage.process(2), messages)).toEqual([]);
  });

  it('sets a row aside again that an instance wrote again meanwhile', async () => {
    const storage = await seeded();
    const moved: string[] = [];
    for (let times = 1; times <= 2; times += 1) {
      await storage.client().upsertEntity({ partitionKey: SHARD, rowKey: 'camera|x', format: 1 });
      await setAside(storage.process(2).table, SHARD, new Map([['camera|x', undefined]]), (rows) => {
        moved.push(...rows.map(({ rowKey }) => rowKey));
      });
    }
    expect(moved).toEqual(['camera|x', 'camera|x']);
  });

  it.each(STRAY_KEYS)('sets %s aside, a row that the service never writes', async (rowKey) => {
    const storage = await seeded();
    await storage.client().createEntity({ partitionKey: SHARD, rowKey, format: 1, x: 1.5, y: 7n });
    await repaired(storage.process(2).table);
    expect(await wrongAnswers(storage.process(2), messages)).toEqual([]);
  });

  it.each(['cameras|0001', 'hours', 'hour|08', 'minute|0800|00', CAMERA, 'total'])(
    'sets the row %s 01 aside, of a stripe that the shard does not have: it would be in the way of its first commit',
    async (rowKey) => {
      const storage = await seeded();
      const { etag: _, timestamp: __, ...row } = await storage.client().getEntity(SHARD, rowKey);
      await storage.client().createEntity({ ...row, partitionKey: SHARD, rowKey: `${rowKey} 01` });
      expect(await storage.process(2).differences(DAY)).toContainEqual(expect.stringContaining(' of stripes'));
      await repaired(storage.process(2).table);
      expect(await wrongAnswers(storage.process(2), messages)).toEqual([]);
      const instances = [storage.process(2), storage.process(2)];
      const more = messages.map((message) => ({ ...message, eventId: `more-${message.eventId}` }));
      for (const [at, message] of more.entries()) await instances[at % 2]?.record([message]);
      expect(await wrongAnswers(storage.process(2), [...messages, ...more])).toEqual([]);
    },
  );

  it.each([
    ['a minute', `minute|0860|${'x'.repeat(500)}`],
    ['a camera', `camera|${'🔥'.repeat(250)}`],
    ['nearly a key that fits', `camera|${'x'.repeat(473)}`],
    ['a key that just fits', `camera|${'x'.repeat(472)}`],
  ])('sets a row aside whose key is too long for the new one, %s, and keeps all of it', async (_, rowKey) => {
    const storage = await seeded();
    const properties = { format: FORMAT, whole: 7n, part: 1.5, text: 'x', bytes: Buffer.of(1, 2) };
    await storage.client().createEntity({ partitionKey: SHARD, rowKey, ...properties });
    await repaired(storage.process(2).table);
    expect(await wrongAnswers(storage.process(2), messages)).toEqual([]);
    const kept: TableEntityResult<Record<string, unknown>>[] = [];
    for await (const row of storage.client().listEntities()) if (row.rowKey?.startsWith('damaged|')) kept.push(row);
    const [{ etag: _etag, timestamp: _timestamp, ...row } = { etag: '' }, ...others] = kept;
    expect(others).toEqual([]);
    const key = String(row['rowKey']);
    expect(objectionsTo({ partitionKey: SHARD, rowKey: key, properties: {} })).toEqual([]);
    expect(key.isWellFormed()).toBe(true);
    const { [WHOLE_KEY]: whole = key.split('|').slice(2).join('|'), ...own } = row;
    expect(whole).toBe(rowKey);
    expect(own).toEqual({ partitionKey: SHARD, rowKey: key, ...properties });
  });

  it('of rows of a later format does nothing', async () => {
    const storage = await seeded();
    await damageRow(storage, SHARD, CAMERA, set('format', 99));
    await expect(auditDay(storage.process(2).table, DAY)).rejects.toThrow(LaterFormat);
  });

  it('refuses a closed day, also if it was closed after its audit', async () => {
    const storage = await seeded();
    await damageRow(storage, SHARD, 'total', replaced('day', /"events":\d+/, '"events":7'));
    const { table } = storage.process(2);
    const audited = await auditDay(table, DAY);
    await damageRow(storage, DAY, 'shards', set('closes', '2026-03-17T00:00:00.000000Z'));
    await expect(repairDay(table, audited, { say: () => undefined })).rejects.toThrow(NotRepairable);
    const closed = await auditDay(table, DAY);
    expect(closed).toMatchObject({ closed: true, differences: [{ counter: 'total' }] });
    await expect(repairDay(table, closed, { say: () => undefined })).rejects.toThrow(NotRepairable);
  });

  it('of a closed day whose manifest is damaged is refused too: its event rows are gone', async () => {
    const storage = await seeded();
    await storage.client().deleteEntity(OPEN_DAYS_PARTITION, DAY);
    await damageRow(storage, DAY, 'shards', set('shards', 'two'));
    const { table } = storage.process(2);
    const audited = await auditDay(table, DAY);
    expect(audited.closed).toBe(true);
    await expect(repairDay(table, audited, { say: () => undefined })).rejects.toThrow(NotRepairable);
  });

  it('of samples in a stripe in which their camera has no row leaves every question with its answer', async () => {
    const storage = await seeded();
    await damageRow(storage, SHARD, 'hour|08', deleted);
    await damageRow(storage, SHARD, CAMERA, set('day', '{'));
    await damageRow(storage, SHARD, 'minute|0800|00', set('s00', 'x'));
    await damageRow(storage, SHARD, 'total', replaced('day', /"events":\d+/, '"events":7'));
    await repaired(storage.process(2).table);
    const oracle = new Oracle();
    for (const message of messages) oracle.tell(message);
    for (const cameraId of [undefined, ...messages.slice(0, 8).map((message) => message.cameraId)]) {
      for (const [start, end] of [
        [MIDNIGHT + 480n * MINUTE - 1n, MIDNIGHT + 540n * MINUTE + 1n],
        [MIDNIGHT + 480n * MINUTE, MIDNIGHT + 480n * MINUTE + 5n],
        // Only the samples tell: f-8 of ridge-0 is in the first microsecond.
        [MIDNIGHT + 488n * MINUTE, MIDNIGHT + 488n * MINUTE + 5n],
      ] as const) {
        const question = {
          start,
          end,
          ...(cameraId !== undefined && { cameraId }),
        };
        expect(await storage.process(2).answer(question)).toEqual(oracle.answer(question));
      }
    }
  });

  it('says before what it will do', async () => {
    const storage = await seeded();
    await damageRow(storage, SHARD, EVENT, set('detections', '{'));
    await damageRow(storage, SHARD, CAMERA, set('day', 1));
    const steps = [...stepsOf(await auditDay(storage.process(2).table, DAY))];
    expect(steps).toContain(`shard 00: set aside row ${EVENT}: what it contributed leaves the counters`);
    expect(steps).toContain(`shard 00: set aside row ${CAMERA}, and count anew what it held`);
    expect(steps).toContain('shard 00: add to hour 08 what the event rows have more or less');
  });
});
