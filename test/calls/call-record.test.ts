import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  type CallRecord,
  CLAIM_LEASE_MS,
  connected,
  disconnected,
  mostAdvanced,
  hungUp,
  notEstablished,
  over,
  overdue,
  overdueAt,
  placed,
  playConfirmed,
  type Step,
} from '../../src/calls/call-record.ts';

const details = { alertType: 'ConfirmedFire' } as const;
const timeouts = { establishingMs: 125_000, playingMs: 40_000 };
const ADVANCE = { establishing: 0, playing: 1, hanging_up: 2, hung_up: 3, failed: 3 } as const;

type Name = keyof typeof steps;

/** All steps. */
const steps = {
  placed: (known: CallRecord | undefined, now: number): Step<string> => placed(known, details, now),
  connected: (known: CallRecord | undefined, now: number) => connected(known, details, now),
  playConfirmed,
  over: (known: CallRecord | undefined, now: number) => over(known, details, { endsAs: 'hung_up' }, now),
  hungUp,
  disconnected: (known: CallRecord | undefined, now: number) => disconnected(known, details, { code: 200 }, now),
  notEstablished: (known: CallRecord | undefined, now: number) => notEstablished(known, details, { code: 480 }, now),
  overdue: (known: CallRecord | undefined, now: number) => overdue(known, details, timeouts, now),
};

const names = Object.keys(steps).filter((name): name is Name => Object.hasOwn(steps, name));
const happenings = fc.array(fc.tuple(fc.constantFrom(...names), fc.integer({ min: 0, max: CLAIM_LEASE_MS / 20 })), {
  maxLength: 20,
});

describe("a call's record", () => {
  it('only ever moves forward, and can be claimed once for speaking and once for hanging up', () => {
    fc.assert(
      fc.property(happenings, (sequence) => {
        let now = 1_000_000;
        let known: CallRecord | undefined;
        let speaking = 0;
        let hangingUp = 0;
        for (const [name, later] of sequence) {
          now += later;
          const { next, action } = steps[name](known, now);
          if (action === 'claimed' && name === 'connected') speaking += 1;
          if (action === 'claimed' && name !== 'connected') hangingUp += 1;
          const wentBack = next !== undefined && known !== undefined && ADVANCE[next.state] < ADVANCE[known.state];
          expect(wentBack).toBe(false);
          const hadEnded = known?.state === 'hung_up' || known?.state === 'failed';
          expect(hadEnded && action === 'claimed').toBe(false);
          known = next ?? known;
        }
        // Less than one lease in all, so no claim may be taken over.
        expect(speaking).toBeLessThanOrEqual(1);
        expect(hangingUp).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('is not changed by a repeated event', () => {
    fc.assert(
      fc.property(happenings, fc.constantFrom(...names), (sequence, name) => {
        let known: CallRecord | undefined;
        for (const [each, later] of sequence) known = steps[each](known, 1_000 + later).next ?? known;
        if (name === 'placed') return;
        const first = steps[name](known, 2_000);
        const second = steps[name](first.next ?? known, 2_000);
        expect(second.next).toBeUndefined();
        expect(second.action).not.toBe('claimed');
      }),
    );
  });

  it('lets another instance speak when the one that claimed to does not', () => {
    const claimed = connected(undefined, details, 1_000).next;
    expect(connected(claimed, details, 1_000 + CLAIM_LEASE_MS - 1).action).toBe('wait');
    const taken = connected(claimed, details, 1_000 + CLAIM_LEASE_MS);
    expect(taken.action).toBe('claimed');
    // Once speaking is confirmed, no instance speaks again.
    const confirmed = playConfirmed(taken.next, 30_000).next;
    expect(connected(confirmed, details, 1_000_000).action).toBe('nothing');
  });

  it('lets another instance hang up when the one that claimed to does not', () => {
    const claimed = over(undefined, details, { endsAs: 'failed', reason: 'speech refused' }, 1_000).next;
    expect(over(claimed, details, { endsAs: 'hung_up' }, 2_000).action).toBe('wait');
    const taken = over(claimed, details, { endsAs: 'hung_up' }, 1_000 + CLAIM_LEASE_MS);
    expect(taken).toMatchObject({ action: 'claimed', next: { endsAs: 'failed', reason: 'speech refused' } });
    expect(hungUp(taken.next, 50_000).next).toMatchObject({ state: 'failed', reason: 'speech refused' });
  });

  it('starts with hanging up when the end of the message is the first event', () => {
    expect(over(undefined, details, { endsAs: 'hung_up' }, 1)).toMatchObject({
      action: 'claimed',
      next: { state: 'hanging_up' },
    });
  });

  it('says how the call ended', () => {
    const playing = connected(undefined, details, 1).next;
    const result = { code: 200, subCode: 0 };
    expect(disconnected(playing, details, result, 2).next).toMatchObject({
      state: 'hung_up',
      reason: 'the callee hung up',
    });
    expect(disconnected(undefined, details, result, 2).next).toMatchObject({
      state: 'failed',
      reason: 'the call ended before the message',
    });
    expect(notEstablished(undefined, details, { code: 486, subCode: 560_486, reason: 'busy' }, 2).next).toMatchObject({
      state: 'failed',
      reason: 'busy',
    });
    expect(notEstablished(undefined, details, {}, 2).next?.reason).toBe('not established');
  });

  it('is overdue when an event was lost, but never before it could have come', () => {
    const establishing = placed(undefined, details, 1_000).next;
    expect(overdue(establishing, details, timeouts, 125_999).action).toBe('nothing');
    expect(overdue(establishing, details, timeouts, 126_000)).toMatchObject({
      action: 'claimed',
      next: { state: 'hanging_up', endsAs: 'failed', reason: 'no answer was reported' },
    });
    // Answered late: the timeout counts from the start of the message.
    const playing = playConfirmed(connected(establishing, details, 110_000).next, 110_100).next;
    expect(overdue(playing, details, timeouts, 126_000).action).toBe('nothing');
    expect(overdue(playing, details, timeouts, 150_100)).toMatchObject({
      action: 'claimed',
      next: { endsAs: 'hung_up' },
    });
    const ended = notEstablished(undefined, details, {}, 2).next;
    expect(ended && overdueAt(ended, timeouts)).toBeUndefined();
  });

  it('is the most advanced of two records of one call', () => {
    const establishing = placed(undefined, details, 1).next;
    const playing = connected(establishing, details, 2).next;
    const confirmed = playConfirmed(playing, 3).next;
    expect(mostAdvanced(establishing, playing)).toEqual(playing);
    expect(mostAdvanced(playing, establishing)).toEqual(playing);
    expect(mostAdvanced(playing, confirmed)).toEqual(confirmed);
    expect(mostAdvanced(undefined, playing)).toEqual(playing);
    expect(mostAdvanced(playing, undefined)).toEqual(playing);
  });
});
