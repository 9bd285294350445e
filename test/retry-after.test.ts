import { expect, it } from 'vitest';

import { retryAfterMs } from '../src/retry-after.ts';

const NOW = Date.parse('2026-11-21T08:00:00Z');

it.each<[header: string | undefined, ms: number | undefined]>([
  ['0', 0],
  [' 7 ', 7_000],
  ['31536000', 31_536_000_000],
  ['Sat, 21 Nov 2026 08:00:03 GMT', 3_000],
  ['Saturday, 21-Nov-26 08:00:03 GMT', 3_000],
  ['Sat Nov 21 08:00:03 2026', 3_000],
  ['Sun Nov  1 08:00:03 2026', 0],
  ['Sat, 21 Nov 2026 07:00:00 GMT', 0],
  [undefined, undefined],
  ['', undefined],
  ['-5', undefined],
  ['1.5', undefined],
  ['1e3', undefined],
  ['soon', undefined],
  ['2026-11-21T08:00:03Z', undefined],
  ['Sat, 99 Xyz 2026 08:00:03 GMT', undefined],
])('Retry-After: %j', (header, ms) => {
  expect(retryAfterMs(new Headers(header === undefined ? {} : { 'retry-after': header }), NOW)).toBe(ms);
});
