import { describe, expect, it } from 'vitest';

import { LinePause } from '../../src/calls/line-pause.ts';

describe('the pause of a throttled line', () => {
  it('lasts as long as the line asks', () => {
    const pause = new LinePause();
    pause.throttled(4_000, 1_000);
    expect(pause.isOn(4_999)).toBe(true);
    expect(pause.isOn(5_000)).toBe(false);
  });

  it('lasts a minute at most, whatever the line asks', () => {
    const pause = new LinePause();
    pause.throttled(600_000, 0);
    expect(pause.until).toBe(60_000);
  });

  it('doubles up to 15 seconds where the line does not say how long', () => {
    const pause = new LinePause();
    const pauses = Array.from({ length: 6 }, (_, index) => {
      const now = index * 100_000;
      pause.throttled(undefined, now);
      return pause.until - now;
    });
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
  });

  it('ends with a call: its line is free', () => {
    const pause = new LinePause();
    pause.throttled(10_000, 0);
    pause.lineIsFree();
    expect(pause.isOn(1)).toBe(false);
  });

  it('does not end when a request is accepted that was on its way before', () => {
    const pause = new LinePause();
    pause.throttled(10_000, 50);
    pause.accepted(20);
    pause.accepted(50);
    expect(pause.isOn(9_000)).toBe(true);
    pause.accepted(51);
    expect(pause.isOn(9_000)).toBe(false);
  });
});
