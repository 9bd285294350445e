import { describe, expect, it } from 'vitest';

import { durationText, timeLeft } from '../../infra/cli/progress.ts';

describe('progress', () => {
  it('tells a time left from the whole run so far, once it is more than a guess', () => {
    const begin = { part: 0.5, at: 1_000 };
    expect(timeLeft(begin, { part: 0.6, at: 2_000 })).toBeUndefined();
    expect(timeLeft(begin, { part: 0.5, at: 9_000 })).toBeUndefined();
    expect(timeLeft(begin, { part: 0.75, at: 11_000 })).toBe(10_000);
    expect([900, 59_000, 80_000, 3_600_000 * 1.5].map(durationText)).toEqual(['1 s', '59 s', '1 min', '1 h 30 min']);
  });
});
