import { randomUUID } from 'node:crypto';

import { beforeEach, describe, expect, it, vi } from 'vitest';

import type { NotificationRequest } from '../../../src/calls/model/notification-request.ts';
import { type NotificationCase, outboxSchema, stoppedNotification } from '../../../src/calls/state/notification.ts';
import { recipientSchema } from '../../../src/calls/state/recipient.ts';
import { type Lines, withNews } from '../../../src/calls/state/step.ts';
import { NotificationStore, type StoredCase } from '../../../src/calls/store/notification-store.ts';
import { CALLS, CALLS_FORMAT, idempotencyRowKey, LINES_KEY, notificationKey } from '../../../src/calls/store/rows.ts';
import { StorageTrouble, WriteConflict } from '../../../src/storage/errors.ts';
import type { NewProperties } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { callees, calling, CLAIMED, ended, HOUR, newCase, spokenTo, START } from '../new-case.ts';

const KEY = { keyHash: 'k', fingerprint: 'f' };

let memory: MemoryTable;
let table: Table;
let told: string[];
let store: NotificationStore;
/** A store as another process has it: it remembers nothing. */
const another = () => new NotificationStore(table, randomUUID, ({ rowKey }) => told.push(rowKey));
beforeEach(() => {
  memory = new MemoryTable();
  table = new Table(memory, { format: CALLS_FORMAT });
  told = [];
  store = another();
});

const create = async (at: number, more: Partial<NotificationRequest> = {}, key?: typeof KEY): Promise<StoredCase> =>
  (await store.create(newCase(at, more, key), key, undefined, at)).stored;
const commit = async (before: StoredCase, after: NotificationCase): Promise<StoredCase> =>
  (await store.commit(before, after, randomUUID(), undefined)).stored;
const end = async (known: StoredCase, state: 'heard' | 'not_reached', now = START): Promise<StoredCase> =>
  commit(known, ended(known, 0, state, now));
const keyOf = ({ notification }: NotificationCase) => notificationKey(notification.id);
const rowOf = (rowKey: string) => memory.rows(CALLS).find((row) => row.rowKey === rowKey)?.properties ?? {};
/** What another version, or an accident, leaves in a row. */
const write = async (rowKey: string, properties: NewProperties): Promise<void> =>
  void (await table.transact(CALLS, [{ kind: 'merge', rowKey, etag: '*', properties }]));
/** When the found notifications were made, in milliseconds since the start. */
const timesOf = (found: readonly NotificationCase[]) => found.map(({ notification }) => notification.createdAt - START);

const marksOf = (known: NotificationCase) => {
  const { live, told: isTold, short } = rowOf(keyOf(known));
  return [live, isTold, short];
};

const flame = (count: number) => '🔥'.repeat(count);

