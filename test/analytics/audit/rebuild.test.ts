import { describe, expect, it, vi } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { rebuildDay, type RebuildOptions, RebuildRefused, unsealDay } from '../../../src/analytics/audit/rebuild.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { FORMAT } from '../../../src/analytics/rows/properties.ts';
import { shardPartition } from '../../../src/analytics/rows/keys.ts';
import { readSeal, sealShard } from '../../../src/analytics/rows/seal.ts';
import { LaterFormat, StorageTrouble } from '../../../src/storage/errors.ts';
import {
  all,
  bytes,
  DATE,
  frame,
  type MemoryStorage,
  MINUTE,
  recorded,
  SHARD,
  SILENT,
  START,
  WHOLE_DAY,
} from '../counting.ts';
import { DAY, inWords, isSame, rightAnswer } from '../oracle.ts';
import { counting, type Damage, damaged, EIGHT, MESSAGES } from './recorded-day.ts';

const EVENT = 'event|0801|ridge-1|f-1';

const rebuild = async (storage: MemoryStorage, options: Partial<RebuildOptions> = {}, shards = 1) =>
  rebuildDay(storage.process().table, shards, DATE, { withoutUnreadable: false, say: () => undefined, ...options });
/** A wrong answer about the day after these messages, and the findings of an audit. */
const wrongIn = async (storage: MemoryStorage, messages = MESSAGES, shards = 1): Promise<readonly unknown[]> => {
  const answer = await storage.process(shards).answer(WHOLE_DAY);
  const { differences, unreadable, isStill } = await auditDay(storage.process().table, shards, DATE);
  const isRight = isStill && isSame(rightAnswer(messages, WHOLE_DAY), answer);
  return [...(isRight ? [] : [inWords(answer)]), ...differences.first, ...unreadable.first];
};
const sealOf = async (storage: MemoryStorage) => (await readSeal(storage.process().table, SHARD)).sealed;

