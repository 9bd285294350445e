import { randomUUID } from 'node:crypto';

import { beforeEach, describe, expect, it, vi } from 'vitest';

import type { NotificationRequest } from '../../../src/calls/model/notification-request.ts';
import { type Lines, NO_LINES } from '../../../src/calls/state/lines.ts';
import { acknowledged, type AnyCase, type NotificationCase, settled } from '../../../src/calls/state/notification.ts';
import { recipientSchema } from '../../../src/calls/state/recipient.ts';
import { CALLS, CALLS_FORMAT, doneKey, idempotencyRowKey, LINES_KEY, liveKey } from '../../../src/calls/store/rows.ts';
import { type Commit, type LiveCase, Store } from '../../../src/calls/store/store.ts';
import { StorageTrouble, WriteConflict } from '../../../src/storage/errors.ts';
import type { NewProperties } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { callees, calling, CLAIMED, ended, HOUR, must, newCase, spokenTo, START } from '../new-case.ts';

const moment = (now = START) => ({ now, commit: randomUUID() });
const KEY = { keyHash: 'k', fingerprint: 'f' };

let memory: MemoryTable;
let table: Table;
let logged: string[];
let store: Store;
/** The store of another process: it remembers nothing. */
const another = () => new Store(table, [], ({ rowKey }) => logged.push(rowKey));
beforeEach(() => {
  memory = new MemoryTable();
  table = new Table(memory, { format: CALLS_FORMAT, isAnyFormat: true });
  logged = [];
  store = another();
});

const create = async (
  at: number,
  more: Partial<NotificationRequest> = {},
  key?: Commit['key'],
  lines?: Commit['lines'],
): Promise<LiveCase> => {
  const after = newCase(at, more, key);
  return (await store.commit({ before: undefined, after, moment: moment(), key, lines })).stored;
};
const commit = async (before: LiveCase, after: NotificationCase, lines?: Commit['lines']): Promise<LiveCase> =>
  (await store.commit({ before, after, moment: moment(), lines })).stored;
/** A notification that is over and settled. */
const settle = async (live: LiveCase, state: 'heard' | 'not_reached' = 'heard', now = START): Promise<void> =>
  store.settle(await commit(live, ended(live, 0, state, now)));
const keyOf = ({ notification }: AnyCase) => liveKey(notification.id);
const rowOf = (rowKey: string) => memory.rows(CALLS).find((row) => row.rowKey === rowKey)?.properties ?? {};
const rowKeys = () => memory.rows(CALLS).map(({ rowKey }) => rowKey);
/** The damage that another version, or an accident, leaves in a row. */
const write = async (rowKey: string, properties: NewProperties): Promise<void> =>
  void (await table.transact(CALLS, [{ kind: 'merge', rowKey, etag: '*', properties }]));
/** When the found notifications were made, in milliseconds since the start. */
const timesOf = (found: readonly AnyCase[]) => found.map(({ notification }) => notification.createdAt - START);

const flame = (count: number) => '🔥'.repeat(count);