describe('a row', () => {
  it('holds a notification, and a change writes only what changed', async () => {
    const waves = [callees(2)];
    const first = await create(START, { waves, reference: 'ridge-04', details: 'Antelope Ridge', confirm: true });
    const [id, rowKey] = [first.notification.id, keyOf(first)];
    expect(await another().load(id)).toEqual(first);
    await write(rowKey, { r01: '{}' });
    store.forget(id);
    const etag = memory.rows(CALLS)[0]?.etag ?? '';
    const second = await commit({ ...first, etag }, calling(first, 0, CLAIMED));
    expect(rowOf(rowKey)).toMatchObject({ r01: '{}', recipients: 2, commit: second.commit, format: 3 });
    await expect(commit(first, calling(first, 0, CLAIMED))).rejects.toThrow(WriteConflict);
  });

  it('is written together with what all instances share, whose version is known then', async () => {
    const shared = { lines: { queue: { pauseUntil: 7 } }, etag: undefined };
    const { stored, linesEtag } = await store.create(newCase(START), KEY, shared, START);
    expect(await another().lines()).toEqual({ lines: shared.lines, etag: linesEtag });
    const next = { lines: { queue: {} }, etag: linesEtag };
    const written = await store.commit(stored, calling(stored, 0, CLAIMED), randomUUID(), next);
    expect(await another().lines()).toEqual({ lines: next.lines, etag: written.linesEtag });
  });

  it('is marked: as live until nothing can happen, as told when all is published, as short until enough are reached', async () => {
    const first = await create(START);
    expect(marksOf(first)).toEqual(['yes', 'yes', 'yes']);
    const heard = await end(first, 'heard');
    expect(marksOf(heard)).toEqual(['no', 'yes', 'no']);
    expect(marksOf(await commit(heard, withNews(first, heard, ['topic'], START)))).toEqual(['no', 'no', 'no']);
    expect(marksOf(await end(await create(START + 1), 'not_reached'))).toEqual(['no', 'yes', 'yes']);
    const stopped = await create(START + 2);
    expect(marksOf(await commit(stopped, stoppedNotification(stopped, START)))).toEqual(['no', 'yes', 'no']);
  });

  it('of fifty people with ten attempts and two free ones each, and the longest of everything, is below 1 MiB, each property below 64 KiB', async () => {
    const over = {
      ...spokenTo({
        startedAt: START,
        completedAt: START,
        quietSince: START,
        repeatKeys: [1, 2],
        speech: { number: 2, askedAt: START, acceptedAt: START, unclearAt: START },
      }),
      id: randomUUID(),
      line: 'twilio',
      state: 'over',
      openThen: 99,
      callIds: [`CA${'0'.repeat(32)}`],
      endedAt: START,
      heardUntil: START,
      code: 500,
      subCode: 560_000,
      outcome: 'unconfirmed',
      hasHeardUnit: false,
      isFree: false,
      wasHungUp: true,
      reason: 'message not played: the phone service does not accept this app',
    };
    const known = newCase(START, {
      waves: callees(50).map((one) => [{ ...one, name: flame(60) }]),
      reference: flame(100),
      details: flame(200),
      confirm: true,
      waveMs: 1,
      confirmationsNeeded: 50,
    });
    const attempts = Array.from({ length: 12 }, () => over);
    const recipients = known.recipients.map((one) => recipientSchema.parse({ ...one, isStopped: false, attempts }));
    const entries = [
      ...recipients.flatMap((_, index) =>
        ['not_reached', 'cannot_go', 'confirmed'].map((status) => ({ kind: 'recipient', at: START, index, status })),
      ),
      ...Array.from({ length: 20 }, () => ({ kind: 'acknowledged', at: START, times: 19, by: flame(60) })),
    ];
    const list = { tryAt: START, entries };
    const full = { ...known, recipients, outbox: outboxSchema.parse({ topic: list, webhook: list }) };
    const { stored } = await store.create(full, KEY, undefined, START);
    expect(await another().load(stored.notification.id)).toEqual(stored);
    // Table Storage counts two bytes a character.
    const bytes = Object.values(rowOf(keyOf(stored))).map((value) => 2 * String(value).length);
    expect(Math.max(...bytes)).toBeLessThan(64 * 1_024);
    expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(1_024 * 1_024);
  });
});

describe('a row that cannot be read', () => {
  it.each<[what: string, properties: NewProperties]>([
    ['is of a later format', { format: CALLS_FORMAT + 1 }],
    ['lacks a person', { recipients: 2 }],
    ['is no JSON', { r00: '{' }],
    ['has an unknown state', { r00: '{"state":"asleep"}' }],
    ['is another one', { about: JSON.stringify(newCase(START).notification) }],
  ])('because it %s is skipped, told once, and stays as it is', async (_, properties) => {
    const [good, bad] = [await create(START), await create(START + 1)];
    await write(keyOf(bad), properties);
    const reader = another();
    for (let times = 0; times < 2; times += 1) expect((await reader.look(START)).live).toEqual([good]);
    expect((await reader.list({ most: 9 }, () => true)).found).toEqual([good]);
    expect(await reader.needingAttention(START)).toEqual([good]);
    await expect(reader.load(bad.notification.id)).rejects.toThrow(/format|damaged/i);
    expect(told).toEqual([keyOf(bad)]);
    expect(rowOf(keyOf(bad))).toMatchObject(properties);
  });

  it.each([{ lines: '{"queue":7}' }, { format: CALLS_FORMAT + 1 }])(
    'of what all instances share is replaced, and told: %j',
    async (damage) => {
      const lines: Lines = { queue: { pauseUntil: 7 }, day: { day: '2026-11-21', calls: 3 } };
      await store.writeLines({ lines, etag: undefined });
      expect((await store.look(START)).lines).toEqual(lines);
      await write(LINES_KEY, damage);
      const { etag, ...read } = await store.lines();
      expect([read.lines, told]).toEqual([{ queue: {} }, [LINES_KEY]]);
      await store.writeLines({ lines, etag });
      expect((await another().lines()).lines).toEqual(lines);
    },
  );

  it('of a key keeps nobody from being called', async () => {
    await create(START, {}, KEY);
    await write(idempotencyRowKey('k'), { use: '[]' });
    expect((await store.readKey(KEY, START)).earlier).toBeUndefined();
    expect(told).toEqual([idempotencyRowKey('k')]);
  });
});

it('an Idempotency-Key belongs to its first request for 24 hours, and is deleted with it if it still names it', async () => {
  const { notification } = await create(START, {}, KEY);
  const later = START + 24 * HOUR;
  expect((await store.readKey(KEY, later - 1)).earlier).toMatchObject({
    notificationId: notification.id,
    fingerprint: 'f',
  });
  const { earlier, etag } = await store.readKey(KEY, later);
  expect(earlier).toBeUndefined();
  await store.create(newCase(later, {}, KEY), { ...KEY, ...(etag !== undefined && { etag }) }, undefined, later);
  await store.deleteBefore(later);
  expect(timesOf((await store.list({ most: 9 }, () => true)).found)).toEqual([24 * HOUR]);
  expect((await store.readKey(KEY, later)).earlier).toBeDefined();
  await store.deleteBefore(later + 1);
  expect(memory.rows(CALLS)).toEqual([]);
});

