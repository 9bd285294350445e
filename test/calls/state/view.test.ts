import { expect, it } from 'vitest';

import { alertTypeOf } from '../../../src/calls/model/alert-types.ts';
import { newNotificationId } from '../../../src/calls/model/ids.ts';
import { parsePhoneNumber } from '../../../src/calls/model/phone-number.ts';
import type { Attempt } from '../../../src/calls/state/attempt.ts';
import { newNotification } from '../../../src/calls/state/notification.ts';
import { viewOf } from '../../../src/calls/state/view.ts';

const START = Date.parse('2026-11-21T08:00:00Z');
const WAVE_MS = 120_000;

const numbers = (...digits: readonly number[]) =>
  digits.flatMap((digit) => parsePhoneNumber(`+1206555010${digit}`) ?? []);

const inWaves = newNotification(
  {
    alertType: alertTypeOf('ConfirmedFire'),
    waves: [numbers(0), numbers(1, 2), numbers(3)],
    confirm: true,
    waveMs: WAVE_MS,
  },
  {
    id: newNotificationId(START, '3f0c0000-0000-4000-8000-0000000000e1'),
    callsLeft: 100,
    rules: { deadlineMs: 1_800_000, allowedPrefixes: undefined },
  },
  START,
);

it('waves are counted from 1; who is in a later one is told when it is opened if nobody confirms', () => {
  expect(inWaves.notification.wave).toBe(1);
  const { recipients, nextWaveAt } = viewOf(inWaves, START);
  expect(nextWaveAt).toBe(START + WAVE_MS);
  expect(recipients.map(({ wave, nextAttemptAt }) => [wave, nextAttemptAt])).toEqual([
    [1, undefined],
    [2, START + WAVE_MS],
    [2, START + WAVE_MS],
    [3, START + 2 * WAVE_MS],
  ]);
});

it('who waits again is told why the last call did not reach them', () => {
  const over = (reason: string): Attempt => ({ id: reason, state: 'over', claimedAt: START, outcome: 'busy', reason });
  const attempts = [over('no answer'), over('busy')];
  const [first, ...others] = inWaves.recipients;
  if (first === undefined) throw new Error('nobody');
  const recipients = [{ ...first, attempts, dueAt: START + 60_000 }, ...others];
  const [told] = viewOf({ ...inWaves, recipients }, START).recipients;
  expect(told).toMatchObject({ status: 'waiting', reason: 'busy', nextAttemptAt: START + 60_000 });
});