describe('a live notification', () => {
  it('is one row, and a change writes only what changed', async () => {
    const waves = [callees(2)];
    const first = await create(START, { waves, reference: 'ridge-04', details: 'Antelope Ridge', confirm: true });
    const [id, rowKey] = [first.notification.id, keyOf(first)];
    expect(await another().load(id)).toEqual(first);
    await write(rowKey, { r01: '{}' });
    const etag = memory.rows(CALLS)[0]?.etag ?? '';
    const second = await commit({ ...first, etag }, calling(first, 0, CLAIMED));
    expect(rowOf(rowKey)).toMatchObject({ r01: '{}', recipients: 2, commit: second.commit, format: CALLS_FORMAT });
    await expect(commit(first, calling(first, 0, CLAIMED))).rejects.toThrow(WriteConflict);
  });

  it('is written together with the lines, whose version is known then', async () => {
    const after: Lines = { ...NO_LINES, pauseUntil: 7 };
    const first = await create(START, {}, KEY, { read: { lines: NO_LINES, etag: undefined }, after });
    const read = await another().readLines();
    expect([await store.lines(), read.lines]).toEqual([read, after]);
    const second = await commit(first, calling(first, 0, CLAIMED), { read, after: NO_LINES });
    expect((await another().readLines()).lines).toEqual(NO_LINES);
    const late = { read, after };
    await expect(commit(second, calling(second, 0, spokenTo()), late)).rejects.toThrow(WriteConflict);
    expect(await another().load(first.notification.id)).toEqual(second);
  });

  it('of fifty people with ten attempts each, and the longest of everything, is below 1 MiB, each property below 64 KiB', async () => {
    const prompt = { number: 2, askedAt: START, acceptedAt: START, unclearAt: START };
    const times = { startedAt: START, completedAt: START, quietSince: START, confirmedAt: START, cannotGoAt: START };
    const over = {
      ...spokenTo({ ...times, prompt, repeatKeys: [1, 2], isUnclear: true }),
      id: randomUUID(),
      provider: 'twilio',
      state: 'over',
      action: { commit: randomUUID(), at: START },
      callIds: [`CA${'0'.repeat(32)}`, `CA${'1'.repeat(32)}`],
      endedIds: [`CA${'0'.repeat(32)}`],
      endedAt: START,
      heardUntil: START,
      code: 500,
      subCode: 560_000,
      outcome: 'unconfirmed',
      hasHeardUnit: false,
      reason: 'message not played: the phone service does not accept this app',
    };
    const live = newCase(START, {
      waves: callees(50).map((one) => [{ ...one, name: flame(60) }]),
      reference: flame(100),
      details: flame(200),
      confirm: true,
      waveMs: 1,
      confirmationsNeeded: 50,
    });
    const attempts = Array.from({ length: 10 }, () => over);
    const recipients = live.recipients.map((one) => recipientSchema.parse({ ...one, attempts }));
    const full = { ...live, recipients };
    const { stored } = await store.commit({ before: undefined, after: full, moment: moment(), key: KEY });
    expect(await another().load(stored.notification.id)).toEqual(stored);
    // Table Storage counts two bytes a character.
    const bytes = Object.values(rowOf(keyOf(stored))).map((value) => 2 * String(value).length);
    expect(Math.max(...bytes)).toBeLessThan(64 * 1_024);
    expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(1_024 * 1_024);
  });

  it('moves to a settled row with masked numbers, and is found there', async () => {
    const live = await create(START, { waves: [callees(1)] });
    await settle(live);
    expect(rowKeys()).toEqual([doneKey(live.notification.id)]);
    expect(JSON.stringify(memory.rows(CALLS))).not.toMatch(/\+\d{7}/);
    expect(await store.load(live.notification.id)).toBeUndefined();
    const found = must(await another().find(live.notification.id));
    expect(found).toMatchObject({ recipients: [{ state: 'heard', number: '+1206•••••00' }] });
    await expect(store.settle(live)).rejects.toThrow(WriteConflict);
  });

  it('that is settled is acknowledged by its version', async () => {
    const live = await create(START);
    await settle(live);
    const before = must(await store.loadSettled(live.notification.id));
    await store.commitSettled(before, acknowledged(before, 'Ana', START), moment());
    expect((await another().loadSettled(live.notification.id))?.notification.acknowledged?.by).toBe('Ana');
    await expect(store.commitSettled(before, before, moment())).rejects.toThrow(WriteConflict);
  });
});

