import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  afterRound,
  isPhoneOff,
  PACE,
  type Refresh,
  type RoundOutcome,
  type Trouble,
} from '../../../src/dashboard/browser/model/refresh.ts';

const NOW = 1_000_000;
const AT_FIRST: Refresh = { phase: 'asking' };
const ANSWERED: RoundOutcome = { kind: 'answered' };
const UNREACHABLE: RoundOutcome = { kind: 'failed', trouble: { kind: 'unreachable' } };
const when = { now: NOW, live: true, chance: 0.5 };

const unavailable = (detail: string, retryAfterSeconds?: number, status = 503): Trouble => ({
  kind: 'unavailable',
  status,
  detail,
  retryAfterSeconds,
});
const busy = (seconds: number): RoundOutcome => ({ kind: 'failed', trouble: unavailable('', seconds) });

const anyOutcome: fc.Arbitrary<RoundOutcome> = fc.oneof(
  fc.constantFrom(ANSWERED, UNREACHABLE),
  fc.integer({ min: 0, max: 10_000 }).map(busy),
  fc.boolean().map((keySent): RoundOutcome => ({ kind: 'unauthorized', keySent })),
);

describe('refreshing', () => {
  it('is often for what can grow, rare for what is past', () => {
    expect(afterRound(AT_FIRST, ANSWERED, when)).toEqual({
      phase: 'current',
      last: { at: NOW, lateFrom: NOW + 3 * PACE.live },
      nextAt: NOW + PACE.live,
    });
    expect(afterRound(AT_FIRST, ANSWERED, { ...when, live: false })).toMatchObject({ nextAt: NOW + PACE.past });
  });

  it('keeps in mind when the service last answered; after a failure it asks again within five minutes, never at once', () => {
    fc.assert(
      fc.property(
        fc.array(anyOutcome, { maxLength: 30 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (outcomes, chance) => {
          let refresh: Refresh = AT_FIRST;
          let answeredAt: number | undefined;
          for (const [index, each] of outcomes.entries()) {
            const now = NOW + index;
            refresh = afterRound(refresh, each, { ...when, now, chance });
            if (each.kind === 'answered') answeredAt = now;
            expect(refresh.last?.at).toBe(answeredAt);
            if (refresh.phase !== 'failing') continue;
            expect(refresh.nextAt - now).toBeGreaterThanOrEqual(PACE.firstRetry * 0.75);
            expect(refresh.nextAt - now).toBeLessThanOrEqual(300_000);
          }
        },
      ),
    );
  });

  it('waits longer after every failure, and as long as the service asks for', () => {
    const first = afterRound(AT_FIRST, UNREACHABLE, when);
    expect(first).toMatchObject({ phase: 'failing', failures: 1, nextAt: NOW + 2_000 });
    expect(afterRound(first, UNREACHABLE, when)).toMatchObject({ failures: 2, nextAt: NOW + 4_000 });
    expect(afterRound(AT_FIRST, busy(30), when)).toMatchObject({ nextAt: NOW + 30_000 });
  });

  it('does not wait longer because somebody asked in between', () => {
    const waiting = [1, 2, 3, 4].reduce<Refresh>((before) => afterRound(before, UNREACHABLE, when), AT_FIRST);
    const asked = afterRound(waiting, UNREACHABLE, { ...when, now: NOW + 3_000, byHand: true });

    expect(waiting).toMatchObject({ failures: 4, nextAt: NOW + 16_000 });
    expect(asked).toMatchObject({ failures: 4, nextAt: NOW + 16_000 });
    expect(afterRound(asked, UNREACHABLE, { ...when, now: NOW + 16_000 })).toMatchObject({ failures: 5 });
  });
});

it.each<[boolean, Trouble]>([
  [true, unavailable('The phone is off.')],
  [true, { kind: 'refused', status: 404, detail: '' }],
  [false, unavailable('Not now.', 5)],
  [false, unavailable('')],
  [false, unavailable('It has been logged.', undefined, 500)],
  [false, { kind: 'refused', status: 400, detail: '' }],
  [false, { kind: 'unreachable' }],
  [false, { kind: 'unreadable' }],
])('a service that places no phone calls is told from others: %s, %o', (isOff, trouble) => {
  expect(isPhoneOff(trouble)).toBe(isOff);
});
