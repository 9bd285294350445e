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
  withRecipient,
} from '../../../src/calls/state/notification.ts';
import { claimed, final } from '../../../src/calls/state/recipient.ts';
import { termsOf, withNews } from '../../../src/calls/state/step.ts';
import { callees, newCase, POLICY } from '../new-case.ts';

const START = Date.parse('2026-11-21T08:00:00Z');
const HOUR = 3_600_000;
const known = newCase(START, { waves: [callees(2)] });

const ended = (before: NotificationCase, index: number): NotificationCase => {
  const recipient = before.recipients[index];
  return recipient === undefined ? before : withRecipient(before, index, final(recipient, 'heard'), START);
};
const told = (before: NotificationCase, after: NotificationCase, to: 'topic' | 'webhook' = 'topic'): string =>
  withNews(before, after, ['topic', 'webhook'], START)
    .outbox[to]?.entries.map(({ kind }) => kind)
    .join(' ') ?? '';

describe('others are told', () => {
  const one = ended(known, 0);
  const [first] = known.recipients;
  const calling =
    first &&
    withRecipient(known, 0, claimed(first, { attemptId: 'a', openThen: 0 }, termsOf(known, POLICY), START), START);
  if (calling === undefined) throw new Error('nobody');

  it.each<[what: string, before: NotificationCase, after: NotificationCase, expected: string]>([
    ['of a recipient that is final', known, one, 'recipient'],
    ['of the last one, and of the end', one, ended(one, 1), 'recipient completed'],
    ['of who has it in hand, each time', known, acknowledged(known, 'Ana', START), 'acknowledged'],
    ['of a stop that ends it, as of an end', known, stoppedNotification(known, START), 'recipient recipient completed'],
    ['of a stop while somebody is called', calling, stoppedNotification(calling, START), 'recipient stopped'],
    ['of nothing else', known, calling, ''],
  ])('%s', (_, before, after, expected) => {
    expect([told(before, after), told(before, after, 'webhook')]).toEqual([expected, expected]);
  });

  it('at once, by the instance that claims it, for 30 s; then by any', () => {
    const { outbox } = withNews(known, one, ['topic'], START);
    expect([dueEntries(outbox, 'topic', START), dueEntries(outbox, 'webhook', START)]).toMatchObject([
      [{ index: 0 }],
      [],
    ]);
    const claimedNow = claimedOutbox(outbox, 'topic', START);
    const due = (later: Outbox) => [29_999, 30_000].map((ms) => dueEntries(later, 'topic', START + ms).length);
    expect(due(claimedNow)).toEqual([0, 1]);
    // What comes meanwhile waits with it.
    const more = withNews(one, ended({ ...one, outbox: claimedNow }, 1), ['topic'], START + 9_000);
    expect(due(more.outbox)).toEqual([0, 3]);
  });
});

it('of acknowledgements the newest twenty wait to be told', () => {
  let latest = known;
  for (let times = 0; times < 30; times += 1) {
    const next = acknowledged(latest, `Ana ${times}`, START);
    latest = withNews(latest, next, ['topic'], START);
  }
  const entries = latest.outbox.topic?.entries ?? [];
  expect([entries.length, entries[0], entries.at(-1)]).toMatchObject([20, { by: 'Ana 10' }, { by: 'Ana 29' }]);
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
    expect(((putOff(outbox, 'topic', now).topic?.tryAt ?? NaN) - now) / 1_000).toBe(pause);
  });

  it('is tried for 24 hours', () => {
    expect(expiredEntries(outbox, 'topic', START + 24 * HOUR - 1)).toEqual([]);
    expect(expiredEntries(outbox, 'topic', START + 24 * HOUR)).toEqual([entry]);
  });

  it('keeps what came meanwhile, which is due at once', () => {
    const later: OutboxEntry = { kind: 'acknowledged', at: START + 1, times: 1, by: 'Ana' };
    const both: Outbox = { topic: { tryAt: START + HOUR, entries: [entry, later] } };
    const rest = withoutEntries(both, 'topic', [entry]);
    expect([dueEntries(rest, 'topic', START), isEmpty(rest)]).toEqual([[later], false]);
    expect(isEmpty(withoutEntries(rest, 'topic', [later]))).toBe(true);
  });
});