describe('a row that cannot be read', () => {
  it.each<[what: string, properties: NewProperties]>([
    ['is of a later format', { format: CALLS_FORMAT + 1 }],
    ['lacks a person', { recipients: 2 }],
    ['is no JSON', { r00: '{' }],
    ['has an unknown state', { r00: '{"state":"asleep"}' }],
    [
      'has a masked number while it is live',
      { r00: JSON.stringify(settled(ended(newCase(START), 0, 'heard')).recipients[0]) },
    ],
    ['is another one', { about: JSON.stringify(newCase(START).notification) }],
  ])('because it %s is skipped, logged once, and stays as it is', async (_, properties) => {
    const [good, bad] = [await create(START), await create(START + 1)];
    await write(keyOf(bad), properties);
    const reader = another();
    for (let times = 0; times < 2; times += 1) expect((await reader.readLive()).live).toEqual([good]);
    expect(timesOf((await reader.list({ most: 9 }, () => true)).found)).toEqual([0]);
    expect(timesOf(await reader.needingAttention(START))).toEqual([0]);
    await expect(reader.load(bad.notification.id)).rejects.toThrow(/format|damaged/i);
    expect(logged).toEqual([keyOf(bad)]);
    expect(rowOf(keyOf(bad))).toMatchObject(properties);
  });

  it('of the lines is replaced if it is damaged', async () => {
    await store.writeLines({ ...NO_LINES, pauseUntil: 7 }, { lines: NO_LINES, etag: undefined });
    await write(LINES_KEY, { lines: '{"slots":7}' });
    const read = await another().readLines();
    expect([read.lines, logged]).toEqual([NO_LINES, [LINES_KEY]]);
    await store.writeLines({ ...NO_LINES, pauseUntil: 8 }, read);
    expect((await another().readLines()).lines.pauseUntil).toBe(8);
  });

  it('of the lines is never replaced if it is of a later format: storage counts as away', async () => {
    await store.writeLines(NO_LINES, { lines: NO_LINES, etag: undefined });
    await write(LINES_KEY, { format: CALLS_FORMAT + 1 });
    await expect(another().readLines()).rejects.toThrow(StorageTrouble);
    await expect(another().readLive()).rejects.toThrow(StorageTrouble);
    expect(logged).toContain(LINES_KEY);
  });

  it('of a key keeps nobody from being called', async () => {
    await create(START, {}, KEY);
    await write(idempotencyRowKey('k'), { use: '[]' });
    expect((await store.readKey(KEY, START)).earlier).toBeUndefined();
    expect(logged).toEqual([idempotencyRowKey('k')]);
  });
});

