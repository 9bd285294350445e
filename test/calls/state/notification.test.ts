import { describe, expect, it } from 'vitest';

import type { Attempt } from '../../../src/calls/state/attempt.ts';
import { lookedAt, type NotificationCase, withRecipient } from '../../../src/calls/state/notification.ts';
import { final } from '../../../src/calls/state/recipient.ts';
import { alertTypeOf } from '../../../src/calls/model/alert-types.ts';
import { newCase, numbers } from '../new-case.ts';

// Waves, stops, limits and the end are played in the world of calls.

const START = Date.parse('2026-11-21T08:00:00Z');
const UUID = '3f0c0000-0000-4000-8000-0000000000e1';

const created = (
  waves: readonly ReturnType<typeof numbers>[],
  waveMs?: number,
  confirmationsNeeded?: number,
): NotificationCase => {
  const alertType = alertTypeOf('ConfirmedFire');
  return newCase(START, { alertType, waves, confirm: waveMs !== undefined, waveMs, confirmationsNeeded });
};

const states = ({ recipients }: NotificationCase): string => recipients.map(({ state }) => state).join(' ');

it('a new notification waits: who is next is decided with everybody else who waits', () => {
  const known = created([numbers(12)]);
  expect(states(known)).toBe(Array(12).fill('waiting').join(' '));
  expect(
    new Set(known.recipients.map(({ isGrouped, isCounted, dueAt }) => `${isGrouped} ${isCounted} ${dueAt}`)),
  ).toEqual(new Set([`true true ${START}`]));
});

it('waves do not begin after the deadline', () => {
  const inWaves = created([numbers(1), numbers(2, 1), numbers(1, 3)], 120_000);
  expect(states(lookedAt(inWaves, START + 1_799_999))).toBe('waiting waiting waiting later');
  expect(states(lookedAt(inWaves, START + 1_800_000))).toBe('waiting not_reached not_reached not_reached');
});

describe('waves go on until enough have confirmed', () => {
  type News = 'confirms' | 'cannot go' | 'not reached';

  /** A recipient who has pressed a key in a call that lasts, or was not reached. */
  const after = (known: NotificationCase, index: number, news: News, now: number): NotificationCase => {
    const recipient = known.recipients[index];
    if (recipient === undefined) throw new Error('nobody');
    if (news === 'not reached') return withRecipient(known, index, final(recipient, 'not_reached'), now);
    const key = news === 'confirms' ? { confirmedAt: now } : { cannotGoAt: now };
    const attempt: Attempt = { id: UUID, state: 'speaking', claimedAt: now, speakingAt: now, ...key };
    return withRecipient(known, index, { ...recipient, state: 'calling', attempts: [attempt] }, now);
  };
  // Two people in the first wave, two in the second.
  it.each<[needed: number | undefined, News[], nextNow: boolean, confirmed: boolean]>([
    [1, ['cannot go'], false, false],
    [1, ['cannot go', 'not reached'], true, false],
    [1, ['not reached', 'not reached'], true, false],
    [1, ['cannot go', 'confirms'], false, true],
    [undefined, ['confirms'], false, true],
    [2, ['confirms'], false, false],
    [2, ['confirms', 'cannot go'], true, false],
    [2, ['not reached'], true, false],
    [2, ['confirms', 'confirms'], false, true],
    // Two cannot be three: the second wave is called beside the first.
    [3, [], true, false],
    [3, ['confirms', 'confirms'], true, false],
  ])('needed %s, and they %j: the next at once %s, enough %s', (needed, news, isNextNow, isEnough) => {
    const start = created([numbers(2), numbers(2, 2)], 120_000, needed);
    const now = START + 30_000;
    const known = news.reduce((before, what, index) => after(before, index, what, now), start);
    const { nextWaveAt, confirmedAt, confirmations } = known.notification;
    expect(nextWaveAt !== undefined && nextWaveAt <= now).toBe(isNextNow);
    expect(confirmedAt).toBe(isEnough ? now : undefined);
    expect(confirmations).toBe(news.filter((what) => what === 'confirms').length);
    expect(known.recipients.slice(2).map(({ state }) => state)).toEqual(Array(2).fill(isEnough ? 'stopped' : 'later'));
  });
});
