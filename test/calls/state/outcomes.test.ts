import { expect, it } from 'vitest';

import { acknowledged, type NotificationCase, stoppedNotification } from '../../../src/calls/state/notification.ts';
import { outcomesToDeliver } from '../../../src/calls/state/outcomes.ts';
import { at, callees, calling, CLAIMED, ended, newCase, spokenTo, START } from '../new-case.ts';

const live = newCase(START, { waves: [callees(2)] });
const one = ended(live, 0, 'heard');
const dialed = calling(live, 0, CLAIMED);
const stop = (before: NotificationCase) => stoppedNotification(before, undefined, at(START));
const asked = newCase(START, { confirm: true });
const inWaves = newCase(START, { waves: [callees(1), callees(1, 1)], confirm: true, waveMs: 60_000 });

it.each<[what: string, before: NotificationCase, after: NotificationCase, expected: string, isAlert?: true]>([
  ['a recipient is final', live, one, 'recipient'],
  ['the last one is, and so the notification', one, ended(one, 1, 'heard'), 'recipient completed'],
  ['an operator acknowledges it', live, acknowledged(live, 'Ana', START), 'acknowledged'],
  ['a stop completes it', live, stop(live), 'recipient recipient completed'],
  ['it is stopped during a call', dialed, stop(dialed), 'recipient stopped'],
  ['a recipient was not reached', live, ended(live, 0, 'not_reached'), 'recipient', true],
  ['a recipient can never be called', live, ended(live, 0, 'failed'), 'recipient', true],
  ['nobody has confirmed', asked, ended(asked, 0, 'cannot_go'), 'recipient completed', true],
  ['of waves, a recipient was not reached', inWaves, ended(inWaves, 0, 'not_reached'), 'recipient'],
  [
    'of waves, too few have confirmed in the end',
    ended(inWaves, 0, 'not_reached'),
    ended(ended(inWaves, 0, 'not_reached'), 1, 'not_reached'),
    'recipient completed',
    true,
  ],
  ['somebody confirms', asked, calling(asked, 0, spokenTo({ confirmedAt: START })), ''],
  ['a recipient is dialed', live, dialed, ''],
])('%s: each destination is told, and the log if an operator is needed', (_, before, after, expected, isAlert) => {
  const told = outcomesToDeliver(before, after, ['topic', 'webhook'], START + 5);
  expect((told?.entries ?? []).map(({ kind }) => kind).join(' ')).toBe(expected);
  if (told === undefined) return;
  expect(told.to).toEqual(isAlert === true ? ['topic', 'webhook', 'log'] : ['topic', 'webhook']);
  expect(told).toMatchObject({ notificationId: after.notification.id, at: START + 5 });
});

it('without destinations only alerts are stored', () => {
  expect(outcomesToDeliver(live, one, [], START)).toBeUndefined();
  expect(outcomesToDeliver(live, ended(live, 0, 'failed'), [], START)?.to).toEqual(['log']);
});
