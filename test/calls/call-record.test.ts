import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { outcomeOf } from '../../src/calls/call-outcome.ts';
import {
  type CallRecord,
  CLAIM_LEASE_MS,
  connected,
  disconnected,
  hungUp,
  notEstablished,
  notSpoken,
  over,
  overdue,
  overdueAt,
  placed,
  playAccepted,
  playStarted,
  type Step,
  unshared,
} from '../../src/calls/call-record.ts';
import { mostAdvanced } from '../../src/calls/most-advanced.ts';
import { newNotificationId } from '../../src/calls/notification-id.ts';

const attempt = { notificationId: newNotificationId(0), index: 0, attemptId: '3f0c1d2e-4b5a-6978-8a9b-0c1d2e3f4a5b' };
const details = { alertType: 'ConfirmedFire', attempt } as const;
const timeouts = { establishingMs: 125_000, playingMs: 40_000 };

type Name = keyof typeof steps;

/** All steps. */
const steps = {
  placed: (known: CallRecord | undefined, now: number): Step<string> => placed(known, details, now),
  connected: (known: CallRecord | undefined, now: number) => connected(known, details, now),
  playAccepted,
  playStarted,
  completed: (known: CallRecord | undefined, now: number) => over(known, details, { completed: true }, now),
  failed: (known: CallRecord | undefined, now: number) =>
    over(known, details, { playFailed: true, reason: 'speech refused' }, now),
  hungUp,
  disconnected: (known: CallRecord | undefined, now: number) => disconnected(known, details, { code: 200 }, now),
  notEstablished: (known: CallRecord | undefined, now: number) => notEstablished(known, details, { code: 480 }, now),
  overdue: (known: CallRecord | undefined, now: number) => overdue(known, details, timeouts, now),
};

const names = Object.keys(steps).filter((name): name is Name => Object.hasOwn(steps, name));
const happenings = fc.array(fc.tuple(fc.constantFrom(...names), fc.integer({ min: 0, max: CLAIM_LEASE_MS / 20 })), {
  maxLength: 20,
});

const SPEAKS: ReadonlySet<Name> = new Set(['connected']);

/** The record after some steps, a second apart from 1,000 on. */
const after = (...taken: readonly Name[]): CallRecord | undefined => {
  let known: CallRecord | undefined;
  for (const [index, name] of taken.entries()) known = steps[name](known, 1_000 * (index + 1)).next ?? known;
  return known;
};

/** As a process has it that cannot use the table. */
const alone = (known: CallRecord | undefined) => known && unshared(known, 1);
const isLost = (known: CallRecord | undefined) => known && outcomeOf(known)?.isLost;

