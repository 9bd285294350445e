import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import {
  afterAnswer,
  afterTrouble,
  PACES,
  type Part,
  type Trouble,
} from '../../../src/dashboard/browser/model/refresh.ts';

const NOW = 1_000_000;
const AT_FIRST: Part<string> = { subject: 'a', answer: undefined, failures: 0 };
const UNREACHABLE: Trouble = { kind: 'unreachable' };

const busy = (retryAfterSeconds: number): Trouble => ({
  kind: 'unavailable',
  status: 503,
  detail: '',
  retryAfterSeconds,
});

it.each([
  ['alerts', 8_000, 15_000],
  ['hidden', 55_000, 75_000],
  ['live', 10_000, 25_000],
  ['past', 60_000, 75_000],
] as const)('%s: the next question comes after %i ms, and the answer is old after %i ms', (pace, next, late) => {
  const part = afterAnswer(AT_FIRST, NOW, PACES[pace]);
  expect(part).toMatchObject({ answeredAt: NOW, nextAt: NOW + next, lateFrom: NOW + late });
});

it('after a failure the answer stays, and the next question comes in 1.5 s to 5 min', () => {
  const trouble = fc.oneof(fc.constantFrom(undefined, UNREACHABLE), fc.integer({ min: 0, max: 10_000 }).map(busy));
  const chance = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(fc.array(trouble, { maxLength: 30 }), chance, (troubles, luck) => {
      let part = AT_FIRST;
      let answeredAt: number | undefined;
      for (const [now, each] of troubles.entries()) {
        if (each === undefined) answeredAt = now;
        part =
          each === undefined
            ? afterAnswer({ ...part, answer: `${now}` }, now, PACES.live)
            : afterTrouble(part, each, now, PACES.live, luck);
        expect([part.answeredAt, part.answer, part.trouble]).toEqual([answeredAt, answeredAt?.toString(), each]);
        const wait = (part.nextAt ?? 0) - now;
        expect(wait).toBeGreaterThanOrEqual(1_500);
        expect(wait).toBeLessThanOrEqual(300_000);
      }
    }),
  );
});

it('waits grow after every failure, up to the pace, and obey Retry-After', () => {
  const waits = [1, 2, 3, 4, 5].reduce<readonly Part<string>[]>(
    (parts) => [...parts, afterTrouble(parts.at(-1) ?? AT_FIRST, UNREACHABLE, NOW, PACES.alerts, 1)],
    [],
  );
  expect(waits.map(({ nextAt = 0 }) => nextAt - NOW)).toEqual([2_000, 4_000, 8_000, 10_000, 10_000]);
  expect(afterTrouble(AT_FIRST, busy(30), NOW, PACES.alerts, 1).nextAt).toBe(NOW + 30_000);
  expect(afterTrouble(AT_FIRST, busy(3_000), NOW, PACES.alerts, 1).nextAt).toBe(NOW + 300_000);
});