it('storage that does not answer is waited for 1.5 s, once: a callee hears silence meanwhile', async () => {
  const { id } = (await create(START)).notification;
  vi.useFakeTimers();
  const get = vi.spyOn(memory, 'get').mockReturnValue(new Promise(() => undefined));
  const failed = vi.fn<(error: unknown) => void>();
  const loading = another().load(id).catch(failed);
  await vi.advanceTimersByTimeAsync(1_499);
  expect(failed).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  await loading;
  vi.useRealTimers();
  expect(failed).toHaveBeenCalledWith(expect.any(StorageTrouble));
  expect(get).toHaveBeenCalledTimes(1);
});

it('what expired is deleted to the millisecond, also if it cannot be read', async () => {
  const keys = [];
  for (const ms of [0, 1, 2]) keys.push(keyOf(await create(START + ms)));
  await write(keys[0] ?? '', { about: '{' });
  await another().deleteBefore(START + 2);
  expect(memory.rows(CALLS).map(({ rowKey }) => rowKey)).toEqual(keys.slice(2));
});

describe('a look', () => {
  it('finds live notifications of 25 hours; the first one of a process finds all', async () => {
    for (const hours of [0, 1, 26]) await create(START + hours * HOUR);
    const now = START + 26 * HOUR;
    expect(timesOf((await store.look(now)).live)).toEqual([26 * HOUR, HOUR]);
    expect(timesOf((await store.look(now, true)).live)).toEqual([26 * HOUR, HOUR, 0]);
  });

  it('beside thousands of ended notifications reads only the live ones', async () => {
    await create(START);
    for (let ms = 1; ms <= 2_000; ms += 1) await end(await create(START + ms), 'heard');
    const page = vi.spyOn(memory, 'page');
    expect(timesOf((await another().look(START + 2_000)).live)).toEqual([0]);
    expect(page).toHaveBeenCalledTimes(1);
    expect((await page.mock.results[0]?.value)?.rows).toHaveLength(1);
  });

  it('for what is to be published finds notifications of two days', async () => {
    for (const hours of [0, 1, 50]) {
      const known = await create(START + hours * HOUR);
      await commit(known, withNews(undefined, stoppedNotification(known, START), ['webhook'], START));
    }
    const now = START + 50 * HOUR;
    expect(timesOf(await store.untold(now))).toEqual([50 * HOUR, HOUR]);
    expect(timesOf(await store.untold(now, true))).toHaveLength(3);
  });

  it('for what needs attention finds it however many others there are, until a day after its end', async () => {
    const [reached, missed] = [await create(START), await create(START + 1)];
    await end(reached, 'heard', START + HOUR);
    await end(missed, 'not_reached', START + HOUR);
    await create(START + 2);
    expect(timesOf(await store.needingAttention(START + HOUR))).toEqual([2, 1]);
    expect(timesOf(await store.needingAttention(START + 25 * HOUR))).toEqual([2]);
    expect(await store.needingAttention(START + 51 * HOUR)).toEqual([]);
  });
});

const allListed = async (most: number, isMeant: (known: NotificationCase) => boolean = () => true) => {
  const pages: number[][] = [];
  let after: Awaited<ReturnType<NotificationStore['list']>>['next'];
  do {
    const { found, next } = await store.list({ most, after }, isMeant);
    pages.push(timesOf(found));
    after = next;
  } while (after !== undefined);
  return pages;
};

describe('the list of notifications', () => {
  it('goes on where it ended, the newest first, and says when there is more', async () => {
    for (const at of [0, 1, 2, 3, 4]) await create(START + at);
    expect(await allListed(2)).toEqual([[4, 3], [2, 1], [0]]);
    expect(await allListed(5)).toEqual([[4, 3, 2, 1, 0]]);
  });

  it('reads a thousand rows at a time, also of those that are not meant', async () => {
    for (let at = 0; at < 1_001; at += 1) await create(START + at);
    expect(await allListed(9, ({ notification }) => notification.createdAt <= START + 1)).toEqual([[1], [0]]);
  });

  it('is of a time', async () => {
    for (const hours of [0, 1, 2, 3]) await create(START + hours * HOUR);
    // An id is made up to a minute before its row.
    for (const earlier of [60_000, 60_001]) await create(START + HOUR - earlier);
    const { found } = await store.list({ most: 10, since: START + HOUR, until: START + 2 * HOUR }, () => true);
    expect(timesOf(found)).toEqual([2 * HOUR, HOUR, HOUR - 60_000]);
  });
});
