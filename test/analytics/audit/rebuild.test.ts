import { isDeepStrictEqual } from 'node:util';

import { describe, expect, it, vi } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { rebuildDay, type RebuildOptions, RebuildRefused, unsealDay } from '../../../src/analytics/audit/rebuild.ts';
import { DayHeld } from '../../../src/analytics/errors.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { FORMAT } from '../../../src/analytics/rows/properties.ts';
import { tallyValues } from '../../../src/analytics/rows/stored-tally.ts';
import { shardPartition } from '../../../src/analytics/rows/keys.ts';
import { readSeal } from '../../../src/analytics/rows/seal.ts';
import { EMPTY_TALLY } from '../../../src/analytics/model/tally.ts';
import { LaterFormat, StorageTrouble } from '../../../src/storage/errors.ts';
import type { NewProperties } from '../../../src/storage/row.ts';
import { InterposedTable } from '../../storage/interposed-table.ts';
import {
  all,
  bytes,
  CountingProcess,
  DATE,
  frame,
  type MemoryStorage,
  MINUTE,
  SHARD,
  SILENT,
  START,
  WHOLE_DAY,
} from '../counting.ts';
import { DAY } from '../oracle.ts';
import { EIGHT, MESSAGES, recorded } from './recorded-day.ts';

const EVENT = 'event|0801|ridge-1|f-1';

const rebuild = async (storage: MemoryStorage, options: Partial<RebuildOptions> = {}, shards = 1) =>
  rebuildDay(storage.process().table, shards, DATE, { withoutUnreadable: false, say: () => undefined, ...options });
/** The answers about the day are {@link RIGHT} if they are right once these messages are recorded, and the audit finds nothing. */
const checked = async (storage: MemoryStorage, messages = MESSAGES, shards = 1) => {
  const { is, should } = await storage.process(shards).answered(messages);
  const { differences, unreadable, isStill } = await auditDay(storage.process().table, shards, DATE);
  return { wrong: isDeepStrictEqual(is, should) ? [] : [is, should], differences, unreadable, isStill };
};
const RIGHT = { wrong: [], differences: [], unreadable: [], isStill: true };
/** A process dies, and the answer to its request never comes. */
const die = (): never => {
  throw new RangeError('killed');
};
const sealOf = async (storage: MemoryStorage) => (await readSeal(storage.process().table, SHARD)).sealed;
/** The properties of a row of a day or a camera with this number of events. */
const counting = (events: number) => tallyValues({ ...EMPTY_TALLY, events }, EMPTY_TALLY);