it('an Idempotency-Key belongs to its first request for 24 hours, and is deleted with it if it still names it', async () => {
  const first = await create(START, {}, KEY);
  const later = START + 24 * HOUR;
  const held = { notificationId: first.notification.id, fingerprint: 'f' };
  expect((await store.readKey(KEY, later - 1)).earlier).toMatchObject(held);
  const { earlier, etag } = await store.readKey(KEY, later);
  expect(earlier).toBeUndefined();
  const second = await create(later, {}, { ...KEY, etag });
  for (const live of [first, second]) await settle(live);
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

it('what expired is deleted to the millisecond, also if it cannot be read; a live notification only then', async () => {
  const created: LiveCase[] = [];
  for (const ms of [0, 1, 2, 3]) created.push(await create(START + ms));
  const [unreadable, live, ...others] = created;
  for (const one of others) await settle(one);
  await write(keyOf(must(unreadable)), { about: '{' });
  await another().deleteBefore(START + 3);
  expect(rowKeys()).toEqual([keyOf(must(live)), doneKey(must(others[1]).notification.id)]);
});

describe('the query for what is live', () => {
  it('reads nothing of the retention, however many are settled', async () => {
    await create(START);
    for (let ms = 1; ms <= 1_500; ms += 1) await settle(await create(START + ms));
    const page = vi.spyOn(memory, 'page');
    expect(timesOf((await another().readLive()).live)).toEqual([0]);
    expect(page).toHaveBeenCalledTimes(1);
    expect((await page.mock.results[0]?.value)?.rows).toHaveLength(1);
  });

  it('does not parse a row again whose version is live', async () => {
    const live = await create(START);
    expect((await store.readLive()).live[0]).toBe(store.recall(live.notification.id));
  });
});

it('what needs attention is found however many others there are, until a day after its end', async () => {
  const [reached, missed] = [await create(START), await create(START + 1)];
  await settle(reached, 'heard', START + HOUR);
  await settle(missed, 'not_reached', START + HOUR);
  await create(START + 2);
  expect(timesOf(await store.needingAttention(START + HOUR))).toEqual([2, 1]);
  // A notification that runs is found at any age.
  for (const hours of [25, 60]) expect(timesOf(await store.needingAttention(START + hours * HOUR))).toEqual([2]);
});

const allListed = async (most: number, isMeant: (live: AnyCase) => boolean = () => true) => {
  const pages: number[][] = [];
  let after: Awaited<ReturnType<Store['list']>>['next'];
  do {
    const { found, next } = await store.list({ most, after }, isMeant);
    pages.push(timesOf(found));
    after = next;
  } while (after !== undefined);
  return pages;
};

describe('the list of notifications', () => {
  it('goes on where it ended, the newest first, live and settled ones, and says when there is more', async () => {
    for (const at of [0, 1, 2, 3, 4]) {
      const live = await create(START + at);
      if (at % 2 === 1) await settle(live);
    }
    expect(await allListed(2)).toEqual([[4, 3], [2, 1], [0]]);
    expect(await allListed(5)).toEqual([[4, 3, 2, 1, 0]]);
  });

  it('has a notification once that settles between its two queries', async () => {
    const [first] = [await create(START), await create(START + 1)];
    const page = memory.page.bind(memory);
    vi.spyOn(memory, 'page').mockImplementationOnce(async (...asked) => {
      const answer = await page(...asked);
      await settle(first);
      return answer;
    });
    expect(await allListed(5)).toEqual([[1, 0]]);
  });

  it('reads a thousand rows at a time, also of those that are not meant, and displaces nothing that this process needs', async () => {
    const live = await create(START + 5_000);
    for (let at = 0; at < 1_000; at += 1) await create(START + at);
    expect(await allListed(9, ({ notification }) => notification.createdAt <= START + 1)).toEqual([[1], [0]]);
    expect(store.textsOf(live.notification.id)).toBeDefined();
  });

  it('is of a time', async () => {
    for (const hours of [0, 1, 2, 3]) await create(START + hours * HOUR);
    // An id is made up to a minute before its row.
    for (const earlier of [60_000, 60_001]) await create(START + HOUR - earlier);
    const { found } = await store.list({ most: 10, since: START + HOUR, until: START + 2 * HOUR }, () => true);
    expect(timesOf(found)).toEqual([2 * HOUR, HOUR, HOUR - 60_000]);
  });
});

const commitOutcomes = async (at: number) => {
  const before = await create(START + at);
  const after = ended(before, 0, 'heard', START + at);
  const publishing = new Store(table, ['topic', 'webhook'], () => undefined);
  return must((await publishing.commit({ before, after, moment: moment(START + at) })).outcomes);
};

describe('outcomes', () => {
  it('are stored with their commit until all receivers have them, and are found the oldest first', async () => {
    const [first, second] = [await commitOutcomes(0), await commitOutcomes(1)];
    expect((await another().outcomesBefore(START + 2)).map(({ at }) => at - START)).toEqual([0, 1]);
    expect(await another().outcomesBefore(START + 1)).toMatchObject([{ to: ['topic', 'webhook'] }]);
    await store.noteDelivery(first, ['webhook'], START + 30_000);
    expect(await another().outcomesBefore(START + 1)).toMatchObject([{ to: ['webhook'], until: START + 30_000 }]);
    await expect(store.noteDelivery(first, ['topic'])).rejects.toThrow(WriteConflict);
    for (const one of [first, second, second]) await store.noteDelivery(one, []);
    expect(await store.outcomesBefore(START + 9)).toEqual([]);
  });

  it('that cannot be read are deleted', async () => {
    const { rowKey } = await commitOutcomes(0);
    await write(rowKey, { outcomes: '{' });
    expect(await store.outcomesBefore(START + 9)).toEqual([]);
    expect([logged, rowOf(rowKey)]).toEqual([[rowKey], {}]);
  });
});
