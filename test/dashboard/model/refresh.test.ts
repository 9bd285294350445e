import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  afterRound,
  isPhoneOff,
  PACE,
  type Refresh,
  type RoundOutcome,
  type Trouble,
  troubleText,
} from '../../../src/dashboard/browser/model/refresh.ts';

const NOW = 1_000_000;
const AT_FIRST: Refresh = { phase: 'asking' };
const UNREACHABLE: RoundOutcome = { kind: 'failed', trouble: { kind: 'unreachable' } };
const when = { now: NOW, live: true, chance: 0.5 };

const outcome: fc.Arbitrary<RoundOutcome> = fc.oneof(
  fc.constant<RoundOutcome>({ kind: 'answered' }),
  fc.constant(UNREACHABLE),
  fc.option(fc.integer({ min: 0, max: 10_000 }), { nil: undefined }).map((retryAfterSeconds): RoundOutcome => ({
    kind: 'failed',
    trouble: { kind: 'unavailable', status: 503, detail: '', retryAfterSeconds },
  })),
  fc.boolean().map((keySent): RoundOutcome => ({ kind: 'unauthorized', keySent })),
);

describe('refreshing', () => {
  it('is often for what can grow, rare for what is past', () => {
    expect(afterRound(AT_FIRST, { kind: 'answered' }, when)).toEqual({
      phase: 'current',
      last: { at: NOW, lateFrom: NOW + 3 * PACE.live },
      nextAt: NOW + PACE.live,
    });
    expect(afterRound(AT_FIRST, { kind: 'answered' }, { ...when, live: false })).toMatchObject({
      nextAt: NOW + PACE.past,
    });
  });

  it('keeps in mind when the service last answered, however often it fails', () => {
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 30 }), (outcomes) => {
        let refresh: Refresh = AT_FIRST;
        let answeredAt: number | undefined;
        outcomes.forEach((each, index) => {
          refresh = afterRound(refresh, each, { ...when, now: NOW + index });
          if (each.kind === 'answered') answeredAt = NOW + index;

          expect(refresh.last?.at).toBe(answeredAt);
        });
      }),
    );
  });

  it('asks again within five minutes after any failure, and never at once', () => {
    fc.assert(
      fc.property(
        fc.array(outcome, { minLength: 1, maxLength: 30 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (outcomes, chance) => {
          let refresh: Refresh = AT_FIRST;
          for (const each of outcomes) {
            refresh = afterRound(refresh, each, { ...when, chance });
            if (refresh.phase !== 'failing') continue;

            expect(refresh.nextAt - NOW).toBeGreaterThanOrEqual(PACE.firstRetry * 0.75);
            expect(refresh.nextAt - NOW).toBeLessThanOrEqual(300_000);
          }
        },
      ),
    );
  });

  it('waits longer after every failure, and as long as the service asks for', () => {
    const first = afterRound(AT_FIRST, UNREACHABLE, when);
    const second = afterRound(first, UNREACHABLE, when);

    expect(first).toMatchObject({ phase: 'failing', failures: 1, nextAt: NOW + 2_000 });
    expect(second).toMatchObject({ phase: 'failing', failures: 2, nextAt: NOW + 4_000 });
    expect(
      afterRound(
        AT_FIRST,
        { kind: 'failed', trouble: { kind: 'unavailable', status: 503, detail: '', retryAfterSeconds: 30 } },
        when,
      ),
    ).toMatchObject({ nextAt: NOW + 30_000 });
  });

  it('does not wait longer because somebody asked in between', () => {
    const waiting = [1, 2, 3, 4].reduce<Refresh>((before) => afterRound(before, UNREACHABLE, when), AT_FIRST);
    const asked = afterRound(waiting, UNREACHABLE, { ...when, now: NOW + 3_000, byHand: true });

    expect(waiting).toMatchObject({ failures: 4, nextAt: NOW + 16_000 });
    expect(asked).toMatchObject({ failures: 4, nextAt: NOW + 16_000 });
    expect(afterRound(asked, UNREACHABLE, { ...when, now: NOW + 16_000 })).toMatchObject({ failures: 5 });
  });

  it('asks nothing while it has no key, and knows whether one was refused', () => {
    expect(afterRound(AT_FIRST, { kind: 'unauthorized', keySent: false }, when)).toEqual({
      phase: 'locked',
      refused: false,
      last: undefined,
    });
    expect(afterRound(AT_FIRST, { kind: 'unauthorized', keySent: true }, when)).toMatchObject({ refused: true });
  });
});

it('says what is wrong in words', () => {
  expect(troubleText({ kind: 'unreachable' })).toBe('The service does not answer.');
  expect(troubleText({ kind: 'refused', status: 400, detail: 'camera_id is empty' })).toBe(
    'The service did not accept this question (400). camera_id is empty',
  );
});

describe('a service that places no phone calls', () => {
  it.each<[boolean, Trouble]>([
    [true, { kind: 'unavailable', status: 503, detail: 'The phone is off.', retryAfterSeconds: undefined }],
    [true, { kind: 'refused', status: 404, detail: '' }],
    [false, { kind: 'unavailable', status: 503, detail: 'Not now.', retryAfterSeconds: 5 }],
    [false, { kind: 'unavailable', status: 503, detail: '', retryAfterSeconds: undefined }],
    [false, { kind: 'unavailable', status: 500, detail: 'It has been logged.', retryAfterSeconds: undefined }],
    [false, { kind: 'refused', status: 400, detail: '' }],
    [false, { kind: 'unreachable' }],
    [false, { kind: 'unreadable' }],
  ])('is told from others: %s, %o', (isOff, trouble) => {
    expect(isPhoneOff(trouble)).toBe(isOff);
  });
});