// The world of counting plays concurrent requests, and rebuilds that are killed.
describe('a rebuild', () => {
  it.each<readonly [string, Readonly<Record<string, NewProperties | 'deleted'>>]>([
    ['lost rows', { 'day|00': 'deleted', 'hour|08|00': 'deleted', 'camera|ridge-1|00': 'deleted' }],
    ['other numbers', { 'day|00': counting(11), 'camera|ridge-0|00': counting(4) }],
    ['a list of cameras that cannot be read', { 'day|00': { cameras: 7 } }],
    ['a seal that cannot be read', { 'day|00': { sealed: 'text' } }],
    ['buckets that cannot be read', { 'day|00': { active_08: bytes(0) }, 'hour|08|00': { tally_00: bytes(9, 9) } }],
    ['minutes that cannot be read', { 'camera|ridge-1|00': { minutes_08: bytes(0) } }],
    ['a listed camera without events', { 'day|00': { cameras: 'nobody\nridge-0\nridge-1\ntest' } }],
  ])('mends %s', async (_, damage) => {
    const storage = await recorded();
    for (const [rowKey, properties] of Object.entries(damage)) await storage.change(rowKey, properties);
    await rebuild(storage);
    expect(await checked(storage)).toEqual(RIGHT);
    // The day takes events again.
    const more = [
      frame('ridge-9', 'new', EIGHT),
      frame('ridge-1', 'f-1', EIGHT + MINUTE + 4_999_999n, { time: START + 2n * DAY }),
    ];
    await storage.process().record(more);
    expect(await checked(storage, [...MESSAGES, ...more])).toEqual(RIGHT);
  });

  it('deletes counters that no event has', async () => {
    const storage = await recorded();
    await storage.process().table.insert(SHARD, 'camera|nobody|00', counting(2));
    await storage.process().table.insert(SHARD, 'hour|05|00', {});
    await rebuild(storage);
    expect(storage.keys().filter((key) => /nobody|hour\|05/.test(key))).toEqual([]);
    expect(await checked(storage)).toEqual(RIGHT);
  });

  it('puts the rows of all stripes into stripe 0, whose lists keep their order', async () => {
    const storage = await recorded([frame('b', 'f', EIGHT, { detections: { smoke: 1 } })]);
    // Two processes that write in turn are soon in different stripes.
    const [one, other] = [storage.process(), storage.process()];
    const messages = all(6).map((index) =>
      frame(index % 2 === 0 ? 'a' : 'b', `g${index}`, EIGHT, { detections: { fire: 1 } }),
    );
    for (const [index, message] of messages.entries()) await (index % 2 === 0 ? one : other).record([message]);
    const stripes = () => storage.keys().filter((key) => key.startsWith('hour|08|'));
    expect(stripes().length).toBeGreaterThan(1);
    const camerasOf = async () => (await storage.connection.get(SHARD, 'day|00', {}))?.properties['cameras'];
    const before = await camerasOf();
    await rebuild(storage);
    expect(stripes()).toEqual(['hour|08|00']);
    expect(String(await camerasOf()).startsWith(String(before))).toBe(true);
    expect(await checked(storage, [frame('b', 'f', EIGHT), ...messages])).toEqual(RIGHT);
  });

  it('puts into further stripes what one has no room for', async () => {
    const crowd = all(800).map((index) =>
      frame(`c-${index % 16}`, `f-${index}`, START, { detections: { [`category-${index}`]: 1 } }),
    );
    const storage = await recorded();
    const { table } = storage.process();
    for (const { cameraId, eventId, detections } of crowd) {
      const ts_utc = '2026-11-21T00:00:00.000000Z';
      const row = { ts_utc, detections: JSON.stringify(detections), detections_time: ts_utc };
      await table.insert(SHARD, `event|0000|${cameraId}|${eventId}`, row);
    }
    await rebuild(storage);
    expect(storage.keys()).toContain('hour|00|01');
    expect(await checked(storage, [...MESSAGES, ...crowd])).toEqual(RIGHT);
  });

  it('refuses events and answers of the day from the seal to its end, and no other day', async () => {
    const storage = await recorded([...MESSAGES, frame('a', 'f', EIGHT + DAY)]);
    const other = storage.process();
    let met = 0;
    const turn = async ({ kind, partition }: { readonly kind: string; readonly partition: string }) => {
      if (kind !== 'transact' || partition !== SHARD) return;
      met += 1;
      if (met === 1) return;
      await expect(other.record([frame('a', 'new', EIGHT)])).rejects.toThrow(DayHeld);
      await expect(other.answer(WHOLE_DAY)).rejects.toThrow(DayHeld);
      expect(await other.record([frame('a', `f${met}`, EIGHT + DAY)])).toEqual(['recorded']);
    };
    const { table } = new CountingProcess(new InterposedTable(turn, storage.connection));
    await rebuildDay(table, 1, DATE, { withoutUnreadable: false, say: () => undefined });
    expect(met).toBeGreaterThan(2);
    expect(await checked(storage)).toEqual(RIGHT);
  });

  it('that is stopped leaves the day sealed: it is run again, or the day is opened as it is', async () => {
    for (let at = 1; ; at += 1) {
      const storage = await recorded();
      await storage.change('camera|ridge-0|00', counting(4));
      let transactions = 0;
      const turn = async ({ kind }: { readonly kind: string }): Promise<(() => void) | void> => {
        if (kind !== 'transact') return undefined;
        transactions += 1;
        // The answer is lost, and the process dies.
        return transactions < at ? undefined : die;
      };
      const { table } = new CountingProcess(new InterposedTable(turn, storage.connection));
      const killed = rebuildDay(table, 1, DATE, { withoutUnreadable: false, say: () => undefined });
      const isKilled = await killed.then(
        () => false,
        () => true,
      );
      if (!isKilled) break;
      // The first transaction seals the day, and the last transaction opens it.
      const isSealed = (await sealOf(storage)) !== undefined;
      const refusal = await storage
        .process()
        .record(MESSAGES.slice(0, 1))
        .then(() => undefined, String);
      expect(refusal).toBe(isSealed ? String(new DayHeld(shardPartition(DATE, 0))) : undefined);
      if (isSealed) await rebuild(storage);
      expect(await checked(storage)).toEqual(RIGHT);
      expect(at).toBeLessThan(20);
    }
  });

  it('fails when another rebuild has taken the day over, which is right in the end', async () => {
    const storage = await recorded();
    let transactions = 0;
    const turn = async ({ kind }: { readonly kind: string }): Promise<void> => {
      transactions += Number(kind === 'transact');
      if (kind === 'transact' && transactions === 2) await rebuild(storage);
    };
    const { table } = new CountingProcess(new InterposedTable(turn, storage.connection));
    const first = rebuildDay(table, 1, DATE, { withoutUnreadable: false, say: () => undefined });
    await expect(first).rejects.toThrow(/run the rebuild again/);
    expect(await checked(storage)).toEqual(RIGHT);
  });

  it('repeats what storage refuses for a while', async () => {
    const storage = await recorded();
    let requests = 0;
    const turn = async ({ kind }: { readonly kind: string }): Promise<void> => {
      requests += Number(kind === 'transact');
      if (kind === 'transact' && requests % 2 === 0) throw new StorageTrouble(0, { reason: 'ServerBusy' });
    };
    const { table } = new CountingProcess(new InterposedTable(turn, storage.connection));
    await rebuildDay(table, 1, DATE, { withoutUnreadable: false, say: () => undefined });
    expect(await checked(storage)).toEqual(RIGHT);
  });

  it('of several shards rebuilds each that has rows', async () => {
    const storage = await recorded(MESSAGES, 8);
    const partitions = all(8)
      .map((shard) => shardPartition(DATE, shard))
      .filter((each) => storage.keys(each).length > 0);
    expect(partitions.length).toBeGreaterThan(1);
    for (const partition of partitions) await storage.change('day|00', counting(50), partition);
    await rebuild(storage, {}, 8);
    expect(await checked(storage, MESSAGES, 8)).toEqual(RIGHT);
    expect(storage.connection.partitions()).toEqual(partitions);
  });

  it('stops at an event row that cannot be decoded, with its key, and leaves the day as it was', async () => {
    const storage = await recorded();
    await storage.change(EVENT, { ts_utc: 'never' });
    const before = storage.connection.rows(SHARD).filter(({ rowKey }) => !rowKey.startsWith('day|'));
    await expect(rebuild(storage)).rejects.toThrow(EVENT);
    expect(storage.connection.rows(SHARD).filter(({ rowKey }) => !rowKey.startsWith('day|'))).toEqual(before);
    expect(await sealOf(storage)).toBeUndefined();
    expect(await storage.process().record([frame('a', 'new', EIGHT)])).toEqual(['recorded']);
  });

  it('leaves such rows out if it is told to, and keeps a copy: the event may be sent again', async () => {
    const storage = await recorded([...MESSAGES, frame('alone', 'f', EIGHT)]);
    await storage.change(EVENT, { ts_utc: 'never' });
    await storage.change('event|0800|alone|f', { ts_utc: 'never' });
    const lines: string[] = [];
    await rebuild(storage, { withoutUnreadable: true, say: (line) => lines.push(line) });
    expect(lines.join('\n')).toContain(`left out ${EVENT}, which held {`);
    expect(await checked(storage, MESSAGES.toSpliced(1, 1))).toEqual(RIGHT);
    const copy = await storage.connection.get(SHARD, `damaged|${EVENT}`, {});
    expect(copy?.properties['content']).toContain('never');
    await storage.process().record([...MESSAGES, frame('alone', 'f', EIGHT)]);
    expect(await checked(storage, [...MESSAGES, frame('alone', 'f', EIGHT)])).toEqual(RIGHT);
  });

  it('stops at an event row of a later format, and leaves the day open', async () => {
    const storage = await recorded();
    await storage.change(EVENT, { format: FORMAT + 1 });
    await expect(rebuild(storage, { withoutUnreadable: true })).rejects.toThrow(LaterFormat);
    expect(await sealOf(storage)).toBeUndefined();
  });

  it('is refused for a closed day, and for a day without events', async () => {
    const storage = await recorded();
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 400 * 86_400_000);
    await closeDays({ table: storage.process().table, shards: 1, retentionDays: 1 }, SILENT);
    await expect(rebuild(storage)).rejects.toThrow(
      new RebuildRefused('the day is closed, and its event rows are gone'),
    );
    expect(await unsealDay(storage.process().table, 1, DATE)).toBe(0);
    const empty = await recorded([frame('a', 'f', START + DAY)]);
    await expect(rebuild(empty)).rejects.toThrow(new RebuildRefused('the day has no events'));
  });
});

it('a day that is opened as it is takes events in all stripes again, and readers see them', async () => {
  const storage = await recorded();
  const { table } = storage.process();
  const dying = new InterposedTable(async ({ kind }) => (kind === 'transact' ? die : undefined), storage.connection);
  const killed = new CountingProcess(dying).table;
  await expect(rebuildDay(killed, 1, DATE, { withoutUnreadable: false, say: () => undefined })).rejects.toThrow(
    'killed',
  );
  expect(await unsealDay(table, 1, DATE)).toBe(1);
  expect(await checked(storage)).toEqual(RIGHT);
  const processes = all(8).map(() => storage.process());
  const more = all(8).map((index) => frame('ridge-5', `more-${index}`, EIGHT));
  for (const [index, process] of processes.entries()) await process.record(more.slice(index, index + 1));
  expect(await checked(storage, [...MESSAGES, ...more])).toEqual(RIGHT);
});
