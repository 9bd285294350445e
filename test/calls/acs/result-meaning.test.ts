import { describe, expect, it } from 'vitest';

import { meaningOfResult } from '../../../src/calls/acs/result-meaning.ts';

describe('the meaning of a result', () => {
  it.each([
    [480, 560_480, 'no answer', 'no_answer'],
    [480, 1, 'no answer', 'no_answer'],
    [487, 10_024, 'declined', 'declined'],
    [603, undefined, 'declined', 'declined'],
    [487, undefined, 'cancelled', undefined],
    [486, undefined, 'busy', 'busy'],
    [486, 0, 'busy', 'busy'],
    [403, 510_403, 'blocked as spam', 'refused'],
    [484, 560_484, 'invalid number', 'refused'],
    [400, 8_567, 'speech not configured', undefined],
    [429, undefined, 'throttled', 'throttled'],
    [403, 8_516, 'throttled', 'throttled'],
    [403, 8_529, 'throttled', 'throttled'],
    [403, 8_530, 'throttled', 'throttled'],
    [400, 8_535, 'speech in a bad format', undefined],
    [400, 8_536, 'speech could not be downloaded', undefined],
    [400, 8_565, 'speech refused', undefined],
    [200, 0, undefined, undefined],
    [undefined, undefined, undefined, undefined],
    [500, 999_999, undefined, undefined],
  ])('%s/%s: %s', (code, subCode, reason, meaning) => {
    const found = meaningOfResult({ code, subCode });
    expect([found.reason, found.meaning]).toEqual([reason, meaning]);
  });
});
