import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  afterAnswer,
  afterTrouble,
  isPhoneOff,
  PACES,
  type Part,
  type Trouble,
} from '../../../src/dashboard/browser/model/refresh.ts';

const NOW = 1_000_000;
const AT_FIRST: Part<string> = { subject: 'a', answer: undefined, failures: 0 };
const UNREACHABLE: Trouble = { kind: 'unreachable' };

const unavailable = (rest: Partial<Extract<Trouble, { kind: 'unavailable' }>>): Trouble => ({
  kind: 'unavailable',
  status: 503,
  detail: 'In its own words.',
  retryAfterSeconds: undefined,
  ...rest,
});
const busy = (seconds: number): Trouble => unavailable({ retryAfterSeconds: seconds });

const anyTrouble: fc.Arbitrary<Trouble | undefined> = fc.oneof(
  fc.constantFrom(undefined, UNREACHABLE, { kind: 'refused', status: 404, detail: '' } as const),
  fc.integer({ min: 0, max: 10_000 }).map(busy),
);

describe('a part of the page', () => {
  it('is asked about again after its pace; alerts are old 15 s after their answer, in a hidden tab 75 s', () => {
    expect(afterAnswer(AT_FIRST, NOW, PACES.alerts)).toMatchObject({
      answeredAt: NOW,
      nextAt: NOW + 8_000,
      lateFrom: NOW + 15_000,
    });
    expect(afterAnswer(AT_FIRST, NOW, PACES.hidden)).toMatchObject({ nextAt: NOW + 55_000, lateFrom: NOW + 75_000 });
    expect(afterAnswer(AT_FIRST, NOW, PACES.live)).toMatchObject({ nextAt: NOW + 10_000, lateFrom: NOW + 25_000 });
  });

  it('keeps its answer and when that came; after a failure it is asked about again within five minutes, never at once', () => {
    fc.assert(
      fc.property(
        fc.array(anyTrouble, { maxLength: 30 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (troubles, chance) => {
          let part: Part<string> = AT_FIRST;
          let answeredAt: number | undefined;
          for (const [index, trouble] of troubles.entries()) {
            const now = NOW + index;
            if (trouble === undefined) {
              part = afterAnswer({ ...part, answer: `${index}` }, now, PACES.live);
              answeredAt = now;
            } else part = afterTrouble(part, trouble, now, PACES.live, chance);
            expect(part.answeredAt).toBe(answeredAt);
            expect(part.trouble).toBe(trouble);
            const wait = (part.nextAt ?? 0) - now;
            expect(wait).toBeGreaterThanOrEqual(1_500);
            expect(wait).toBeLessThanOrEqual(300_000);
          }
        },
      ),
    );
  });

  it('waits longer after every failure, up to its pace, and as long as the service asks for', () => {
    const waits = [1, 2, 3, 4, 5].reduce<readonly Part<string>[]>(
      (parts) => [...parts, afterTrouble(parts.at(-1) ?? AT_FIRST, UNREACHABLE, NOW, PACES.alerts, 1)],
      [],
    );
    expect(waits.map(({ nextAt = 0 }) => nextAt - NOW)).toEqual([2_000, 4_000, 8_000, 10_000, 10_000]);
    expect(afterTrouble(AT_FIRST, busy(30), NOW, PACES.alerts, 1).nextAt).toBe(NOW + 30_000);
    expect(afterTrouble(AT_FIRST, busy(3_000), NOW, PACES.alerts, 1).nextAt).toBe(NOW + 300_000);
  });
});

it('a service without a phone says so itself', () => {
  expect(isPhoneOff(unavailable({ code: 'phone_off' }))).toBe(true);
});

it.each<Trouble>([
  // A deployment, a gateway, a firewall: there may be a fire behind each of them.
  { kind: 'refused', status: 404, detail: 'phone_off' },
  unavailable({}),
  unavailable({ code: 'storage_unavailable' }),
  unavailable({ code: 'phone_off', status: 500 }),
  { kind: 'refused', status: 403, detail: '' },
  { kind: 'unreachable' },
  { kind: 'unreadable' },
])('nothing else says so: %o', (trouble) => {
  expect(isPhoneOff(trouble)).toBe(false);
});