describe("a call's record", () => {
  it('lets a call be claimed once for speaking and once for hanging up, in that order, and never after its end', () => {
    fc.assert(
      fc.property(happenings, (sequence) => {
        let now = 1_000_000;
        let known: CallRecord | undefined;
        let speaking = 0;
        let hangingUp = 0;
        let spokenAfterHangUp = false;
        for (const [name, later] of sequence) {
          now += later;
          const { next, action } = steps[name](known, now);
          if (action === 'claimed' && SPEAKS.has(name)) {
            speaking += 1;
            spokenAfterHangUp ||= hangingUp > 0;
          } else if (action === 'claimed') hangingUp += 1;
          known = next ?? known;
        }
        // Less than one lease in all, so no claim may be taken over.
        expect(spokenAfterHangUp).toBe(false);
        expect(speaking).toBeLessThanOrEqual(1);
        expect(hangingUp).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('needs no look at a newer record for what is said to be impossible for ever', () => {
    fc.assert(
      fc.property(happenings, fc.constantFrom(...names), happenings, (before, name, later) => {
        let known: CallRecord | undefined;
        let now = 1_000_000;
        for (const [each, ms] of before) known = steps[each](known, (now += ms)).next ?? known;
        if (steps[name](known, now).never !== true) return;
        for (const [each, ms] of later) {
          known = steps[each](known, (now += ms)).next ?? known;
          const again = steps[name](known, now);
          expect([again.action, again.next]).toEqual(['nothing', undefined]);
        }
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

  it('lets a callee be spoken to who was reported as not reached, or as gone, before anybody spoke', () => {
    for (const wrong of ['notEstablished', 'disconnected'] as const) {
      const told = after('placed', wrong);
      expect(connected(told, details, 9_000)).toMatchObject({ action: 'claimed', next: { state: 'playing' } });
      expect(
        outcomeOf(connected(told, details, 9_000).next ?? { state: 'ended', alertType: 'Custom' }),
      ).toBeUndefined();
    }
    // After somebody has spoken, the end is the end; and nothing about not reaching anybody is believed.
    expect(connected(after('connected', 'playAccepted', 'disconnected'), details, 9_000).action).toBe('nothing');
    expect(notEstablished(after('connected'), details, { code: 480 }, 9_000).next).toBeUndefined();
  });

  it('takes a report of the speech for news also where it is only old that the call was placed', () => {
    // An instance that placed the call remembers `establishing`, while another one speaks.
    expect(playStarted(after('placed'), 9_000).never).toBeUndefined();
    expect(playAccepted(after('placed'), 9_000).never).toBeUndefined();
  });

  it('lets another instance speak when the one that claimed to does not', () => {
    const claimed = connected(undefined, details, 1_000).next;
    expect(connected(claimed, details, 1_000 + CLAIM_LEASE_MS - 1).action).toBe('wait');
    const taken = connected(claimed, details, 1_000 + CLAIM_LEASE_MS);
    expect(taken.action).toBe('claimed');
    // Once it is known that the message is spoken, no instance speaks again.
    expect(connected(playAccepted(taken.next, 30_000).next, details, 1_000_000).action).toBe('nothing');
    expect(connected(playStarted(taken.next, 30_000).next, details, 1_000_000).action).toBe('nothing');
  });

  it('lets another instance hang up when the one that claimed to does not', () => {
    const claimed = over(undefined, details, { playFailed: true, reason: 'speech refused' }, 1_000).next;
    expect(over(claimed, details, {}, 2_000).action).toBe('wait');
    const taken = over(claimed, details, {}, 1_000 + CLAIM_LEASE_MS);
    expect(taken).toMatchObject({ action: 'claimed', next: { reason: 'speech refused' } });
    expect(hungUp(taken.next, 50_000).next).toMatchObject({ state: 'ended', reason: 'speech refused' });
  });

  it('is overdue when an event was lost, but never before it could have come', () => {
    const establishing = placed(undefined, details, 1_000).next;
    expect(overdue(establishing, details, timeouts, 125_999).action).toBe('nothing');
    expect(overdue(establishing, details, timeouts, 126_000)).toMatchObject({
      action: 'claimed',
      next: { state: 'hanging_up', reason: 'no answer was reported' },
    });
    // Answered late: the timeout counts from the start of the message.
    const playing = playAccepted(connected(establishing, details, 110_000).next, 110_100).next;
    expect(overdue(playing, details, timeouts, 126_000).action).toBe('nothing');
    expect(overdue(playing, details, timeouts, 150_100)).toMatchObject({ action: 'claimed' });
    const ended = after('placed', 'notEstablished');
    expect(ended && overdueAt(ended, timeouts)).toBeUndefined();
  });

  it('is the most advanced of two records of one call, with what either knows of the message', () => {
    const establishing = after('placed');
    const playing = after('placed', 'connected');
    expect(mostAdvanced(establishing, playing)).toMatchObject({ state: 'playing', placedAt: 1_000 });
    expect(mostAdvanced(playing, establishing)).toMatchObject({ state: 'playing', placedAt: 1_000 });
    expect(mostAdvanced(playing, after('placed', 'playStarted'))).toMatchObject({
      state: 'playing',
      playStartedAt: 2_000,
    });
    expect(mostAdvanced(undefined, playing)).toBe(playing);
    // An end that was reported before anybody spoke may be wrong.
    expect(mostAdvanced(after('placed', 'notEstablished'), playing)).toMatchObject({ state: 'playing' });
    expect(mostAdvanced(after('connected', 'disconnected'), playing)).toMatchObject({ state: 'ended' });
  });

  it('joined from an outage has the end that only one of two instances was told of, if it came after the answer', () => {
    // The instance that got the end had not heard of the answer.
    const gone = after('placed', 'disconnected');
    const playing = connected(after('placed'), details, 1_500).next;
    const joined = { state: 'ended', playingAt: 1_500, disconnectedAt: 2_000, endedAt: 2_000, code: 200 };
    expect(mostAdvanced(playing, gone)).toMatchObject(joined);
    expect(mostAdvanced(gone, playing)).toMatchObject(joined);
    const answeredLater = connected(after('placed'), details, 2_500).next;
    expect(mostAdvanced(answeredLater, gone)).toMatchObject({ state: 'playing', disconnectedAt: undefined });
  });

  it('does not let a line be hung up by who could not speak while another instance speaks', () => {
    const failed = { playFailed: true, reason: 'speech refused' } as const;
    const mine = connected(undefined, details, 1_000).next;
    if (mine === undefined) throw new Error('no claim');
    expect(notSpoken(mine, mine, failed, 3_000)).toMatchObject({ action: 'claimed', next: { playFailedAt: 3_000 } });
    // Another one's request was accepted; or the start of the message was reported after all.
    expect(notSpoken(playAccepted(mine, 2_000).next, mine, failed, 3_000)).toEqual({ action: 'nothing' });
    expect(notSpoken(playStarted(mine, 2_000).next, mine, failed, 3_000)).toEqual({ action: 'nothing' });
    // Another one has taken over, and is asking.
    const late = 1_000 + CLAIM_LEASE_MS;
    const theirs = connected(mine, details, late).next;
    expect(notSpoken(theirs, mine, failed, late + 1)).toEqual({ action: 'nothing' });
  });
});

describe('the outcome of a call', () => {
  const outcome = (...taken: readonly Name[]) => {
    const known = after(...taken);
    return known && outcomeOf(known);
  };

  it.each<[string, string | undefined, readonly Name[]]>([
    ['is not known while it lasts', undefined, ['placed', 'connected', 'playAccepted', 'playStarted']],
    ['is heard when the whole message was reported', 'heard', ['connected', 'playAccepted', 'completed', 'hungUp']],
    ['is heard in whatever order that is reported', 'heard', ['connected', 'disconnected', 'completed']],
    ['is cut_short when it had started', 'cut_short', ['connected', 'playStarted', 'disconnected']],
    ['is cut_short where the start is reported late', 'cut_short', ['connected', 'disconnected', 'playStarted']],
    ['is unknown when the request to speak was never answered', 'unknown', ['connected', 'disconnected']],
    ['is unknown when it was accepted a moment ago', 'unknown', ['connected', 'playAccepted', 'disconnected']],
    ['is unknown when the message failed half-way', 'unknown', ['connected', 'playStarted', 'failed', 'hungUp']],
    ['is unknown when the callee was gone before the message', 'unknown', ['placed', 'disconnected']],
  ])('%s', (_, word, taken) => {
    expect(outcome(...taken)?.outcome).toBe(word);
  });

  it('is cut_short without a report of the start when the callee was there long after the line had accepted it', () => {
    const accepted = playAccepted(connected(undefined, details, 1_000).next, 1_100).next;
    const outcomeAt = (now: number) => {
      const known = disconnected(accepted, details, {}, now).next;
      return known && outcomeOf(known)?.outcome;
    };
    expect(outcomeAt(11_099)).toBe('unknown');
    expect(outcomeAt(11_100)).toBe('cut_short');
  });

  it('is lost where it may be anything: without the table, or without the events', () => {
    const lost = { outcome: 'unknown', isLost: true };
    expect(outcome('placed', 'disconnected')).toMatchObject(lost);
    const playing = alone(after('placed', 'connected'));
    const gone = disconnected(playing, details, {}, 3_000).next;
    expect(gone && outcomeOf(gone)).toMatchObject(lost);
    const overdueSince = overdue(after('placed'), details, timeouts, 1_000_000).next;
    expect(isLost(hungUp(overdueSince, 1_000_001).next)).toBe(true);
    // That the message failed, or that the callee was gone before it, is known.
    expect(isLost(hungUp(over(playing, details, { playFailed: true }, 3_000).next, 3_001).next)).toBeUndefined();
    expect(isLost(after('placed', 'connected', 'disconnected'))).toBeUndefined();
    expect(isLost(after('connected', 'playStarted', 'disconnected'))).toBeUndefined();
    // What was surely heard is not lost, whoever knew it.
    expect(
      outcomeOf(
        disconnected(alone(after('connected', 'playStarted')), details, {}, 9_000).next ??
          gone ?? { state: 'ended', alertType: 'Custom' },
      ),
    ).toMatchObject({ outcome: 'cut_short' });
  });

  it('is what the telephone network says where nobody answered', () => {
    const busy = { code: 486, subCode: 560_486, reason: 'busy', meaning: 'busy' } as const;
    const known = notEstablished(undefined, details, busy, 2).next;
    expect(known && outcomeOf(known)).toEqual({
      outcome: 'busy',
      code: 486,
      subCode: 560_486,
      reason: 'busy',
      endedAt: 2,
    });
    expect(outcome('notEstablished')).toMatchObject({ outcome: 'unknown', code: 480, reason: 'not established' });
  });
});
