import { expect, it } from 'vitest';

import { markOf, nextOf, wavesOf } from '../../../src/dashboard/browser/model/alerts.ts';
import type { Notification, Recipient } from '../../../src/dashboard/browser/model/answers.ts';

const person = (status: string): Recipient => ({ recipient: '+1206•••••00', status, attempts: [] });

const notification = (status: string, ...people: readonly string[]): Notification => ({
  notification_id: 'n',
  alert_type: 'ConfirmedFire',
  created_at: '2026-11-21T08:00:00Z',
  status,
  reached: people.filter((each) => each === 'heard' || each === 'confirmed').length,
  recipients: people.map((each) => person(each)),
});

it.each([
  ['in_progress', ['not_reached', 'waiting'], 'In progress', 'pending'],
  ['in_progress', ['confirmed', 'speaking'], 'Confirmed by +1206•••••00', 'good'],
  ['completed', ['heard', 'heard'], 'All heard', 'good'],
  ['completed', ['not_reached', 'failed', 'cannot_go'], '3 not reached', 'bad'],
  ['completed', ['heard', 'heard', 'not_reached'], '1 not reached', 'neutral'],
  ['completed', ['not_reached', 'confirmed', 'stopped'], 'Confirmed by +1206•••••00', 'good'],
  ['completed', ['confirmed', 'confirmed'], 'Confirmed by 2 people', 'good'],
  ['stopped', ['not_reached', 'stopped'], 'Stopped', 'neutral'],
  ['completed', ['heard', 'new-status'], 'Completed', 'neutral'],
  ['completed', [], 'Completed', 'neutral'],
])('a notification that is %s, of people who are %s, is marked: %s', (status, people, text, tone) => {
  expect(markOf(notification(status, ...people))).toEqual({ text, tone });
});

it('a notification that more than one has to confirm says how many have', () => {
  const needed = { ...notification('in_progress', 'confirmed', 'waiting', 'cannot_go'), confirmations_needed: 2 };
  expect(markOf(needed)).toEqual({ text: 'Confirmed by 1 of 2', tone: 'pending' });
  expect(markOf({ ...needed, status: 'completed' }).tone).toBe('bad');
  expect(markOf({ ...needed, confirmations_needed: 1 }).tone).toBe('good');
});

it('what comes next is the next wave, or else the first attempt to reach somebody; nothing if it is over', () => {
  const [early, late] = ['2026-11-21T08:01:00.000Z', '2026-11-21T08:02:00.000Z'];
  const waiting = [late, early].map((at) => Object.assign(person('waiting'), { next_attempt_at: at }));
  const running = { ...notification('in_progress'), recipients: waiting };
  expect(nextOf(running)).toEqual({ what: 'next attempt', at: early });
  expect(nextOf({ ...running, next_wave_at: late })).toEqual({ what: 'next wave', at: late });
  expect(nextOf({ ...running, status: 'completed' })).toBeUndefined();
});

it('people are told wave by wave, in the order of the request', () => {
  const [first, second, third] = [2, 1, 2].map((wave) => Object.assign(person('waiting'), { wave }));
  expect([...wavesOf({ recipients: [first, second, third].flatMap((each) => each ?? []) })]).toEqual([
    [1, [second]],
    [2, [first, third]],
  ]);
});
