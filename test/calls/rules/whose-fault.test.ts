import { describe, expect, it } from 'vitest';

import type { LineState } from '../../../src/calls/rules/lines.ts';
import { judgeForbidden, ourFault, withoutOldFaults } from '../../../src/calls/rules/whose-fault.ts';

const NOW = Date.parse('2026-11-21T08:00:00Z');
const HOUR_MS = 3_600_000;
const NEVER = -Infinity;
const once: LineState = { fault: { number: 'a', at: NOW - 60_000 }, forbiddenAt: NOW - 60_000 };

describe('a call that was forbidden', () => {
  it.each<[what: string, LineState, number: string, reachedAt: number, fault: string, isFirst: boolean]>([
    ['is an attempt of that callee at first, and told', {}, 'a', NEVER, 'callee', true],
    ['is told again after an hour', { forbiddenAt: NOW - HOUR_MS - 1 }, 'a', NEVER, 'callee', true],
    ['and not sooner', { forbiddenAt: NOW - HOUR_MS }, 'a', NEVER, 'callee', false],
    ['also the same callee again, told once an hour', once, 'a', NEVER, 'callee', false],
    ['is ours when a second number meets it', once, 'b', NEVER, 'ours', false],
    ['not if somebody was reached between', once, 'b', NOW - 60_000, 'callee', false],
    ['if somebody was reached before', once, 'b', NOW - 60_001, 'ours', false],
    ['not an hour later', { fault: { number: 'a', at: NOW - HOUR_MS - 1 } }, 'b', NEVER, 'callee', true],
    ['stays ours for whoever meets it then', ourFault({}, 'a', '401', NOW - 1), 'a', NEVER, 'ours', true],
  ])('%s', (_, line, number, reachedAt, fault, isFirst) => {
    expect(judgeForbidden(line, number, reachedAt, NOW)).toMatchObject({ fault, isFirst });
  });

  it('holds back others for 30 s if it is ours', () => {
    expect(judgeForbidden(once, 'b', NEVER, NOW).line.fault?.until).toBe(NOW + 30_000);
    expect(judgeForbidden({}, 'b', NEVER, NOW).line.fault?.until).toBeUndefined();
    expect(ourFault({}, 'b', 'no permission', NOW).fault).toMatchObject({
      until: NOW + 30_000,
      reason: 'no permission',
    });
  });
});

it('one success ends it, and so does an hour: then no number is remembered', () => {
  expect(withoutOldFaults(once, { reachedAt: NEVER, heardAt: NEVER }, NOW)).toBe(once);
  expect(withoutOldFaults(once, { reachedAt: NOW - 59_999, heardAt: NEVER }, NOW).fault).toBeUndefined();
  expect(withoutOldFaults(once, { reachedAt: NEVER, heardAt: NEVER }, NOW + HOUR_MS).fault).toBeUndefined();
  const refused: LineState = { refused: 'a', refusedAt: NOW };
  expect(withoutOldFaults(refused, { reachedAt: NEVER, heardAt: NEVER }, NOW + HOUR_MS)).toBe(refused);
  expect(withoutOldFaults(refused, { reachedAt: NEVER, heardAt: NEVER }, NOW + HOUR_MS + 1).refused).toBeUndefined();
});
