import { describe, expect, it } from 'vitest';

import { LinePause, nextToDial } from '../../../src/calls/rules/lines.ts';

const queue = (...beside: readonly (number | undefined)[]) =>
  beside.map((refusedBeside, id) => ({ id, refusedBeside }));
const ids = (entries: readonly { readonly id: number }[]) => entries.map(({ id }) => id);

describe('who may be dialled now', () => {
  it.each([
    ['everybody while nobody was refused', [undefined, undefined, undefined], 5, [0, 1, 2]],
    ['as many as lines are free: one refused beside two others tells that there are two', [undefined, 4, 2], 1, [0]],
    ['nobody while all lines are taken', [undefined, 4, 2], 2, []],
    ['first whoever seems to have refused beside one: alone that is certain', [2, 2, 1], 0, [2]],
  ] as const)('is %s', (_, beside, openCalls, expected) => {
    expect(ids(nextToDial(queue(...beside), [], openCalls))).toEqual(expected);
    expect(ids(nextToDial([], queue(...beside), openCalls))).toEqual(expected);
  });

  it('is an urgent one before all others, whatever those seem to tell about the lines', () => {
    const others = queue(undefined, 1);
    expect(ids(nextToDial(queue(undefined, undefined), others, 0))).toEqual([0, 1]);
    expect(ids(nextToDial(queue(undefined), others, 0))).toEqual([0]);
    expect(ids(nextToDial([], others, 0))).toEqual([1]);
    expect(ids(nextToDial(queue(2, 2), queue(undefined), 1))).toEqual([0]);
    expect(ids(nextToDial(queue(2), queue(undefined), 0))).toEqual([0, 0]);
  });
});

describe('the pause after a call that the line did not take', () => {
  it('grows, and ends with a free line', () => {
    const pause = new LinePause();
    pause.throttled(undefined, 10_000);
    expect([pause.isOn(10_999), pause.isOn(11_000)]).toEqual([true, false]);
    pause.throttled(undefined, 12_000);
    expect(pause.until).toBe(14_000);
    pause.lineIsFree();
    expect(pause.isOn(12_001)).toBe(false);
  });

  it('is as long as the line asks for, up to a minute', () => {
    const pause = new LinePause();
    pause.throttled(5_000, 0);
    expect(pause.until).toBe(5_000);
    pause.throttled(3_600_000, 0);
    expect(pause.until).toBe(60_000);
  });

  it('does not end by a call that was asked for before it', () => {
    const pause = new LinePause();
    pause.throttled(undefined, 10_000);
    pause.accepted(9_000);
    expect(pause.isOn(10_500)).toBe(true);
    pause.accepted(10_400);
    expect(pause.isOn(10_500)).toBe(false);
  });
});
