import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  afterRefusal,
  type Declined,
  isForWantOfLine,
  isProven,
  linesOf,
  type LineState,
  type OpenCall,
  withClaim,
  withProven,
} from '../../../src/calls/rules/lines.ts';

const NOW = Date.parse('2026-11-21T08:00:00Z');
const HOUR_MS = 3_600_000;

const call = (number: string, more: Partial<OpenCall> = {}): OpenCall => ({
  number,
  isUrgent: true,
  sentAt: NOW - 9_000,
  acceptedAt: NOW - 1_000,
  ...more,
});
const sure = { isSure: true, number: 'x' };

it('a call surely has a line when it has rung for 6 s, or somebody has answered', () => {
  expect(isProven(call('a', { acceptedAt: NOW - 5_999 }), NOW)).toBe(false);
  expect(isProven(call('a', { acceptedAt: NOW - 6_000 }), NOW)).toBe(true);
  expect(isProven(call('a', { connectedAt: NOW }), NOW)).toBe(true);
  expect(isProven(call('a', { acceptedAt: undefined }), NOW)).toBe(false);
});

describe('lines', () => {
  it('have no limit until one is refused, and none an hour after that', () => {
    expect(linesOf({}, [call('a')], NOW)).toBe(Infinity);
    expect(linesOf({ known: 1, refusedAt: NOW - HOUR_MS }, [], NOW)).toBe(1);
    expect(linesOf({ known: 1, refusedAt: NOW - HOUR_MS - 1 }, [], NOW)).toBe(Infinity);
  });

  it('are as many as calls stay open when one is refused, and never fewer than surely have one', () => {
    const open = [call('a'), call('b'), call('c', { acceptedAt: undefined })];
    expect(afterRefusal({}, open, sure, NOW).known).toBe(2);
    const proven = [call('a', { connectedAt: NOW }), call('b', { acceptedAt: NOW - 6_000 })];
    expect(linesOf({ known: 1, refusedAt: NOW }, proven, NOW)).toBe(2);
    expect(withProven({ known: 1, refusedAt: NOW, probeMs: 15_000 }, proven, NOW)).toMatchObject({
      known: 2,
      probeAt: NOW,
    });
  });

  it('are not asked for before the pause after a refusal, whichever calls are open', () => {
    const sometime = (from: number) => fc.option(fc.integer({ min: from, max: NOW }), { nil: undefined });
    const anyCall = fc
      .record({ number: fc.uuid(), acceptedAt: sometime(NOW - 20_000), connectedAt: sometime(NOW - 20_000) })
      .map(({ number, ...more }) => call(number, more));
    fc.assert(
      fc.property(fc.array(anyCall, { maxLength: 5 }), fc.boolean(), (open, isSure) => {
        const line = afterRefusal({}, open, { isSure, number: 'x' }, NOW);
        expect(withProven(line, open, NOW)).toBe(line);
      }),
    );
  });

  it('are at least one if a callee may have declined, and none if the line says so beside nobody', () => {
    expect(afterRefusal({}, [], { isSure: false, number: 'x' }, NOW).known).toBe(1);
    expect(afterRefusal({}, [], sure, NOW).known).toBe(0);
  });

  it('are tried for after 1, 2, 4, 8 and 15 s; ten refusals in a second are one', () => {
    let line: LineState = {};
    let now = NOW;
    const pauses = [1, 2, 3, 4, 5, 6].map(() => {
      for (let again = 0; again < 10; again += 1) line = afterRefusal(line, [call('a')], sure, now + again * 99);
      const pause = line.probeMs;
      now += 20_000;
      return pause;
    });
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    expect(withClaim({ probeMs: 4_000 }, true, undefined, NOW).probeAt).toBe(NOW + 4_000);
    expect(withClaim({}, true, undefined, NOW).probeAt).toBe(NOW + 1_000);
  });

  it('are not asked for before the line says, up to a minute', () => {
    expect(afterRefusal({}, [], { ...sure, waitMs: 7_000 }, NOW).probeAt).toBe(NOW + 7_000);
    expect(afterRefusal({}, [], { ...sure, waitMs: HOUR_MS }, NOW).probeAt).toBe(NOW + 60_000);
  });

  it('are not known any better by the same callee who declines again', () => {
    const first = afterRefusal({}, [call('a'), call('b')], { isSure: false, number: 'x' }, NOW);
    expect(afterRefusal(first, [call('a')], { isSure: false, number: 'x' }, NOW + 3_000)).toBe(first);
    expect(afterRefusal(first, [call('a')], { isSure: false, number: 'y' }, NOW + 3_000).known).toBe(1);
  });
});

describe('a declined call had no line', () => {
  const declined: Declined = {
    acceptedAt: NOW - 1_000,
    endedAt: NOW,
    beside: 1,
    isProbe: false,
    freeDeclines: 0,
    refusals: 0,
  };

  it.each<[what: string, Partial<Declined>, LineState, boolean]>([
    ['soon, beside another', {}, {}, true],
    ['just before 6 s', { acceptedAt: NOW - 5_999 }, {}, true],
    ['not after 6 s: it has rung', { acceptedAt: NOW - 6_000 }, {}, false],
    ['not beside nobody', { beside: 0 }, {}, false],
    ['not if the line has surely refused within the hour', {}, { sureAt: NOW - HOUR_MS }, false],
    ['if that is longer ago', {}, { sureAt: NOW - HOUR_MS - 1 }, true],
    ['a third time where a line seemed free', { freeDeclines: 2, refusals: 2 }, {}, true],
    ['not a fourth time', { freeDeclines: 3, refusals: 3 }, {}, false],
    ['a fourth time where lines were known to be full', { freeDeclines: 3, refusals: 3, isProbe: true }, {}, true],
    ['not a fifth time', { refusals: 4, isProbe: true }, {}, false],
  ])('%s', (_, more, line, expected) => {
    expect(isForWantOfLine({ ...declined, ...more }, line, NOW)).toBe(expected);
  });
});

it('a line that could not be reached tells nothing of how it refuses', () => {
  expect(afterRefusal({}, [], { ...sure, isUnreachable: true }, NOW).sureAt).toBeUndefined();
  expect(afterRefusal({}, [], sure, NOW).sureAt).toBe(NOW);
});
