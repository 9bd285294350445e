import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { parseCallId } from '../../src/calls/call-id.ts';
import { OUTCOMES } from '../../src/calls/call-outcome.ts';
import { maskPhoneNumber, parsePhoneNumber } from '../../src/calls/phone-number.ts';
import {
  answered,
  claim,
  DIAL_LEASE_MS,
  ended,
  lookAfter,
  notPlaced,
  placed,
  stillCalling,
  UNCLEAR_MS,
} from '../../src/calls/recipient.ts';
import { type Attempt, currentAttempt, isFinal, type Recipient } from '../../src/calls/recipient-state.ts';

const number = parsePhoneNumber('+12065550100');
const callId = parseCallId('a-call');
if (number === undefined || callId === undefined) throw new Error('not a number or a call id');

const NOW = Date.parse('2026-11-21T08:00:00Z');
const rules = { attempts: 3, retryMs: 60_000 };
const waiting: Recipient = { state: 'waiting', number, attempts: [], deadlineAt: NOW + 1_800_000, reserved: true };

/** Dialled at NOW, and the call was placed. */
const calling = (recipient = waiting, id = 'first', now = NOW): Recipient => {
  const claimed = claim(recipient, id, now).next ?? recipient;
  return placed(claimed, id, callId, now).next ?? claimed;
};
const end = (recipient: Recipient, outcome: (typeof OUTCOMES)[number] | 'throttled', now: number, id = 'first') =>
  ended(recipient, id, callId, { outcome, reason: 'so', endedAt: now }, rules, now).next;

