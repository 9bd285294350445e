import { describe, expect, it } from 'vitest';

import { LinePause, nextToDial } from '../../src/calls/lines.ts';

const queue = (...beside: readonly (number | undefined)[]) =>
  beside.map((refusedBeside, id) => ({ id, refusedBeside }));
const ids = (entries: readonly { readonly id: number }[]) => entries.map(({ id }) => id);

describe('who may be dialled now', () => {
  it('is everybody while nobody was refused', () => {
    expect(ids(nextToDial(queue(undefined, undefined, undefined), 5))).toEqual([0, 1, 2]);
  });

  it('is as many as lines are free: one that was refused beside two others tells that there are two', () => {
    expect(ids(nextToDial(queue(undefined, 4, 2), 1))).toEqual([0]);
    expect(ids(nextToDial(queue(undefined, 4, 2), 2))).toEqual([]);
    expect(ids(nextToDial(queue(undefined, 4, 2), 0))).toEqual([0, 1]);
  });

  it('is first whoever seems to have refused beside one: alone that is certain', () => {
    expect(ids(nextToDial(queue(2, 2, 1), 0))).toEqual([2]);
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
