import { describe, expect, it } from 'vitest';

import { durationText, progressLine, timeLeft } from '../../infra/cli/progress.ts';

const LINE = { label: 'history-2025-11-20.ndjson', part: 0.42, rate: '3,210 events/s', left: 80_000, text: '' };

describe('a line of progress', () => {
  it('has the part, the rate and the time left, and never more than a terminal has columns', () => {
    expect(progressLine({ ...LINE, text: '12 rejected' }, 120)).toBe(
      'history-2025-11-20.ndjson  ███████░░░░░░░░░ 42 %  3,210 events/s  1 min left  12 rejected',
    );
    expect(progressLine({ ...LINE, text: '12 rejected' }, 80)).toBe(
      'history-2025-11-20.ndjson  ███████░░░░░░░░░ 42 %  3,210 events/s  1 min left',
    );
    expect(progressLine({ ...LINE, label: 'x'.repeat(200) }, 80)).toHaveLength(79);
    expect(progressLine({ ...LINE, part: undefined, left: undefined }, 80)).toBe(
      'history-2025-11-20.ndjson  3,210 events/s',
    );
  });

  it('tells a time left from the whole run so far, once it is more than a guess', () => {
    const begin = { part: 0.5, at: 1_000 };
    expect(timeLeft(begin, { part: 0.6, at: 2_000 })).toBeUndefined();
    expect(timeLeft(begin, { part: 0.5, at: 9_000 })).toBeUndefined();
    expect(timeLeft(begin, { part: 0.75, at: 11_000 })).toBe(10_000);
    expect([900, 59_000, 80_000, 3_600_000 * 1.5].map(durationText)).toEqual(['1 s', '59 s', '1 min', '1 h 30 min']);
  });
});