// The world of counting plays other requests during a rebuild, and rebuilds that are killed.
describe('a rebuild', () => {
  it.each<readonly [string, Damage]>([
    ['lost rows', { 'day|00': 'deleted', 'hour|08|00': 'deleted', 'camera|ridge-1|00': 'deleted' }],
    ['other numbers', { 'day|00': counting(11), 'camera|ridge-0|00': counting(4) }],
    ['a list of cameras that cannot be read', { 'day|00': { cameras: 7 } }],
    ['a seal that cannot be read', { 'day|00': { sealed: 'text' } }],
    ['buckets that cannot be read', { 'day|00': { active_08: bytes(0) }, 'hour|08|00': { tally_00: bytes(9, 9) } }],
    ['minutes that cannot be read', { 'camera|ridge-1|00': { minutes_08: bytes(0) } }],
    ['a listed camera without events', { 'day|00': { cameras: 'nobody\nridge-0\nridge-1\ntest' } }],
  ])('mends %s', async (_, damage) => {
    const storage = await damaged(damage);
    await rebuild(storage);
    expect(await wrongIn(storage)).toEqual([]);
    // The day takes events again.
    const more = [
      frame('ridge-9', 'new', EIGHT),
      frame('ridge-1', 'f-1', EIGHT + MINUTE + 4_999_999n, { time: START + 2n * DAY }),
    ];
    await storage.process().record(more);
    expect(await wrongIn(storage, [...MESSAGES, ...more])).toEqual([]);
  });

  it('deletes counters that no event has', async () => {
    const storage = await damaged({ 'camera|nobody|00': counting(2), 'hour|05|00': {} });
    await rebuild(storage);
    expect(storage.keys().filter((key) => /nobody|hour\|05/.test(key))).toEqual([]);
    expect(await wrongIn(storage)).toEqual([]);
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
    const camerasOf = async () => (await storage.memory.get(SHARD, 'day|00', {}))?.properties['cameras'];
    const before = await camerasOf();
    await rebuild(storage);
    expect(stripes()).toEqual(['hour|08|00']);
    expect(String(await camerasOf()).startsWith(String(before))).toBe(true);
    expect(await wrongIn(storage, [frame('b', 'f', EIGHT), ...messages])).toEqual([]);
  });

  it('puts into further stripes what one has no room for', async () => {
    const crowd = all(800).map((index) =>
      frame(`c-${index % 16}`, `f-${index}`, START, { detections: { [`category-${index}`]: 1 } }),
    );
    const storage = await recorded(MESSAGES);
    const { table } = storage.process();
    for (const { cameraId, eventId, detections } of crowd) {
      const ts_utc = '2026-11-21T00:00:00.000000Z';
      const row = { ts_utc, detections: JSON.stringify(detections), detections_time: ts_utc };
      await table.insert(SHARD, `event|0000|${cameraId}|${eventId}`, row);
    }
    await rebuild(storage);
    expect(storage.keys()).toContain('hour|00|01');
    expect(await wrongIn(storage, [...MESSAGES, ...crowd])).toEqual([]);
  });

  it('repeats what storage refuses for a while', async () => {
    const storage = await recorded(MESSAGES);
    let requests = 0;
    storage.connection.turn = async ({ kind }) => {
      requests += Number(kind === 'transact');
      if (kind === 'transact' && requests % 2 === 0) throw new StorageTrouble(0, { reason: 'ServerBusy' });
    };
    await rebuild(storage);
    expect(await wrongIn(storage)).toEqual([]);
  });

  it('of several shards rebuilds each that has rows', async () => {
    const storage = await recorded(MESSAGES, 8);
    const partitions = all(8)
      .map((shard) => shardPartition(DATE, shard))
      .filter((each) => storage.keys(each).length > 0);
    expect(partitions.length).toBeGreaterThan(1);
    for (const partition of partitions) await storage.change('day|00', counting(50), partition);
    await rebuild(storage, {}, 8);
    expect(await wrongIn(storage, MESSAGES, 8)).toEqual([]);
    expect(storage.memory.partitions()).toEqual(partitions);
  });

  it('stops at an event row that cannot be decoded, with its key, and leaves the day as it was', async () => {
    const storage = await damaged({ [EVENT]: { ts_utc: 'never' } });
    const before = storage.memory.rows(SHARD).filter(({ rowKey }) => !rowKey.startsWith('day|'));
    await expect(rebuild(storage)).rejects.toThrow(EVENT);
    expect(storage.memory.rows(SHARD).filter(({ rowKey }) => !rowKey.startsWith('day|'))).toEqual(before);
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
    expect(await wrongIn(storage, MESSAGES.toSpliced(1, 1))).toEqual([]);
    const copy = await storage.memory.get(SHARD, `damaged|${EVENT}`, {});
    expect(copy?.properties['content']).toContain('never');
    await storage.process().record([...MESSAGES, frame('alone', 'f', EIGHT)]);
    expect(await wrongIn(storage, [...MESSAGES, frame('alone', 'f', EIGHT)])).toEqual([]);
  });

  it('stops at an event row of a later format, and leaves the day open', async () => {
    const storage = await damaged({ [EVENT]: { format: FORMAT + 1 } });
    await expect(rebuild(storage, { withoutUnreadable: true })).rejects.toThrow(LaterFormat);
    expect(await sealOf(storage)).toBeUndefined();
  });

  it('is refused for a closed day, and for a day without events', async () => {
    const storage = await recorded(MESSAGES);
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 400 * 86_400_000);
    await closeDays({ table: storage.process().table, shards: 1, retentionDays: 1 }, SILENT);
    await expect(rebuild(storage)).rejects.toThrow(
      new RebuildRefused('the day is closed, and its event rows are gone'),
    );
    expect(await unsealDay(storage.process().table, 1, DATE)).toBe(0);
    const empty = await recorded([frame('a', 'f', START + DAY)]);
    await expect(rebuild(empty)).rejects.toThrow(new RebuildRefused('the day has no events'));
  });

  it('that was stopped continues in its shard, also if a late closing has sealed another shard', async () => {
    const storage = await recorded(MESSAGES, 2);
    const { table } = storage.process();
    const seals = async () => Promise.all([0, 1].map(async (shard) => readSeal(table, shardPartition(DATE, shard))));
    const [first, second] = await seals();
    if (first) await sealShard(table, first, 'closed');
    if (second) await sealShard(table, second, 'rebuilding');
    await expect(rebuild(storage, {}, 2)).rejects.toThrow('closed');
    expect((await seals()).map(({ sealed }) => sealed)).toEqual(['closed', undefined]);
  });
});
