import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { afterReply, PACE, type Refresh, type Trouble } from '../../../src/dashboard/browser/model/refresh.ts';

const NOW = 1_000_000;
const AT_FIRST: Refresh = { phase: 'asking' };
const UNREACHABLE: Trouble = { kind: 'unreachable' };
const when = { now: NOW, pace: PACE.live, chance: 0.5 };

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
  it('is asked about again after its pace, and its answer is old after three of them', () => {
    for (const pace of [PACE.live, PACE.past, PACE.alerts]) {
      expect(afterReply(AT_FIRST, undefined, { ...when, pace })).toEqual({
        phase: 'current',
        last: { at: NOW, lateFrom: NOW + 3 * pace },
        nextAt: NOW + pace,
      });
    }
    expect(PACE.alerts).toBeGreaterThanOrEqual(5_000);
    expect(PACE.alerts).toBeLessThanOrEqual(10_000);
  });

  it('keeps in mind when it was last answered; after a failure it is asked about again within five minutes, never at once', () => {
    fc.assert(
      fc.property(
        fc.array(anyTrouble, { maxLength: 30 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (troubles, chance) => {
          let refresh: Refresh = AT_FIRST;
          let answeredAt: number | undefined;
          for (const [index, trouble] of troubles.entries()) {
            const now = NOW + index;
            refresh = afterReply(refresh, trouble, { ...when, now, chance });
            if (trouble === undefined) answeredAt = now;
            expect(refresh.last?.at).toBe(answeredAt);
            expect(refresh.phase).toBe(trouble === undefined ? 'current' : 'failing');
            if (refresh.phase !== 'failing') continue;
            expect(refresh.nextAt - now).toBeGreaterThanOrEqual(PACE.firstRetry * 0.75);
            expect(refresh.nextAt - now).toBeLessThanOrEqual(300_000);
          }
        },
      ),
    );
  });

  it('waits longer after every failure, and as long as the service asks for', () => {
    const first = afterReply(AT_FIRST, UNREACHABLE, when);
    expect(first).toMatchObject({ phase: 'failing', failures: 1, nextAt: NOW + 2_000 });
    expect(afterReply(first, UNREACHABLE, when)).toMatchObject({ failures: 2, nextAt: NOW + 4_000 });
    expect(afterReply(AT_FIRST, busy(30), when)).toMatchObject({ nextAt: NOW + 30_000 });
  });

  it('does not wait longer because somebody asked in between', () => {
    const waiting = [1, 2, 3, 4].reduce<Refresh>((before) => afterReply(before, UNREACHABLE, when), AT_FIRST);
    const asked = afterReply(waiting, UNREACHABLE, { ...when, now: NOW + 3_000, byHand: true });

    expect(waiting).toMatchObject({ failures: 4, nextAt: NOW + 16_000 });
    expect(asked).toMatchObject({ failures: 4, nextAt: NOW + 16_000 });
    expect(afterReply(asked, UNREACHABLE, { ...when, now: NOW + 16_000 })).toMatchObject({ failures: 5 });
  });
});

it('a service without a phone says so itself, and is asked again each minute whether that is still so', () => {
  const refresh = afterReply(AT_FIRST, unavailable({ code: 'phone_off' }), when);
  expect(refresh).toMatchObject({ phase: 'off', detail: 'In its own words.', nextAt: NOW + 60_000 });
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
  expect(afterReply(AT_FIRST, trouble, when).phase).toBe('failing');
});
