import { expect, it } from 'vitest';

import { attentionOf, markOf, wavesOf } from '../../../src/dashboard/browser/model/alerts.ts';
import type { Notification, Recipient } from '../../../src/dashboard/browser/model/answers.ts';

const person = (status: string, attempts = 1): Recipient => ({
  recipient: '+1206•••••00',
  status,
  attempts: Array.from({ length: attempts }, () => ({})),
});

const notification = (status: string, ...people: readonly string[]): Notification => ({
  notification_id: 'n',
  alert_type: 'ConfirmedFire',
  created_at: '2026-11-21T08:00:00Z',
  status,
  recipients: people.map((each) => person(each)),
});

it.each([
  ['in_progress', ['not_reached', 'waiting'], 'In progress', 'pending'],
  ['in_progress', ['confirmed', 'speaking'], 'Confirmed by +1206•••••00', 'good'],
  ['completed', ['heard', 'heard'], 'All heard', 'good'],
  ['completed', ['heard', 'not_reached', 'failed', 'not_reached'], '3 not reached', 'bad'],
  ['completed', ['not_reached', 'confirmed', 'stopped'], 'Confirmed by +1206•••••00', 'good'],
  ['completed', ['confirmed', 'confirmed'], 'Confirmed by 2 people', 'good'],
  ['stopped', ['not_reached', 'stopped'], 'Stopped', 'neutral'],
  ['completed', ['heard', 'new-status'], 'Completed', 'neutral'],
  ['completed', [], 'Completed', 'neutral'],
])('a notification that is %s, of people who are %s, is marked: %s', (status, people, text, tone) => {
  expect(markOf(notification(status, ...people))).toEqual({ text, tone });
});

it('a notification asks for attention while it runs, and for a day where somebody was not reached', () => {
  const running = notification('in_progress', 'ringing');
  const missed = notification('completed', 'not_reached');
  const notifications = [running, missed, notification('completed', 'heard'), notification('stopped', 'not_reached')];
  const at = Date.parse(missed.created_at);

  expect(attentionOf({ notifications }, at + 86_399_000)).toEqual([running, missed]);
  expect(attentionOf({ notifications }, at + 86_401_000)).toEqual([running]);
});

it('people are folded where they are many and nothing happened to them', () => {
  const shown = [
    person('not_reached', 3),
    person('heard', 2),
    person('confirmed'),
    person('ringing'),
    person('failed', 0),
  ];
  const folded = [...Array.from({ length: 20 }, () => person('heard')), person('waiting', 0), person('stopped', 0)];

  expect(wavesOf({ recipients: [...folded, ...shown] })).toEqual([{ wave: undefined, shown, folded }]);
});
