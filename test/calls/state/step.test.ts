import { describe, expect, it } from 'vitest';
import { alertTypeOf } from '../../../src/calls/model/alert-types.ts';
import { speakingTimes } from '../../../src/calls/rules/message.ts';
import type { AttemptEvent } from '../../../src/calls/state/attempt.ts';
import type { NotificationCase } from '../../../src/calls/state/notification.ts';
import {
  type CaseEvent,
  type Decision,
  type Lines,
  needsOpenCalls,
  openCallsOf,
  queueOf,
  step,
  termsOf,
  whoOf,
} from '../../../src/calls/state/step.ts';
import * as given from '../new-case.ts';
import { callees, CLAIMED, HOUR, must, newCase, POLICY, RULES, START } from '../new-case.ts';

const MIDNIGHT = Date.parse('2026-11-22T00:00:00Z');

const fire = newCase(START, { alertType: alertTypeOf('ConfirmedFire'), waves: [callees(2)] });
const anomaly = newCase(START, { alertType: alertTypeOf('Anomaly'), waves: [callees(2)] });
/** Another call is open. */
const another = given.calling(newCase(START, { waves: [callees(1, 90)] }), 0, { ...CLAIMED, id: 'other' });
const beside = { ...must(openCallsOf(another, termsOf(fire, POLICY))[0]), acceptedAt: START };

const call = (event: AttemptEvent, attemptId = 'a'): CaseEvent => ({ kind: 'call', index: 0, attemptId, event });
const claim: CaseEvent = { kind: 'claim', index: 0, attemptId: 'a', openThen: 1 };
const [placed, connected] = [call(given.placed), call(given.connected)];
const [busy, declined] = [call(given.created('busy')), call(given.created('declined'))];
const notPlaced = (...why: Parameters<typeof given.notPlaced>) => call(given.notPlaced(...why));

/** The decision after events, a second apart. */
const decided = (
  events: readonly CaseEvent[],
  known: NotificationCase = fire,
  lines: Lines = { queue: {} },
): Decision =>
  events.reduce<Decision>(
    (before, event, index) => {
      const about = { policy: POLICY, lines: before.lines, open: [beside] };
      return step(before.case, event, about, START + index * 1_000);
    },
    { case: known, lines },
  );

const used = (calls: number): Lines => ({ queue: {}, day: { day: '2026-11-21', calls } });

describe('what all instances share', () => {
  const PAUSED: Lines = { queue: { pauseUntil: START + 9_000, refusals: 2 }, check: { at: START, reason: 'x' } };
  const CALM = { pauseUntil: undefined, refusals: undefined };
  const who = whoOf(fire.notification.id, 0);

  it.each<[what: string, events: readonly CaseEvent[], expected: object, before?: Lines]>([
    ['a claim is a call of the day', [claim], { day: { day: '2026-11-21', calls: 1 } }],
    ['so is a redial', [claim, placed, busy, { ...claim, attemptId: 'b' }], { day: { calls: 2 } }],
    ['a call that was not placed is none', [claim, notPlaced('capacity')], used(7), used(7)],
    ['also by our set-up', [claim, notPlaced('set_up')], used(7), used(7)],
    [
      'a refusal pauses all',
      [claim, notPlaced('capacity')],
      { queue: { pauseUntil: START + 2_000, refused: who, sureAt: START + 1_000 } },
    ],
    ['for as long as the line asks', [claim, notPlaced('capacity', 5_000)], { queue: { pauseUntil: START + 6_000 } }],
    ['so does one that did not reach the line', [claim, notPlaced('unreachable')], { queue: { refusals: 1 } }],
    ['a fault of our set-up', [claim, notPlaced('set_up')], { queue: { fault: { until: START + 31_000 } } }],
    ['an accepted call ends the pause', [claim, placed], { queue: CALM, check: { at: START + 1_000 } }, PAUSED],
    ['so does an answered one', [claim, connected], { queue: CALM }, PAUSED],
    ['an ended call settles', [claim, placed, busy], { queue: { ended: [{ isUrgent: true }] } }],
    ['a quick decline is a suspicion', [claim, placed, declined], { queue: { suspects: [{ who, stayed: 1 }] } }],
  ])('%s', (_, events, expected, before) => {
    expect(decided(events, fire, before).lines).toMatchObject(expected);
  });

  it('is the same object where nothing of it changes', () => {
    const before = decided([claim, placed]);
    for (const event of [placed, claim, connected, { kind: 'stop' } as const])
      expect(decided([event], before.case, before.lines).lines).toBe(before.lines);
  });
});

it('an event of an attempt that is not known belongs to another system', () => {
  expect(decided([claim, call(given.connected, 'b')]).isUnknown).toBe(true);
  expect(decided([claim, connected]).isUnknown).toBeUndefined();
});

describe('the calls of the day', () => {
  it('do not suffice: the recipient waits until midnight, or its deadline', () => {
    const late = decided([claim], fire, used(100));
    expect(late).toMatchObject({ isOverDayLimit: true, lines: used(100) });
    expect(late.case.recipients[0]).toMatchObject({ state: 'waiting', dueAt: START + RULES.deadlineMs });
    const long = { ...POLICY, rules: { ...RULES, deadlineMs: 24 * HOUR } };
    const known = newCase(START, {}, { rules: long.rules });
    const { case: next } = step(known, claim, { policy: long, lines: used(100), open: [] }, START);
    expect(next.recipients[0]).toMatchObject({ dueAt: MIDNIGHT });
  });
});

it('a refusal, and a decline that may be one, need the open calls of all notifications', () => {
  expect([notPlaced('capacity'), declined].map(needsOpenCalls)).toEqual([true, true]);
  const others: readonly CaseEvent[] = [busy, placed, { kind: 'stop' }];
  expect(others.some(needsOpenCalls)).toBe(false);
});

const until = (deadlineMs: number) => termsOf(fire, { ...POLICY, rules: { ...RULES, deadlineMs } }).deadlineAt - START;

it('a shorter deadline holds for those who wait already, a longer one does not', () => {
  expect([until(60_000), until(7_200_000)]).toEqual([60_000, RULES.deadlineMs]);
});

it('a unit was surely spoken two seconds after it should be: the clocks of two instances differ', () => {
  const { unitMs, messageMs } = speakingTimes('Ridge Watch', alertTypeOf('ConfirmedFire'));
  expect(termsOf(fire, POLICY)).toMatchObject({ unitMs: unitMs + 2_000, messageMs });
});

it('those who wait are in the queue, by their place in the request; those who are called have an open call', () => {
  const { case: known } = decided([claim, placed]);
  expect(queueOf(known)).toMatchObject([{ index: 1, position: 1, isUrgent: true, queuedAt: START, dueAt: START }]);
  expect(queueOf(anomaly)).toMatchObject([{ position: 0, isUrgent: false }, { position: 1 }]);
  const open = { index: 0, attemptId: 'a', isUrgent: true, claimedAt: START, acceptedAt: START + 1_000 };
  expect(openCallsOf(known, termsOf(known, POLICY))).toMatchObject([{ ...open, isEnding: false }]);
});
