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
    [487, 10_004, 'no answer', 'no_answer'],
    [603, 560_603, 'declined', 'declined'],
    [403, 510_403, 'the caller is not a number of this resource, or is blocked', 'set_up'],
    [403, 7_504, 'the phone service does not accept this app', 'set_up'],
    [403, 7_507, 'the phone service does not accept this app', 'set_up'],
    [403, 10_105, 'the Teams bot may not call', 'set_up'],
    [403, 511_532, 'the trunk is not set up', 'set_up'],
    [403, undefined, 'the phone service does not accept this app', 'set_up'],
    [403, 8_599, 'no line is free', 'no_line'],
    [404, 511_404, 'the Communication Services resource is not set up', 'set_up'],
    [404, undefined, 'number not found', 'refused'],
    [484, 560_484, 'invalid number', 'refused'],
    [400, 8_567, 'speech not configured', undefined],
    [429, undefined, 'throttled', 'no_line'],
    [403, 8_516, 'throttled', 'no_line'],
    [403, 8_529, "the month's limit of calls is reached", 'set_up'],
    [403, 8_530, 'no line is free', 'no_line'],
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
