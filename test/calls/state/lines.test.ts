import { describe, expect, it } from 'vitest';

import { alertTypeOf } from '../../../src/calls/model/alert-types.ts';
import type { AttemptEvent } from '../../../src/calls/state/attempt.ts';
import {
  busyWithOthers,
  type Lines,
  linesAfter,
  NO_LINES,
  queueOf,
  withReleased,
} from '../../../src/calls/state/lines.ts';
import { type Documents, type NotificationEvent, step } from '../../../src/calls/state/step.ts';
import {
  at,
  callees,
  completed,
  connected,
  created,
  hungUp,
  must,
  newCase,
  notPlaced,
  placed,
  POLICY,
  RULES,
  START,
} from '../new-case.ts';

const MIDNIGHT = Date.parse('2026-11-22T00:00:00Z');
const MAX_ATTEMPT_MS = 730_000;

const fire = newCase(START, { alertType: alertTypeOf('ConfirmedFire'), waves: [callees(2)] });
const one = newCase(START, { alertType: alertTypeOf('ConfirmedFire') });

/** An event of the call of the first attempt. */
const call = (event: AttemptEvent): NotificationEvent => ({ kind: 'call', index: 0, attemptId: 'a', event });
const claim: NotificationEvent = { kind: 'claim', others: [] };

/** A notification and the lines after events, a second apart. The attempts are a, b, c … */
const after = (
  events: readonly NotificationEvent[],
  lines: Lines = NO_LINES,
  live = one,
  policy = POLICY,
  from = START,
): Documents => {
  let ids = 'abcdefghij';
  const newId = (): string => {
    const id = ids.slice(0, 1);
    ids = ids.slice(1);
    return id;
  };
  return events.reduce<Documents>(
    (before, event, nth) => step(before, event, { policy, newId }, at(from + nth * 1_000)),
    { live, lines },
  );
};

/** The same after the claim and the events of its call. */
const called = (events: readonly AttemptEvent[], lines?: Lines): Documents =>
  after([claim, ...events.map(call)], lines);

const slots = ({ lines }: { readonly lines: Lines }) =>
  lines.slots.map(({ attempt, until }) => `${attempt} until ${until - START}`);

describe('a slot', () => {
  it('is taken by a claim for the longest time that a call can last, one for each recipient whose turn it is', () => {
    const claimed = after([claim], NO_LINES, fire);
    expect(slots(claimed)).toEqual([`a until ${MAX_ATTEMPT_MS}`, `b until ${MAX_ATTEMPT_MS}`]);
    expect(claimed.lines.slots[0]).toMatchObject({ who: `${fire.notification.id}/0` });
    expect(claimed.lines.day).toEqual({ day: '2026-11-21', calls: 2 });
    const full = after([claim], NO_LINES, fire, { ...POLICY, rules: { ...RULES, callsAtOnce: 1 } });
    expect(slots(full)).toHaveLength(1);
    const others = queueOf(newCase(START - 1, { alertType: alertTypeOf('ConfirmedFire'), waves: [callees(2, 50)] }));
    expect(slots(after([{ kind: 'claim', others }], NO_LINES, fire))).toEqual([]);
  });

  it.each<[what: string, events: readonly AttemptEvent[], until: number[]]>([
    ['stays while the phone rings and while the callee listens', [placed, connected], [MAX_ATTEMPT_MS]],
    ['is kept for 60 s when the hang-up begins', [connected, completed], [62_000]],
    ['is kept 1.5 s after the end', [placed, created('busy')], [3_500]],
    ['also after the hang-up', [connected, completed, hungUp], [4_500]],
    ['is free at once if no call was placed', [notPlaced('capacity')], []],
  ])('%s', (_, events, until) => {
    expect(called(events).lines.slots.map((slot) => slot.until - START)).toEqual(until);
  });

  it('moves when an attempt begins to hang up or ends: only then the lines are written, even if they do not have it', () => {
    const [claimed, answered, ending] = [[], [connected], [connected, completed]].map((events) => called(events).live);
    /** By lines that are older than the slot. */
    const moves = (before = claimed, later = answered) =>
      linesAfter(NO_LINES, { before: must(before), after: must(later) }, START) !== NO_LINES;
    expect([moves(), moves(answered, ending), moves(ending, ending)]).toEqual([false, true, false]);
  });

  it('of an attempt is released 1.5 s after its end is heard of', () => {
    const { lines } = after([claim]);
    expect(withReleased(lines, 'a', START + 5).slots[0]?.until).toBe(START + 1_505);
    expect(withReleased(lines, 'other', START)).toEqual(lines);
  });

  it('that is over goes with the next claim', () => {
    const { lines } = called([notPlaced('refused')]);
    expect(slots(after([claim], lines, newCase(START + 1), POLICY, START + 60_000))).toEqual(['a until 790000']);
  });
});

describe('pauses and the calls of the day', () => {
  it.each<[what: string, AttemptEvent, expected: object, before?: Partial<Lines>]>([
    ['a call that was not placed is none of the day', notPlaced('capacity'), { day: { calls: 0 } }],
    ['a refusal pauses', notPlaced('capacity', 9_000), { pauseUntil: START + 10_000, refusals: 1 }],
    ['a fault of our set-up, too', notPlaced('set_up'), { fault: { reason: 'set_up' } }],
    ['an accepted call ends the pause', placed, { pauseUntil: undefined }, { pauseUntil: START, refusals: 2 }],
    ['and the alarm of the check', connected, { check: { at: START + 1_000 } }, { check: { at: START, reason: 'x' } }],
  ])('%s', (_, event, expected, before) => {
    expect(called([event], { ...NO_LINES, ...before }).lines).toMatchObject(expected);
  });

  it('who is over the limit of the day waits until midnight, and takes no line', () => {
    const used = { ...NO_LINES, day: { day: '2026-11-21', calls: 100 } };
    const { live, lines } = after([claim], used, newCase(MIDNIGHT - 60_000), POLICY, MIDNIGHT - 60_000);
    expect(live.recipients).toMatchObject([{ state: 'waiting', dueAt: MIDNIGHT, isOverDayLimit: true }]);
    expect(lines).toBe(used);
  });
});

it('tells how many phones of a notification are busy with others', () => {
  const { lines } = after([claim]);
  const other = newCase(START + 1, { waves: [callees(2)] });
  expect([busyWithOthers(other, lines, START), busyWithOthers(one, lines, START)]).toEqual([1, 0]);
  expect(busyWithOthers(other, lines, START + MAX_ATTEMPT_MS)).toBe(0);
});
