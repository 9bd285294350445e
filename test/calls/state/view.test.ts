import { expect, it } from 'vitest';

import type { Attempt } from '../../../src/calls/state/attempt.ts';
import { viewOf } from '../../../src/calls/state/view.ts';
import { newCase, numbers } from '../new-case.ts';

const START = Date.parse('2026-11-21T08:00:00Z');
const WAVE_MS = 120_000;

const inWaves = newCase(START, {
  waves: [numbers(1), numbers(2, 1), numbers(1, 3)],
  confirm: true,
  waveMs: WAVE_MS,
});

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
