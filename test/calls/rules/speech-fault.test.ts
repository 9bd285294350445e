import { describe, expect, it } from 'vitest';

import type { LineState } from '../../../src/calls/rules/lines.ts';
import { next, whyWaiting } from '../../../src/calls/rules/queue.ts';
import { afterSilence, withoutOldFaults } from '../../../src/calls/rules/whose-fault.ts';

const NOW = Date.parse('2026-11-21T08:00:00Z');
const HOUR_MS = 3_600_000;
const NEVER = -Infinity;
const REASON = 'speech not configured';
const once: LineState = { silence: { number: 'a', at: NOW - 60_000 } };
const twice = afterSilence(once, 'b', NEVER, REASON, NOW);

describe('somebody who answers into silence', () => {
  it.each<[what: string, LineState, number: string, heardAt: number, until: number | undefined]>([
    ['is one of many at first', {}, 'a', NEVER, undefined],
    ['also the same one again', once, 'a', NEVER, undefined],
    ['not, if it is the second in a row', once, 'b', NEVER, NOW + 120_000],
    ['if somebody heard a message between', once, 'b', NOW - 60_000, undefined],
    ['not, if somebody heard one before', once, 'b', NOW - 60_001, NOW + 120_000],
    ['an hour later', { silence: { number: 'a', at: NOW - HOUR_MS - 1 } }, 'b', NEVER, undefined],
    [
      'not, as long as nobody has heard one',
      { silence: { number: 'b', at: NOW - 1, until: NOW } },
      'b',
      NEVER,
      NOW + 120_000,
    ],
  ])('%s', (_, line, number, heardAt, until) => {
    expect(afterSilence(line, number, heardAt, REASON, NOW).silence).toEqual({
      number,
      at: NOW,
      reason: REASON,
      until,
    });
  });

  it('is forgotten when somebody hears a message, and after an hour', () => {
    expect(withoutOldFaults(once, { reachedAt: NEVER, heardAt: NEVER }, NOW)).toBe(once);
    expect(withoutOldFaults(once, { reachedAt: NEVER, heardAt: NOW - 59_999 }, NOW).silence).toBeUndefined();
    expect(withoutOldFaults(once, { reachedAt: NEVER, heardAt: NEVER }, NOW + HOUR_MS).silence).toBeUndefined();
  });
});

it('after two of them who is not urgent waits 2 minutes and is told why; who is urgent is dialled at once', () => {
  const waiting = { number: 'c', isUrgent: false, position: 0, queuedAt: NOW, dueAt: NOW };
  const until = NOW + 120_000;
  expect(next([waiting], [], twice, NOW)).toEqual({ kind: 'wait', until });
  expect(next([waiting], [], twice, until - 1)).toEqual({ kind: 'wait', until });
  expect(next([waiting], [], twice, until)).toMatchObject({ kind: 'dial', who: waiting });
  expect(whyWaiting(waiting, [waiting], [], twice, NOW)).toBe(REASON);
  const urgent = { ...waiting, number: 'd', isUrgent: true };
  expect(next([waiting, urgent], [], twice, NOW)).toMatchObject({ kind: 'dial', who: urgent });
});
