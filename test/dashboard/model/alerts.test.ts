import { expect, it } from 'vitest';

import { markOf } from '../../../src/dashboard/browser/model/alerts.ts';
import { notification, person } from '../answers.ts';

it.each([
  ['in_progress', 1, ['not_reached', 'waiting'], 'In progress', 'pending'],
  ['in_progress', 1, ['confirmed', 'speaking'], 'Confirmed by +1206•••••00', 'good'],
  ['in_progress', 2, ['confirmed', 'waiting', 'cannot_go'], 'Confirmed by 1 of 2', 'pending'],
  ['completed', 2, ['confirmed', 'not_reached'], 'Confirmed by 1 of 2', 'bad'],
  ['completed', 1, ['heard', 'heard'], 'All heard', 'good'],
  ['completed', 1, ['not_reached', 'failed', 'cannot_go'], '3 not reached', 'bad'],
  ['completed', 1, ['heard', 'heard', 'not_reached'], '1 not reached', 'neutral'],
  ['completed', 1, ['not_reached', 'confirmed', 'stopped'], 'Confirmed by +1206•••••00', 'good'],
  ['completed', 1, ['confirmed', 'confirmed'], 'Confirmed by 2 people', 'good'],
  ['stopped', 1, ['not_reached', 'stopped'], 'Stopped', 'neutral'],
  ['completed', 1, ['heard', 'new-status'], 'Completed', 'neutral'],
  ['completed', 1, [], 'Completed', 'neutral'],
])(
  'a notification that is %s, of %i needed, with recipients that are %s, is marked: %s',
  (status, needed, of, text, tone) => {
    const recipients = of.map((each) => person('00', each));
    expect(markOf(notification('n', { status, confirmations_needed: needed, recipients }))).toEqual({ text, tone });
  },
);