describe('a recipient', () => {
  it.each([
    ['heard', 'heard'],
    ['cut_short', 'heard'],
    ['declined', 'not_reached'],
    ['refused', 'failed'],
    ['no_answer', 'waiting'],
    ['busy', 'waiting'],
    ['unknown', 'waiting'],
  ] as const)('after an attempt that was %s is %s', (outcome, state) => {
    const next = end(calling(), outcome, NOW + 5_000);
    expect(next).toMatchObject({ state, attempts: [{ outcome, reason: 'so', endedAt: NOW + 5_000 }] });
    expect(next?.dueAt).toBe(state === 'waiting' ? NOW + 65_000 : undefined);
  });

  it('is dialled again up to the attempts, and not after the deadline', () => {
    let recipient = waiting;
    for (const [index, id] of ['first', 'second', 'third'].entries()) {
      recipient = end(calling(recipient, id, NOW + index * 70_000), 'busy', NOW + index * 70_000, id) ?? recipient;
    }
    expect(recipient).toMatchObject({ state: 'not_reached', attempts: [{}, {}, { outcome: 'busy' }] });
    const late = end(calling(), 'busy', waiting.deadlineAt - 30_000);
    expect(late).toMatchObject({ state: 'not_reached', attempts: [{ outcome: 'busy' }] });
  });

  it('waits for a line at no cost, in the place that it had', () => {
    const claimed = claim(waiting, 'first', NOW + 9).next ?? waiting;
    const queued = notPlaced(claimed, 'first', { kind: 'passing', reason: 'throttled' }, NOW, NOW + 10).next;
    expect(queued).toMatchObject({ state: 'waiting', attempts: [], dueAt: NOW, reserved: true, reason: 'throttled' });
    // A call that turns out to have had no line costs none either.
    expect(end(calling(), 'throttled', NOW + 10)).toMatchObject({ state: 'waiting', attempts: [], reserved: true });
  });

  it('that waited in vain until the deadline is not reached, and says why', () => {
    const queued: Recipient = { ...waiting, dueAt: NOW, reason: 'throttled' };
    expect(claim(queued, 'last', waiting.deadlineAt)).toMatchObject({
      action: 'given up',
      next: { state: 'not_reached', attempts: [{ outcome: 'unknown', reason: 'throttled' }] },
    });
  });

  it('whose call has reported itself is not taken for unplaced because the answer to the call request was lost', () => {
    const claimed = claim(waiting, 'first', NOW).next ?? waiting;
    const spokenTo = answered(claimed, 'first', callId, NOW + 40_000).next ?? claimed;
    for (const kind of ['passing', 'refused', 'unclear'] as const) {
      expect(notPlaced(spokenTo, 'first', { kind, reason: 'no answer in time' }, NOW, NOW + 5).next).toBeUndefined();
    }
  });

  it('is not dialled a second time because the first claim got no answer', () => {
    const claimed = claim(waiting, 'mine', NOW).next ?? waiting;
    expect(claim(claimed, 'mine', NOW + 1)).toEqual({ action: 'claimed' });
    expect(claim(claimed, 'another', NOW + 1).action).toBe('nothing');
  });

  it('has an unclear call request sent again, then waited for, and only then counted as unknown', () => {
    let recipient = claim(waiting, 'first', NOW).next ?? waiting;
    const seen: string[] = [];
    for (let now = NOW; recipient.state === 'dialling'; now += 1_000) {
      const { action, next } = lookAfter(recipient, rules, now);
      recipient = next ?? recipient;
      if (action !== 'nothing') seen.push(action);
      if (action === 'resend') {
        recipient =
          notPlaced(recipient, 'first', { kind: 'unclear', reason: 'no answer in time' }, NOW, now).next ?? recipient;
      }
    }
    expect(seen).toEqual(['resend', 'resend', 'ended']);
    expect(recipient).toMatchObject({
      state: 'waiting',
      attempts: [{ outcome: 'unknown', reason: 'no answer in time', isLost: true }],
    });
  });

  it('does not pay with an attempt for one that got lost, but is not dialled for ever', () => {
    const lost = { outcome: 'unknown', reason: 'so', isLost: true } as const;
    let recipient = waiting;
    const endedAs = (outcome: 'busy' | 'unknown', id: string, now: number) =>
      ended(
        calling(recipient, id, now),
        id,
        callId,
        { ...(outcome === 'busy' ? { outcome } : lost), endedAt: now },
        rules,
        now,
      ).next ?? recipient;
    for (const [index, outcome] of (['busy', 'unknown', 'busy', 'unknown'] as const).entries()) {
      recipient = endedAs(outcome, `attempt-${index}`, NOW + index * 70_000);
      expect(recipient.state).toBe('waiting');
    }
    const third = endedAs('busy', 'last', NOW + 280_000);
    expect(third).toMatchObject({ state: 'not_reached', attempts: [{}, { isLost: true }, {}, { isLost: true }, {}] });

    recipient = waiting;
    let dialled = 0;
    for (; recipient.state === 'waiting'; dialled += 1) {
      recipient = endedAs('unknown', `lost-${dialled}`, NOW + dialled * 70_000);
    }
    expect([dialled, recipient.state]).toEqual([2 * rules.attempts, 'not_reached']);
  });

  it('who declined is not dialled again, although that was lost at first', () => {
    const lost = { outcome: 'unknown', reason: 'so', endedAt: NOW + 5_000, isLost: true } as const;
    const redial = ended(calling(), 'first', callId, lost, rules, NOW + 5_000).next ?? waiting;
    expect(ended(redial, 'first', callId, lost, rules, NOW + 6_000).next).toBeUndefined();
    expect(end(redial, 'declined', NOW + 6_000)).toMatchObject({
      state: 'not_reached',
      attempts: [{ outcome: 'declined', isLost: undefined }],
    });
    // Once somebody is dialled again, that attempt decides.
    expect(end(calling(redial, 'second', NOW + 70_000), 'declined', NOW + 71_000)).toBeUndefined();
  });

  it('heard, whatever becomes of a further call that was under way when that became known', () => {
    const second = (news: 'before' | 'never') => {
      const redial = calling(end(calling(), 'unknown', NOW + 5_000), 'second', NOW + 70_000);
      return news === 'before' ? (end(redial, 'heard', NOW + 71_000) ?? redial) : redial;
    };
    expect(end(second('never'), 'no_answer', NOW + 80_000, 'second')).toMatchObject({ state: 'waiting' });
    for (const outcome of ['no_answer', 'declined', 'refused', 'throttled', 'unknown'] as const) {
      expect(end(second('before'), outcome, NOW + 80_000, 'second'), outcome).toMatchObject({ state: 'heard' });
    }
    const redial = end(calling(), 'unknown', NOW + 5_000) ?? waiting;
    const dialling = claim(redial, 'second', NOW + 70_000).next ?? redial;
    const known = end(dialling, 'heard', NOW + 71_000) ?? dialling;
    for (const kind of ['passing', 'refused'] as const) {
      const { next } = notPlaced(known, 'second', { kind, reason: 'throttled' }, NOW, NOW + 72_000);
      expect(next, kind).toMatchObject({ state: 'heard' });
    }
    // Nor is the call request sent again.
    expect(lookAfter(known, rules, NOW + 70_000 + DIAL_LEASE_MS).action).toBe('nothing');
  });

  it('is waited for as long as a call can ring whose request was sent again late', () => {
    const claimed = claim(waiting, 'first', NOW).next ?? waiting;
    const late = NOW + 100_000;
    const resent = lookAfter({ ...claimed, dueAt: late }, rules, late);
    expect(resent.action).toBe('resend');
    const after = (now: number) => lookAfter({ ...(resent.next ?? claimed), dueAt: now }, rules, now).action;
    expect(after(late + UNCLEAR_MS - 1)).toBe('nothing');
    expect(after(late + UNCLEAR_MS)).toBe('ended');
  });

  it('is not dialled again where better news of an ended attempt comes in time', () => {
    const redial = end(calling(), 'unknown', NOW + 5_000);
    const better = redial && end(redial, 'heard', NOW + 6_000);
    expect(better).toMatchObject({ state: 'heard', attempts: [{ outcome: 'heard' }] });
    expect(better?.dueAt).toBeUndefined();
  });

  it('who answers after all is not dialled while the message is spoken', () => {
    const redial = end(calling(), 'no_answer', NOW + 5_000) ?? waiting;
    const revived = answered(redial, 'first', callId, NOW + 50_000);
    expect(revived).toMatchObject({ action: 'owned', next: { state: 'calling', attempts: [{ callId }] } });
    expect(revived.next?.attempts[0]?.outcome).toBeUndefined();
    expect(claim(revived.next ?? redial, 'second', NOW + 70_000).action).toBe('nothing');
    expect(answered(redial, 'made up', callId, NOW)).toEqual({ action: 'unknown attempt' });
  });

  it('whose number is masked already is not dialled again', () => {
    const masked = { ...calling(), number: maskPhoneNumber(number) };
    expect(end(masked, 'busy', NOW + 5_000)).toMatchObject({ state: 'not_reached' });
  });
});

