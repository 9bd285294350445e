import { expect, it } from 'vitest';

import {
  alertState,
  alertTypeText,
  isTaken,
  needsPerson,
  wordingOf,
} from '../../../src/dashboard/browser/model/alert-state.ts';
import type { Notification } from '../../../src/dashboard/browser/model/answers.ts';
import { notification, person } from '../answers.ts';

const PLAYED = 'Message played (person or voicemail unknown)';

it.each([
  ['in_progress', 1, ['not_reached', 'waiting'], 'running', 'Calling', 'pending'],
  ['in_progress', 1, ['confirmed', 'speaking'], 'running', 'Confirmed by +1206•••••00', 'good'],
  ['in_progress', 2, ['confirmed', 'waiting', 'cannot_go'], 'running', '1 confirmed, 2 needed', 'pending'],
  // A voicemail hears the message, too: it is never a person in green.
  ['in_progress', 1, ['heard', 'ringing'], 'running', PLAYED, 'unsure'],
  ['completed', 1, ['heard'], 'unsure', PLAYED, 'unsure'],
  ['completed', 1, ['heard', 'not_reached'], 'unsure', PLAYED, 'unsure'],
  ['completed', 2, ['confirmed', 'not_reached'], 'failed', 'Only 1 confirmed, 2 needed', 'bad'],
  ['completed', 1, ['not_reached', 'failed'], 'failed', 'Nobody reached', 'bad'],
  ['completed', 1, ['not_reached', 'cannot_go'], 'failed', 'Nobody can go', 'bad'],
  ['completed', 1, [], 'failed', 'Nobody reached', 'bad'],
  ['completed', 1, ['not_reached', 'confirmed', 'stopped'], 'done', 'Confirmed by +1206•••••00', 'good'],
  ['completed', 1, ['confirmed', 'confirmed'], 'done', 'Confirmed by 2 people', 'good'],
  ['stopped', 1, ['not_reached', 'stopped'], 'done', 'Stopped', 'neutral'],
])('an alert that is %s, of %i needed, with people that are %s, is %s: %s', (status, needed, of, stage, text, tone) => {
  const recipients = of.map((each) => person('00', each));
  expect(alertState(notification('n', { status, confirmations_needed: needed, recipients }))).toEqual({
    stage,
    text,
    tone,
  });
});

it('calls that PHONE=off ended are failed, not stopped by a person', () => {
  const of = { status: 'completed', phone_off_at: '2026-11-21T11:59:30Z', recipients: [person('00', 'not_reached')] };
  const text = 'Nobody reached: the phone was switched off';
  expect(alertState(notification('n', of))).toEqual({ stage: 'failed', text, tone: 'bad' });
  expect(needsPerson(notification('n', of))).toBe(true);
});

it('a played message is good for no recipient and no call; a new status has the words of the service', () => {
  expect(['heard', 'unconfirmed', 'confirmed', 'new_status'].map(wordingOf)).toEqual([
    { text: 'Message played', tone: 'unsure' },
    { text: 'Message played, no key pressed', tone: 'bad' },
    { text: 'Confirmed', tone: 'good' },
    { text: 'new_status', tone: 'neutral' },
  ]);
});

it('a stop has the name of the person', () => {
  expect(alertState(notification('n', { status: 'stopped', stopped_by: 'Bo' })).text).toBe('Stopped by Bo');
});

it.each<[string, Partial<Notification>, boolean]>([
  ['a fire that is called about', {}, true],
  ['a fire whose message was only played', { status: 'completed', recipients: [person('00', 'heard')] }, true],
  ['a fire that was confirmed', { recipients: [person('00', 'confirmed')] }, false],
  ['a fire that was stopped', { status: 'stopped' }, false],
  ['a taken fire', { acknowledged_by: 'Ana' }, false],
  ['a taken fire that became worse', { acknowledged_by: 'Ana', worsened_since_acknowledged: true }, true],
  ['an anomaly that is called about', { alert_type: 'Anomaly' }, false],
  ['an anomaly that reached nobody', { alert_type: 'Anomaly', status: 'completed', recipients: [] }, true],
  ['a drill that reached nobody', { alert_type: 'Custom', status: 'completed', recipients: [] }, false],
])('%s needs a person: %s', (_, rest, expected) => {
  expect(needsPerson(notification('n', rest))).toBe(expected);
});

it('"confirmed" means one thing: the type has other words; a taken alert is taken until it becomes worse', () => {
  expect(['ConfirmedFire', 'ReportOfFire', 'Custom', 'Anomaly', 'New'].map(alertTypeText)).toEqual([
    'Fire',
    'Report of fire',
    'Drill',
    'Anomaly',
    'New',
  ]);
  expect(
    [{}, { acknowledged_by: 'Ana' }, { acknowledged_by: 'Ana', worsened_since_acknowledged: true } as const].map(
      isTaken,
    ),
  ).toEqual([false, true, false]);
});
