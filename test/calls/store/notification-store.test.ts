import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { NotificationRequest } from '../../../src/calls/model/notification-request.ts';
import type { Lines } from '../../../src/calls/state/lines.ts';
import { type NotificationCase, stoppedNotification, withRecipient } from '../../../src/calls/state/notification.ts';
import { outboxSchema, withNews } from '../../../src/calls/state/outbox.ts';
import { claimed, final, recipientSchema } from '../../../src/calls/state/recipient.ts';
import { termsOf } from '../../../src/calls/state/step.ts';
import { NotificationStore, type StoredCase } from '../../../src/calls/store/notification-store.ts';
import { CALLS, CALLS_FORMAT, idempotencyRowKey, LINES_KEY, notificationKey } from '../../../src/calls/store/rows.ts';
import { StorageTrouble, WriteConflict } from '../../../src/storage/errors.ts';
import type { NewProperties } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { callees, newCase, POLICY } from '../new-case.ts';
import { MemoryTable } from '../../storage/memory-table.ts';

const START = Date.parse('2026-11-21T08:00:00Z');
const HOUR = 3_600_000;
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
const end = async (known: StoredCase, state: 'heard' | 'not_reached', now: number): Promise<StoredCase> => {
  const [recipient] = known.recipients;
  return recipient === undefined ? known : commit(known, withRecipient(known, 0, final(recipient, state), now));
};
const claim = (known: NotificationCase, now: number): NotificationCase => {
  const [recipient] = known.recipients;
  if (recipient === undefined) return known;
  return withRecipient(known, 0, claimed(recipient, { attemptId: 'a', openThen: 0 }, termsOf(known, POLICY), now), now);
};
const rowOf = (rowKey: string) => memory.rows(CALLS).find((row) => row.rowKey === rowKey)?.properties ?? {};
/** What another version, or an accident, leaves in a row. */
const write = async (rowKey: string, properties: NewProperties): Promise<void> =>
  void (await table.transact(CALLS, [{ kind: 'merge', rowKey, etag: '*', properties }]));
const timesOf = (found: readonly NotificationCase[]) => found.map(({ notification }) => notification.createdAt - START);

const marksOf = ({ notification: { id } }: StoredCase) => {
  const { live, told: isTold, short } = rowOf(notificationKey(id));
  return [live, isTold, short];
};
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

const flame = (count: number) => '🔥'.repeat(count);