/** What the world does to one recipient. The network decides what becomes of a call; instances may die between any two steps. */
type Happening =
  | { readonly kind: 'time'; readonly ms: number }
  | { readonly kind: 'dial' | 'not placed' | 'send' | 'write answer' | 'look' | 'connected' | 'written end' }
  | { readonly kind: 'end'; readonly outcome: (typeof OUTCOMES)[number] | 'throttled' };

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('time' as const), ms: fc.integer({ min: 0, max: 90_000 }) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'dial' as const,
        'not placed' as const,
        'send' as const,
        'write answer' as const,
        'look' as const,
        'connected' as const,
        'written end' as const,
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      outcome: fc.constantFrom(...OUTCOMES, 'throttled' as const),
    }),
  },
);

describe('a recipient, whatever happens, is repeated, is lost, or dies in between,', () => {
  it('is never forgotten, has one attempt at a time, at most so many, and is not dialled once it was known to have heard', () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 60 }), (happenings) => {
        let now = NOW;
        let recipient: Recipient = { ...waiting, dueAt: NOW };
        // What the line has: for each request the call that it made of it, once.
        const sent = new Set<string>();
        let ids = 0;
        let wasHeard = false;
        const take = (next: Recipient | undefined) => {
          if (next === undefined) return;
          // Nobody is forgotten: whoever is not final is due at some time.
          expect(isFinal(next) || next.dueAt !== undefined).toBe(true);
          expect(!isFinal(next) || next.dueAt === undefined).toBe(true);
          // One attempt at a time.
          expect(next.attempts.slice(0, -1).every(({ outcome }) => outcome !== undefined)).toBe(true);
          expect(next.attempts.filter(({ isLost }) => isLost !== true).length).toBeLessThanOrEqual(rules.attempts);
          expect(next.attempts.length).toBeLessThanOrEqual(2 * rules.attempts);
          const isDialled = next.attempts.length > recipient.attempts.length && next.state === 'dialling';
          expect(isDialled && wasHeard).toBe(false);
          recipient = next;
          wasHeard ||= next.state === 'heard';
        };
        for (const each of happenings) {
          const attempt = recipient.attempts.at(-1);
          switch (each.kind) {
            case 'time':
              now += each.ms;
              break;
            case 'dial':
              ids += 1;
              take(claim(recipient, `attempt-${ids}`, now).next);
              break;
            case 'send':
              if (recipient.state === 'dialling' && attempt !== undefined) sent.add(attempt.id);
              break;
            case 'not placed': {
              const why = { kind: sent.has(attempt?.id ?? '') ? 'unclear' : 'passing', reason: 'throttled' } as const;
              if (attempt !== undefined) take(notPlaced(recipient, attempt.id, why, NOW, now).next);
              break;
            }
            case 'write answer':
              if (attempt !== undefined && sent.has(attempt.id)) take(placed(recipient, attempt.id, callId, now).next);
              break;
            case 'look':
              take(lookAfter(recipient, rules, now).next);
              break;
            case 'connected':
              if (attempt !== undefined && sent.has(attempt.id))
                take(answered(recipient, attempt.id, callId, now + 40_000).next);
              break;
            case 'written end': {
              const current = currentAttempt(recipient);
              if (current !== undefined) take(stillCalling(recipient, current.id, now + 10_000).next);
              break;
            }
            case 'end':
              if (attempt !== undefined && sent.has(attempt.id)) take(end(recipient, each.outcome, now, attempt.id));
          }
        }
        // From wherever that is, looking at what is due when it is due comes to an end.
        for (let rounds = 0; !isFinal(recipient) && rounds < 100; rounds += 1) {
          now = Math.max(now, recipient.dueAt ?? now);
          ids += 1;
          if (recipient.state === 'waiting') take(claim(recipient, `attempt-${ids}`, now).next);
          else if (recipient.state === 'dialling') take(lookAfter(recipient, rules, now).next);
          else take(end(recipient, 'no_answer', now, recipient.attempts.at(-1)?.id));
        }
        expect(isFinal(recipient)).toBe(true);
      }),
      { numRuns: 600 },
    );
  });

  it('changes nothing when the same is taken down twice', () => {
    const once: Attempt | undefined = end(calling(), 'busy', NOW + 5_000)?.attempts[0];
    const after = end(calling(), 'busy', NOW + 5_000) ?? waiting;
    expect(once?.outcome).toBe('busy');
    expect(end(after, 'busy', NOW + 9_000)).toBeUndefined();
    expect(placed(calling(), 'first', callId, NOW + 1).next).toBeUndefined();
    expect(lookAfter(calling(), rules, NOW + DIAL_LEASE_MS).next).toBeUndefined();
  });
});
