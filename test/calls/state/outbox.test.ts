import { describe, expect, it } from 'vitest';

import {
  acknowledged,
  claimedOutbox,
  dueEntries,
  expiredEntries,
  isEmpty,
  type NotificationCase,
  type Outbox,
  type OutboxEntry,
  putOff,
  stoppedNotification,
  withoutEntries,
} from '../../../src/calls/state/notification.ts';
import { withNews } from '../../../src/calls/state/step.ts';
import { callees, calling, CLAIMED, ended, HOUR, newCase, START } from '../new-case.ts';

const known = newCase(START, { waves: [callees(2)] });
const one = ended(known, 0, 'heard');
const dialed = calling(known, 0, CLAIMED);

it.each<[what: string, before: NotificationCase, after: NotificationCase, expected: string]>([
  ['a recipient is final', known, one, 'recipient'],
  ['the last one is, and so the notification', one, ended(one, 1, 'heard'), 'recipient completed'],
  ['an operator acknowledges it', known, acknowledged(known, 'Ana', START), 'acknowledged'],
  ['a stop completes it', known, stoppedNotification(known, START), 'recipient recipient completed'],
  ['it is stopped during a call', dialed, stoppedNotification(dialed, START), 'recipient stopped'],
  ['a recipient is dialed', known, dialed, ''],
])('%s: each destination is told', (_, before, after, expected) => {
  const { outbox } = withNews(before, after, ['topic', 'webhook'], START);
  for (const to of ['topic', 'webhook'] as const)
    expect((outbox[to]?.entries ?? []).map(({ kind }) => kind).join(' ')).toBe(expected);
});

const due = (later: Outbox) => [29_999, 30_000].map((ms) => dueEntries(later, 'topic', START + ms).length);

it('an instance publishes at once, and claims the entries for 30 s', () => {
  const { outbox } = withNews(known, one, ['topic'], START);
  expect([dueEntries(outbox, 'topic', START), dueEntries(outbox, 'webhook', START)]).toMatchObject([
    [{ index: 0 }],
    [],
  ]);
  const claimed = claimedOutbox(outbox, 'topic', START);
  expect(due(claimed)).toEqual([0, 1]);
  // Newer entries wait with it.
  const more = withNews(one, ended({ ...one, outbox: claimed }, 1, 'heard'), ['topic'], START + 9_000);
  expect(due(more.outbox)).toEqual([0, 3]);
});

it('of acknowledgements the newest twenty wait to be published', () => {
  const names = Array.from({ length: 30 }, (_, times) => `Ana ${times}`);
  const latest = names.reduce(
    (before, by) => withNews(before, acknowledged(before, by, START), ['topic'], START),
    known,
  );
  expect(latest.outbox.topic?.entries).toMatchObject(names.slice(10).map((by) => ({ by })));
});

describe('a destination that does not take it', () => {
  const entry: OutboxEntry = { kind: 'completed', at: START };
  const outbox: Outbox = { topic: { tryAt: 0, entries: [entry] } };

  it.each([
    [0, 10],
    [10, 10],
    [60, 60],
    [600, 600],
    [7_200, 600],
  ])('for %i s is tried again after %i s', (tried, pause) => {
    const now = START + tried * 1_000;
    expect(putOff(outbox, 'topic', now).topic?.tryAt).toBe(now + pause * 1_000);
  });

  it('is tried for 24 hours', () => {
    expect(expiredEntries(outbox, 'topic', START + 24 * HOUR - 1)).toEqual([]);
    expect(expiredEntries(outbox, 'topic', START + 24 * HOUR)).toEqual([entry]);
  });

  it('keeps newer entries, which are due at once', () => {
    const later: OutboxEntry = { kind: 'acknowledged', at: START + 1, times: 1, by: 'Ana' };
    const both: Outbox = { topic: { tryAt: START + HOUR, entries: [entry, later] } };
    const rest = withoutEntries(both, 'topic', [entry]);
    expect([dueEntries(rest, 'topic', START), isEmpty(rest)]).toEqual([[later], false]);
    expect(isEmpty(withoutEntries(rest, 'topic', [later]))).toBe(true);
  });
});
