import { describe, expect, it } from 'vitest';

import { reasonInWords } from '../../../src/calls/acs/result-reason.ts';

describe('the reason of a failed call in words', () => {
  it.each([
    [480, 560_480, 'no answer'],
    [487, 10_024, 'declined'],
    [486, undefined, 'busy'],
    [486, 0, 'busy'],
    [403, 510_403, 'blocked as spam'],
    [484, 560_484, 'invalid number'],
    [400, 8_567, 'speech not configured'],
    [429, undefined, 'throttled'],
    [403, 8_516, 'throttled'],
    [403, 8_529, 'throttled'],
    [403, 8_530, 'throttled'],
    [400, 8_535, 'speech in a bad format'],
    [400, 8_536, 'speech could not be downloaded'],
    [400, 8_565, 'speech refused'],
    [200, 0, undefined],
    [undefined, undefined, undefined],
    [500, 999_999, undefined],
  ])('%s/%s: %s', (code, subCode, words) => expect(reasonInWords({ code, subCode })).toBe(words));
});