describe('a row', () => {
  it('holds a notification, and a change writes only what changed', async () => {
    const waves = [callees(2)];
    const first = await create(START, { waves, reference: 'ridge-04', details: 'Antelope Ridge', confirm: true });
    const [id, rowKey] = [first.notification.id, notificationKey(first.notification.id)];
    expect(await another().load(id)).toEqual(first);
    await write(rowKey, { r01: '{}' });
    store.forget(id);
    const etag = memory.rows(CALLS)[0]?.etag ?? '';
    const second = await commit({ ...first, etag }, claim(first, START));
    expect(rowOf(rowKey)).toMatchObject({ r01: '{}', recipients: 2, commit: second.commit, format: 3 });
    await expect(commit(first, claim(first, START))).rejects.toThrow(WriteConflict);
  });

  it('is written together with what all instances share, whose version is known then', async () => {
    const shared = { lines: { queue: { pauseUntil: 7 } }, etag: undefined };
    const { stored, linesEtag } = await store.create(newCase(START), KEY, shared, START);
    expect(await another().lines()).toEqual({ lines: shared.lines, etag: linesEtag });
    const next = { lines: { queue: {} }, etag: linesEtag };
    const written = await store.commit(stored, claim(stored, START), randomUUID(), next);
    expect(await another().lines()).toEqual({ lines: next.lines, etag: written.linesEtag });
  });

  it('is marked: as live until nothing can happen, as told when nothing is to be told, as short until enough are reached', async () => {
    const first = await create(START);
    expect(marksOf(first)).toEqual(['yes', 'yes', 'yes']);
    const ended = await end(first, 'heard', START);
    expect(marksOf(ended)).toEqual(['no', 'yes', 'no']);
    expect(marksOf(await commit(ended, withNews(first, ended, ['topic'], START)))).toEqual(['no', 'no', 'no']);
    expect(marksOf(await end(await create(START + 1), 'not_reached', START))).toEqual(['no', 'yes', 'yes']);
    const stopped = await create(START + 2);
    expect(marksOf(await commit(stopped, stoppedNotification(stopped, START)))).toEqual(['no', 'yes', 'no']);
  });

  it('of fifty people with ten attempts and two free ones each, and the longest of everything, is below 1 MiB, each property below 64 KiB', async () => {
    const talk = {
      answeredAt: START,
      startedAt: START,
      completedAt: START,
      quietSince: START,
      repeatKeys: [1, 2],
      speech: { number: 2, askedAt: START, acceptedAt: START, unclearAt: START },
    };
    const over = {
      id: randomUUID(),
      line: 'twilio',
      state: 'over',
      claimedAt: START,
      openThen: 99,
      placedAt: START,
      talk,
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
    const attempts = Array.from({ length: 12 }, () => over);
    const known = newCase(START, {
      waves: callees(50).map((one) => [{ ...one, name: flame(60) }]),
      reference: flame(100),
      details: flame(200),
      confirm: true,
      waveMs: 1,
      confirmationsNeeded: 50,
    });
    const recipients = known.recipients.map((one) => recipientSchema.parse({ ...one, isStopped: false, attempts }));
    const entries = recipients.flatMap((_, index) =>
      ['not_reached', 'cannot_go', 'confirmed'].map((status) => ({ kind: 'recipient', at: START, index, status })),
    );
    const acknowledgements = Array.from({ length: 20 }, (_, times) => {
      return { kind: 'acknowledged', at: START, times, by: flame(60) };
    });
    const list = { tryAt: START, entries: [...entries, ...acknowledgements] };
    const full = { ...known, recipients, outbox: outboxSchema.parse({ topic: list, webhook: list }) };
    const { stored } = await store.create(full, KEY, undefined, START);
    expect(await another().load(stored.notification.id)).toEqual(stored);
    // Table Storage counts two bytes a character.
    const bytes = Object.values(rowOf(notificationKey(stored.notification.id))).map(
      (value) => 2 * String(value).length,
    );
    expect(Math.max(...bytes)).toBeLessThan(64 * 1_024);
    expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(1_024 * 1_024);
  });
});

describe('a row that cannot be read', () => {
  const DAMAGES: readonly [what: string, properties: NewProperties][] = [
    ['is of a later format', { format: CALLS_FORMAT + 1 }],
    ['lacks a person', { recipients: 2 }],
    ['is no JSON', { r00: '{' }],
    ['has an unknown state', { r00: '{"state":"asleep"}' }],
    ['is another one', { about: JSON.stringify(newCase(START).notification) }],
  ];

  it.each(DAMAGES)('because it %s is skipped, told once, and stays as it is', async (_, properties) => {
    const [good, bad] = [await create(START), await create(START + 1)];
    const rowKey = notificationKey(bad.notification.id);
    await write(rowKey, properties);
    const reader = another();
    for (let times = 0; times < 2; times += 1) expect((await reader.look(START)).live).toEqual([good]);
    expect((await reader.list({ most: 9 }, () => true)).found).toEqual([good]);
    expect(await reader.needingAttention(START)).toEqual([good]);
    await expect(reader.load(bad.notification.id)).rejects.toThrow(/format|damaged/i);
    expect(told).toEqual([rowKey]);
    expect(rowOf(rowKey)).toMatchObject(properties);
  });

  it('of what all instances share is replaced, and told', async () => {
    const lines: Lines = { queue: { pauseUntil: 7 }, day: { day: '2026-11-21', calls: 3 } };
    await store.writeLines({ lines, etag: undefined });
    expect((await store.look(START)).lines).toEqual(lines);
    await write(LINES_KEY, { lines: '{"queue":7}' });
    const { etag, ...read } = await store.lines();
    expect([read.lines, told]).toEqual([{ queue: {} }, [LINES_KEY]]);
    await store.writeLines({ lines, etag });
    expect((await another().lines()).lines).toEqual(lines);
  });

  it('of a key keeps nobody from being called', async () => {
    await create(START, {}, KEY);
    await write(idempotencyRowKey('k'), { use: '[]' });
    expect((await store.readKey(KEY, START)).earlier).toBeUndefined();
    expect(told).toEqual([idempotencyRowKey('k')]);
  });
});

describe('an Idempotency-Key', () => {
  it('belongs to its first request for 24 hours', async () => {
    const { notification } = await create(START, {}, KEY);
    const earlier = async (ms: number) => (await store.readKey(KEY, START + ms)).earlier;
    expect(await earlier(24 * HOUR - 1)).toMatchObject({ notificationId: notification.id, fingerprint: 'f' });
    expect(await earlier(24 * HOUR)).toBeUndefined();
  });

  it('is deleted with its notification if it still names it', async () => {
    await create(START, {}, KEY);
    const later = START + 25 * HOUR;
    const { etag } = await store.readKey(KEY, later);
    await store.create(newCase(later, {}, KEY), { ...KEY, ...(etag !== undefined && { etag }) }, undefined, later);
    await store.deleteBefore(later);
    expect(timesOf((await store.list({ most: 9 }, () => true)).found)).toEqual([25 * HOUR]);
    expect((await store.readKey(KEY, later)).earlier).toBeDefined();
    await store.deleteBefore(later + 1);
    expect(memory.rows(CALLS)).toEqual([]);
  });
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
  for (const ms of [0, 1, 2]) keys.push(notificationKey((await create(START + ms)).notification.id));
  await write(keys[0] ?? '', { about: '{' });
  await another().deleteBefore(START + 2);
  expect(memory.rows(CALLS).map(({ rowKey }) => rowKey)).toEqual(keys.slice(2));
});

describe('a look', () => {
  it('finds live notifications of 25 hours; the first one of a process finds all', async () => {
    for (const hours of [0, 1, 26]) await create(START + hours * HOUR);
    await end(await create(START + 26 * HOUR + 1), 'heard', START);
    const now = START + 26 * HOUR;
    expect(timesOf((await store.look(now)).live)).toEqual([26 * HOUR, HOUR]);
    expect(timesOf((await store.look(now, true)).live)).toEqual([26 * HOUR, HOUR, 0]);
  });

  it('for what is to be told finds notifications of two days', async () => {
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

describe('the list of notifications', () => {
  it('goes on where it ended, the newest first, and says when there is more', async () => {
    for (const at of [0, 1, 2, 3, 4]) await create(START + at);
    expect(await allListed(2)).toEqual([[4, 3], [2, 1], [0]]);
    expect(await allListed(5)).toEqual([[4, 3, 2, 1, 0]]);
  });

  it('reads a thousand rows at a time, also of those that are not meant', async () => {
    for (let at = 0; at < 1_001; at += 1) await create(START + at);
    expect(await allListed(1, ({ notification }) => notification.createdAt === START)).toEqual([[], [0]]);
  });

  it('is of a time', async () => {
    for (const hours of [0, 1, 2, 3]) await create(START + hours * HOUR);
    // An id is made up to a minute before its row.
    for (const earlier of [60_000, 60_001]) await create(START + HOUR - earlier);
    const { found } = await store.list({ most: 10, since: START + HOUR, until: START + 2 * HOUR }, () => true);
    expect(timesOf(found)).toEqual([2 * HOUR, HOUR, HOUR - 60_000]);
  });
});
