import { expect, it } from 'vitest';

import { afterTrouble, type Pace, PACES, type Trouble } from '../../../src/dashboard/browser/model/refresh.ts';

const waitAfter = (failures: number, pace: Pace, chance = 1, trouble: Trouble = { kind: 'unreachable' }) =>
  afterTrouble({ subject: '', answer: undefined, failures }, trouble, 0, pace, chance).nextAt;

it('a question that fails comes again after 2, 4, 8 s and so on, up to its pace, or as Retry-After demands, at most a minute', () => {
  expect([0, 1, 2, 3, 9].map((each) => waitAfter(each, PACES.alerts))).toEqual([2_000, 4_000, 8_000, 10_000, 10_000]);
  expect([4, 5, 9].map((each) => waitAfter(each, PACES.known))).toEqual([32_000, 60_000, 60_000]);
  // Many pages must not ask at the same moment.
  expect(waitAfter(0, PACES.alerts, 0)).toBe(1_500);
  const busy = { kind: 'unavailable', status: 503, detail: '' } as const;
  const afterBusy = (retryAfterMs: number) => waitAfter(0, PACES.alerts, 1, { ...busy, retryAfterMs });
  expect([1_000, 30_000, 3_000_000].map(afterBusy)).toEqual([2_000, 30_000, 60_000]);
});
