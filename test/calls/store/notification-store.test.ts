import { randomUUID } from 'node:crypto';

import { beforeEach, describe, expect, it } from 'vitest';

import type { NotificationRequest } from '../../../src/calls/model/notification-request.ts';
import { ATTENTION_AFTER_END_MS } from '../../../src/calls/state/attention.ts';
import { type NotificationCase, stoppedNotification, withRecipient } from '../../../src/calls/state/notification.ts';
import { final } from '../../../src/calls/state/recipient.ts';
import type { StoredCase } from '../../../src/calls/store/case-rows.ts';
import { NotificationStore } from '../../../src/calls/store/notification-store.ts';
import { CALLS_FORMAT } from '../../../src/calls/store/rows.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { newCase, numbers } from '../new-case.ts';

const START = Date.parse('2026-11-21T08:00:00Z');
const HOUR_MS = 3_600_000;

let store: NotificationStore;
beforeEach(() => {
  const table = new Table(new MemoryTable(), { format: CALLS_FORMAT });
  const parts = { callsPerDay: 50_000, retentionMs: 90 * 24 * HOUR_MS, destinations: [], newId: randomUUID };
  store = new NotificationStore({ table, ...parts });
});

const create = async (at: number, people = 1, more: Partial<NotificationRequest> = {}) =>
  store.create(newCase(at, { waves: [numbers(people)], ...more }), undefined, { snapshot: await store.look(at) }, at);

const timesOf = (found: readonly NotificationCase[]) => found.map(({ notification }) => notification.createdAt - START);

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

it('an Idempotency-Key belongs to its first request for 24 hours', async () => {
  const use = { keyHash: 'k', fingerprint: 'f' };
  await store.create(newCase(START), use, { snapshot: await store.look(START) }, START);
  expect((await store.readKey(use, START + 24 * HOUR_MS - 1)).earlier).toMatchObject({ fingerprint: 'f' });
  expect((await store.readKey(use, START + 24 * HOUR_MS)).earlier).toBeUndefined();
});

describe('the list of notifications', () => {
  it('goes on where it ended, the newest first, and says when there is more', async () => {
    for (const at of [0, 1, 2, 3, 4]) await create(START + at);
    expect(await allListed(2)).toEqual([[4, 3], [2, 1], [0]]);
    expect(await allListed(5)).toEqual([[4, 3, 2, 1, 0]]);
  });

  it('reads a thousand rows at a time: of those with fifty people, and of those that are not meant', async () => {
    for (let at = 0; at < 30; at += 1) await create(START + at, 50);
    const pages = await allListed(100);
    expect(pages.map(({ length }) => length)).toEqual([19, 11]);
    expect(await allListed(1, ({ notification }) => notification.createdAt === START)).toEqual([[], [0]]);
  });

  it('is of a time', async () => {
    for (const hours of [0, 1, 2, 3]) await create(START + hours * HOUR_MS);
    const { found } = await store.list({ most: 10, since: START + HOUR_MS, until: START + 2 * HOUR_MS }, () => true);
    expect(timesOf(found)).toEqual([2 * HOUR_MS, HOUR_MS]);
  });
});

const end = async (known: StoredCase, state: 'heard' | 'not_reached', now: number) => {
  const [recipient] = known.recipients;
  if (recipient === undefined) throw new Error('nobody');
  return store.commit(known, withRecipient(known, 0, final(recipient, state), now), now);
};

describe('what needs attention', () => {
  it('is listed until somebody is reached, or it is stopped, or a day after its end, however many others there are', async () => {
    const [reached, missed, stopped] = [await create(START), await create(START + 1), await create(START + 2)];
    for (let at = 3; at < 30; at += 1) await end(await create(START + at), 'heard', START + at);
    const listed = async (now: number) => timesOf(await store.needingAttention(now));
    expect(await listed(START + 30)).toEqual([2, 1, 0]);
    await end(reached, 'heard', START + HOUR_MS);
    await end(missed, 'not_reached', START + HOUR_MS);
    await store.commit(stopped, stoppedNotification(stopped, START + HOUR_MS), START + HOUR_MS);
    expect(await listed(START + HOUR_MS)).toEqual([1]);
    expect(await listed(START + HOUR_MS + ATTENTION_AFTER_END_MS - 1)).toEqual([1]);
    expect(await listed(START + HOUR_MS + ATTENTION_AFTER_END_MS)).toEqual([]);
  });

  it('is also what was heard by people who were to confirm', async () => {
    const known = await create(START, 1, { confirm: true });
    await end(known, 'heard', START + 1);
    expect(timesOf(await store.needingAttention(START + 2))).toEqual([0]);
  });
});
