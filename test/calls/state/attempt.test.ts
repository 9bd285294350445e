import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { parseCallId, type PromptNumber } from '../../../src/calls/model/ids.ts';
import type { CallResult } from '../../../src/calls/model/phone-provider.ts';
import {
  type Attempt,
  type AttemptEvent,
  type CallTerms,
  checkAtOf,
  isLive,
  talkOf,
} from '../../../src/calls/state/attempt.ts';
import { moveAttempt } from '../../../src/calls/state/move-attempt.ts';
import { actionsOf } from '../../../src/calls/state/step.ts';
import {
  at,
  CALL_ID as callId,
  calling,
  CLAIMED,
  completed,
  connected,
  created,
  disconnected,
  hungUp,
  key,
  must,
  newCase,
  notPlaced,
  placed,
  START,
  started,
} from '../new-case.ts';

const otherId = must(parseCallId('call-2'));
const TERMS: CallTerms = {
  provider: { name: 'acs', isIdempotent: true, speaksByItself: false },
  confirm: false,
  isStopped: false,
  deadlineAt: START + 1_800_000,
  ringMs: 60_000,
  unitMs: 7_000,
  messageMs: 40_000,
};
const CONFIRM: Partial<CallTerms> = { confirm: true };
const STOPPED: Partial<CallTerms> = { isStopped: true };
/** A provider that may act twice for a request. The message goes with the request. */
const CAREFUL: Partial<CallTerms> = { provider: { name: 'acs', isIdempotent: false, speaksByItself: true } };
/** Events in order. A number is the time of the next events, in seconds since the claim. */
type History = readonly (number | AttemptEvent)[];

const before = newCase(START);

const stateOf = (attempt: Attempt | 'not made'): string => (attempt === 'not made' ? attempt : attempt.state);

/** The attempt after these events, and the actions that their commits claimed. */
const play = (history: History, more: Partial<CallTerms> = {}, from: Attempt = CLAIMED) => {
  const terms = { ...TERMS, ...more };
  let attempt: Attempt | 'not made' = from;
  let seconds = 0;
  const actions: string[] = [];
  for (const [nth, step] of history.entries()) {
    if (typeof step === 'number') {
      seconds = step;
      continue;
    }
    if (attempt === 'not made') throw new Error('there is no attempt any more');
    const commit = `commit ${nth}`;
    attempt = moveAttempt(attempt, step, terms, at(START + seconds * 1_000, commit));
    if (attempt === 'not made') continue;
    const talk = talkOf(attempt);
    for (const { kind } of actionsOf(calling(before, 0, attempt), commit))
      actions.push(kind === 'speak' ? `speak ${talk?.prompt.number}` : kind);
  }
  return { attempt, actions: actions.join(', ') };
};

const attemptAfter = (history: History, more: Partial<CallTerms> = {}): Attempt => {
  const { attempt } = play(history, more);
  if (attempt === 'not made') throw new Error('there is no attempt any more');
  return attempt;
};

const canceled: AttemptEvent = { kind: 'play canceled', callId, result: {} };
const noKey: AttemptEvent = { kind: 'no key' };
const gone: AttemptEvent = { kind: 'gone' };
const check: AttemptEvent = { kind: 'check' };
const [one, two, three] = [key('1', 1), key('2', 2), key('3', 3)];
type Failure = CallResult['failure'];
const unanswered = notPlaced('unanswered');
const over = (prompt: PromptNumber): AttemptEvent => ({ kind: 'play completed', callId, result: {}, prompt });
/** The events of a prompt. */
const of = (prompt: PromptNumber) => ({
  accepted: { kind: 'prompt accepted', prompt } as const satisfies AttemptEvent,
  failed: { kind: 'play failed', callId, result: {}, prompt } as const satisfies AttemptEvent,
  not: (failure: Failure) => ({ kind: 'not spoken', result: { failure }, prompt }) as const satisfies AttemptEvent,
});
const [message, again, second, thanked] = [of(0), of(1), of(2), of(9)];
const { accepted } = message;

describe('an attempt is over with its outcome', () => {
  it.each<[outcome: string, what: string, History, terms?: Partial<CallTerms>]>([
    ['heard', 'a good call', [0, placed, 9, connected, accepted, started, 25, completed, 26, hungUp]],
    ['heard', 'with events before the answer', [1, connected, 2, placed, started, 9, completed, hungUp]],
    ['heard', 'if that is reported after the end', [0, placed, 5, connected, 25, disconnected, 30, completed]],
    ['unknown', 'if nobody had asked for what was spoken', [0, placed, 5, started, 6, completed, hungUp]],
    ['unknown', 'without a report of its start', [0, placed, 5, connected, accepted, 60, disconnected]],
    ['unknown', 'if the message failed', [0, placed, 5, connected, 6, started, 9, message.failed, hungUp]],
    ['unknown', 'if the provider refuses to speak', [0, placed, 5, connected, message.not('no_speech'), hungUp]],
    ['busy', 'with a reason after the end', [0, placed, 5, disconnected, 6, created('busy')]],
    ['refused', 'and the first reason stays', [0, placed, created('refused'), created('busy'), disconnected]],
    ['refused', 'as the answer to the request', [0, notPlaced('refused')]],
    ['no_answer', 'if it rang for long enough', [0, placed, 60, check, 61, hungUp, created('declined')]],
    ['no_answer', 'also if the end is reported first', [0, placed, 60, check, created('declined')]],
    ['stopped', 'if it rang at a stop', [0, placed, hungUp], STOPPED],
    ['stopped', 'if it was answered at a stop', [0, connected, disconnected], STOPPED],
    ['heard', 'if it was spoken to at a stop', [0, placed, connected, started, check, completed, hungUp]],
    ['heard', 'if its answer was not reported', [0, placed, 20, completed, hungUp], CAREFUL],
    [
      'cut_short',
      'if it was answered before it was hung up',
      [0, placed, 60, check, connected, 70, disconnected],
      CAREFUL,
    ],
    ['unknown', 'after an end without a reason', [0, placed, 5, disconnected, 10, check]],
    ['unknown', 'if nothing is ever heard of it', [25, check, 50, check, 75, check, 195, check]],
  ])('%s, %s', (outcome, _, history, terms) => {
    expect(play(history, terms).attempt).toMatchObject({ state: 'over', outcome });
  });

  it.each([
    [6.999, false],
    [7, true],
  ])('cut short after %d s: a whole unit was spoken: %s', (seconds, hasHeardUnit) => {
    const history = [0, placed, 5, connected, 10, started, 10 + seconds] as const;
    const heard = { outcome: 'cut_short', hasHeardUnit };
    expect(attemptAfter([...history, disconnected])).toMatchObject(heard);
    // The service hangs up, and has stopped to speak before.
    expect(attemptAfter([...history, canceled, 30, hungUp])).toMatchObject(heard);
    // The provider knows better how long the callee listened.
    const told: AttemptEvent = { kind: 'disconnected', callId, result: {}, connectedMs: 5_000 + seconds * 1_000 };
    const endedAt = START + 10_000 + seconds * 1_000;
    expect(attemptAfter([0, placed, 5, connected, 10, started, 40, told])).toMatchObject({ ...heard, endedAt });
  });

  it('no call was placed: there was no attempt', () => {
    for (const failure of ['capacity', 'unreachable', 'set_up'] as const) {
      const ended: AttemptEvent = { kind: 'disconnected', callId, result: { failure } };
      for (const event of [notPlaced(failure), created(failure), ended]) expect(play([event]).attempt).toBe('not made');
      expect(play([connected, created(failure)]).attempt).toMatchObject({ outcome: 'unknown' });
    }
  });
});

describe('a key', () => {
  it.each<[outcome: string, what: string, History]>([
    ['confirmed', 'and the callee hangs up at once', [5, connected, 6, started, one, disconnected]],
    ['confirmed', 'after the hang-up was asked for', [5, connected, started, 25, completed, 33, noKey, one, hungUp]],
    ['confirmed', 'after the end', [5, connected, started, 25, completed, 33, noKey, hungUp, 35, one]],
    ['confirmed', 'while storage could not be used', [5, one, 6, disconnected]],
    ['confirmed', '1 long after 3', [5, connected, three, disconnected, 90, one]],
    ['confirmed', '1 before 3', [5, connected, one, three, disconnected]],
    ['cannot_go', '3 after the end', [5, connected, started, completed, 13, noKey, hungUp, 35, three]],
    ['unconfirmed', 'none', [5, connected, started, 25, completed, 33, noKey, hungUp]],
    ['unconfirmed', '9', [5, connected, started, key('9'), 25, completed, 33, noKey, hungUp]],
    ['cut_short', 'no telephone has', [5, connected, started, { kind: 'tone received', callId }, disconnected]],
  ])('%s: %s', (outcome, _, history) => {
    expect(play([0, placed, ...history], CONFIRM).attempt).toMatchObject({ state: 'over', outcome });
  });

  it('counts for nothing where none is asked for', () => {
    expect(attemptAfter([0, placed, connected, started, one, disconnected])).toMatchObject({ outcome: 'cut_short' });
  });

  it.each<[actions: string, what: string, History]>([
    ['wait for keys, hang up', 'none', [25, completed, 32.999, noKey, 33, noKey]],
    ['wait for keys, hang up', 'none; the instance that waits has died', [25, completed, 33.999, check, 34, check]],
    ['speak 9, hang up', '1', [7, one, canceled, completed, 9, over(9), canceled]],
    ['speak 9', '1 twice, 2 and 3', [7, one, one, key('1', 4), two, three]],
    ['wait for keys, speak 9', '1 after the last word', [25, completed, 30, one, 33, noKey]],
    ['speak 9, hang up', '1; nothing is known of the goodbye', [7, one, thanked.not('unanswered'), 11.5, check]],
    ['speak 9, hang up', '1; the instance that speaks has died', [7, one, 27, check]],
    ['speak 9', '1; the callee has gone', [7, one, thanked.not('gone')]],
    ['speak 8, hang up', '3', [7, three, canceled, 9, over(8)]],
    ['speak 8, speak 9, hang up', '3, then 1', [7, three, one, over(8), 9, over(9)]],
    ['speak 1, wait for keys, hang up', '2', [7, two, canceled, again.accepted, 30, over(1), 38, noKey]],
    ['speak 1', '2, which is reported twice', [7, two, two]],
    ['speak 1, speak 2', '2 three times', [7, two, two, key('2', 3), key('2', 4)]],
    ['wait for keys, speak 1', '2 while keys are waited for', [25, completed, 30, two, 33, noKey]],
    ['speak 1, hang up', '2, and it is refused', [7, two, again.not('rejected')]],
    ['speak 1, hang up', '2, and it fails', [7, two, again.failed]],
    ['speak 1, speak 2, hang up', '2, for too long', [200, two, 230, key('2', 3), second.accepted, 255, check]],
  ])('leads to: %s (%s)', (actions, _, history) => {
    expect(play([0, placed, 5, connected, 6, started, ...history], CONFIRM).actions).toBe(`speak 0, ${actions}`);
  });
});

describe('what must be done', () => {
  const ringsToo: AttemptEvent = { kind: 'ringing', callId: otherId };

  it.each<[actions: string, what: string, History, terms?: Partial<CallTerms>]>([
    ['speak 0, hang up', 'all is told twice', [0, placed, connected, connected, started, 25, completed, completed]],
    ['', 'an answer is reported after the end', [0, placed, 4, created('busy'), 5, connected]],
    ['speak 0, speak 0', 'the instance that speaks has died', [5, connected, 24.999, check, 25, check]],
    ['speak 0, speak 0, hang up', 'so has the second', [5, connected, 25, check, 45, check]],
    ['speak 0', 'an unclear speech starts', [5, connected, 15, message.not('unanswered'), started, 20, check]],
    ['speak 0, hang up', 'it does not', [5, connected, 15, message.not('unanswered'), 19.499, check, 19.5, check]],
    ['speak 0, hang up', 'the end of the message is not told', [5, connected, 6, started, 45.999, check, 46, check]],
    ['hang up', 'nothing but its id is heard of a call', [5, started, 25, check, 84.999, check, 85, check]],
    ['hang up, hang up', 'a hang-up is not answered', [0, placed, 60, check, 79.999, check, 80, check]],
    ['hang up, hang up', 'a second call rings after the hang-up', [0, placed, 60, check, ringsToo]],
    ['hang up, hang up', 'it rings after the end', [0, placed, 60, check, hungUp, ringsToo]],
    ['hang up', 'somebody answers after a stop', [5, connected], STOPPED],
    ['hang up', 'a call that speaks by itself is over', [0, placed, connected, started, 9, completed], CAREFUL],
    ['hang up', 'it has asked for a key', [0, placed, connected, 9, completed], { ...CAREFUL, ...CONFIRM }],
    ['hang up', 'it has said goodbye', [0, placed, connected, one, 9, over(9)], { ...CAREFUL, ...CONFIRM }],
  ])('%s, where %s', (actions, _, history, terms) => {
    expect(play(history, terms).actions).toBe(actions);
  });

  it('a call that speaks by itself and is answered at the moment of a stop speaks to the end', () => {
    const { attempt } = play([0, placed, 1, connected, 20, completed, hungUp], { ...CAREFUL, ...STOPPED });
    expect(attempt).toMatchObject({ state: 'over', outcome: 'heard' });
  });

  it('a call that speaks by itself and was answered at the moment of its hang-up stays open after a key', () => {
    for (const pressed of [one, two, three]) {
      const { attempt } = play([0, placed, 60, check, hungUp, 70, pressed, 80, check], { ...CAREFUL, ...CONFIRM });
      expect(attempt).toMatchObject({ state: 'speaking' });
    }
  });

  it('the provider is asked to hang up for ten minutes', () => {
    const history = [0, placed, 60, check] as const;
    expect(play([...history, 659.999, check]).actions).toBe('hang up, hang up');
    expect(play([...history, 660, check])).toMatchObject({ attempt: { state: 'over' }, actions: 'hang up' });
  });

  it('the end of one of two calls is not the end of the attempt', () => {
    const twoCalls = [0, placed, ringsToo, 5, created('busy')] as const;
    expect(play(twoCalls).attempt).toMatchObject({ state: 'ringing', endedIds: [callId] });
    // An answer of the call that has ended is late.
    expect(play([...twoCalls, connected]).attempt).toMatchObject({ state: 'ringing' });
    const other: AttemptEvent = { kind: 'create failed', callId: otherId, result: { failure: 'declined' } };
    expect(attemptAfter([...twoCalls, other])).toMatchObject({ state: 'over', outcome: 'declined' });
  });

  it('an attempt of another provider than the present one ends', () => {
    const { attempt } = play([1, placed, 2, check], {}, { ...CLAIMED, provider: 'another' });
    expect(attempt).toMatchObject({ outcome: 'unknown', reason: 'the phone service was changed meanwhile' });
  });
});

const ringing: AttemptEvent = { kind: 'ringing', callId };
const sentAgain: History = [10, unanswered, 20, check];
const DUE = { deadlineAt: START + 25_000 };

it.each<[state: string, actions: string, what: string, History, terms?: Partial<CallTerms>]>([
  ['claimed', '', 'not sent again before ten seconds', [10, unanswered, 19.999, check]],
  ['claimed', 'dial', 'sent again then', [10, unanswered, 20, check]],
  ['claimed', '', 'not sent again while its instance may live', [24.999, check]],
  ['claimed', 'dial', 'sent again when it has died', [25, check, 49.999, check]],
  ['claimed', 'dial, dial', 'sent again twice', [25, check, 50, check, 75, check]],
  ['claimed', 'dial', 'sent again within 115 s', [114.999, check]],
  ['claimed', '', 'not sent again after that: its phone may have rung', [115, check]],
  ['claimed', 'dial', 'sent again before the deadline', [25, check], { deadlineAt: START + 25_001 }],
  ['claimed', '', 'not sent again after the deadline', [25, check], DUE],
  ['claimed', '', 'not sent again after a stop', [25, check], STOPPED],
  ['claimed', '', 'waiting for news until it can neither ring nor be answered', [115, check, 144.999, check]],
  ['over', '', 'over after 145 s', [115, check, 145, check]],
  ['claimed', 'dial', 'not over by a refusal of the second one', [25, check, notPlaced('capacity')]],
  ['claimed', 'dial', 'with a code that nobody knows', [25, check, notPlaced('rejected')]],
  [
    'over',
    'dial',
    'over if its number cannot be called: no request has placed a call',
    [25, check, notPlaced('refused')],
  ],
  ['claimed', 'dial', 'sent again once by a provider that may act twice', [...sentAgain, 45, check], CAREFUL],
  ['claimed', 'dial', 'and not over by a refusal then', [...sentAgain, 21, notPlaced('capacity')], CAREFUL],
  ['ringing', '', 'known by an event', [10, unanswered, 12, ringing, 20, check], CAREFUL],
])('a call request without an answer is %s, after “%s”: %s', (state, actions, _, history, terms) => {
  const played = play(history, terms);
  expect([stateOf(played.attempt), played.actions]).toEqual([state, actions]);
});

/** The end of a call of Twilio that was connected for a time. */
const endAfter = (connectedMs: number): AttemptEvent => ({ kind: 'disconnected', callId, result: {}, connectedMs });

describe('reports out of order', () => {
  it.each<[what: string, History, expected: object, terms?: Partial<CallTerms>]>([
    ['no answer, then an answer', [9, created('no_answer'), 10, connected, 40, check], { outcome: 'no_answer' }],
    ['an answer, then “not found”', [9, connected, created('refused')], { outcome: 'refused' }],
    [
      'an end after 2 s, then the answer',
      [9, endAfter(2_000), connected],
      { outcome: 'cut_short', hasHeardUnit: false },
    ],
    [
      'an end after 7 s, then the answer',
      [9, endAfter(7_000), connected],
      { outcome: 'cut_short', hasHeardUnit: true },
    ],
    ['an end of unknown duration, then the answer', [9, disconnected, connected], { outcome: 'unknown' }],
    ['the end of the message after the end', [5, connected, 25, disconnected, 26, completed], { outcome: 'heard' }],
  ])('of a call that speaks by itself: %s', (_, history, expected) => {
    expect(play([0, placed, ...history], CAREFUL).attempt).toMatchObject({ state: 'over', ...expected });
  });

  it('an answered call that the provider does not report to have ended is not heard of longer than it is', () => {
    expect(play([0, placed, 9, disconnected, connected]).attempt).toMatchObject({ outcome: 'unknown' });
    expect(play([0, placed, 9, endAfter(9_000), connected]).attempt).toMatchObject({ outcome: 'unknown' });
  });
});

describe('a hang-up of a call that is gone', () => {
  it.each<[outcome: string, what: string, History, terms?: Partial<CallTerms>]>([
    ['unknown', 'if the end of the message was not reported', [connected, started, 60, check, gone]],
    ['heard', 'if the message had completed', [connected, started, 20, completed, gone]],
    ['cut_short', 'if the end of its prompt was reported before a unit', [connected, started, 6.999, canceled, gone]],
    ['cut_short', 'if its end is reported, too', [connected, started, 20, canceled, gone, 24, disconnected]],
    ['unknown', 'if only the end of its prompt is reported', [connected, started, 20, canceled, gone, 25, check]],
    ['confirmed', 'if a key was pressed', [connected, started, one, 60, check, gone], CONFIRM],
    ['no_answer', 'if it never connected', [60, check, gone]],
    ['stopped', 'if it was stopped while it rang', [gone], STOPPED],
  ])('%s %s', (outcome, _, history, terms) => {
    expect(play([0, placed, ...history], terms).attempt).toMatchObject({ state: 'over', outcome });
  });
});

it('a second call of an attempt that is over is hung up until that is answered, for ten minutes', () => {
  const ended = [0, placed, 4, created('busy'), { kind: 'connected', callId: otherId }] as const satisfies History;
  expect(play(ended)).toMatchObject({ attempt: { outcome: 'busy' }, actions: 'hang up' });
  expect(play([...ended, 23.999, check, 24, check]).actions).toBe('hang up, hang up');
  expect(play([...ended, hungUp, 24, check]).actions).toBe('hang up');
  expect(play([...ended, 604, check, 700, check]).actions).toBe('hang up');
  // A key of the first call does not end that.
  const pressed = play([...ended, key('1'), 24, check], CONFIRM);
  expect(pressed).toMatchObject({ attempt: { outcome: 'confirmed' }, actions: 'hang up, hang up' });
});

it('keys count for five minutes after the end of their call', () => {
  const ended = [0, placed, 5, connected, started, 25, disconnected] as const;
  expect(play([...ended, 325, one], CONFIRM).attempt).toMatchObject({ outcome: 'confirmed' });
  expect(play([...ended, 325.001, one], CONFIRM).attempt).toMatchObject({ outcome: 'cut_short' });
});

it.each<[what: string, seconds: number, History, terms?: Partial<CallTerms>]>([
  ['a call request', 25, []],
  ['the events of an unanswered one', 10, [unanswered]],
  ['somebody to answer', 60, [placed]],
  ['the reason of an end', 5, [placed, disconnected]],
  ['the answer to a request to speak', 20, [connected]],
  ['the start of a message after an unclear answer', 4.5, [connected, message.not('unanswered')]],
  ['the end of a message', 40, [connected, accepted]],
  ['the instance that waits for keys', 9, [connected, accepted, completed], CONFIRM],
  ['the end of any call', 250, [connected, 240, two, again.accepted], CONFIRM],
  ['the answer to a hang-up', 20, [connected, started, completed]],
  ['the end of a call that is gone', 25, [connected, started, 20, canceled, gone]],
  ['the end of a call that was perhaps answered meanwhile', 80, [placed, 60, check, hungUp, completed], CAREFUL],
])('%s is waited for so long: %d s', (_, seconds, history, more) => {
  const attempt = attemptAfter([0, ...history], more);
  expect(((checkAtOf(attempt, { ...TERMS, ...more }) ?? NaN) - START) / 1_000).toBe(seconds);
});

describe('whatever happens in whatever order', () => {
  const event = fc.constantFrom<AttemptEvent>(
    placed, connected, accepted, started, completed, canceled, message.failed, disconnected, hungUp, gone, check, noKey,
    one, two, three, key('2', 4), key('9', 5), again.accepted, over(1), again.not('rejected'), again.not('unanswered'),
    over(2), over(8), over(9), thanked.not('rejected'), { kind: 'ringing', callId: otherId },
    created('busy'), created('declined'), unanswered, message.not('rejected'), message.not('unanswered'),
  ); // prettier-ignore
  const histories = fc
    .array(fc.tuple(fc.nat({ max: 200 }), event), { maxLength: 14 })
    .map((list) => list.toSorted(([first], [later]) => first - later).flat());
  const providers = fc.constantFrom<Partial<CallTerms>>({}, CAREFUL);

  it('a 1 is never lost, and wins over a 3', () => {
    fc.assert(
      fc.property(histories, histories, providers, (earlier, after, provider) => {
        const end = Math.max(0, ...earlier.filter((step) => typeof step === 'number'));
        const later = after.map((step) => (typeof step === 'number' ? end + step : step));
        const terms = { ...CONFIRM, ...provider };
        const ends = [callId, otherId].map((id): AttemptEvent => ({ kind: 'disconnected', callId: id, result: {} }));
        const last = attemptAfter([...earlier, end, one, ...later, 500, ...ends], terms);
        expect(last).toMatchObject({ state: 'over', outcome: 'confirmed' });
      }),
    );
  });

  it('a live attempt that is left alone comes to its end, with an outcome, and asks for nothing then', () => {
    fc.assert(
      fc.property(histories, fc.boolean(), fc.boolean(), providers, (history, confirm, isStopped, provider) => {
        const terms = { ...TERMS, ...provider, confirm, isStopped };
        let attempt = attemptAfter(history, terms);
        const checkAt = () => checkAtOf(attempt, terms);
        for (let checks = 0; checks < 60 && checkAt() !== undefined; checks += 1) {
          const moved = moveAttempt(attempt, check, terms, at(Math.max(checkAt() ?? 0, START)));
          if (moved === 'not made') throw new Error('a check made it undone');
          attempt = moved;
        }
        expect(isLive(attempt)).toBe(false);
        expect(moveAttempt(attempt, check, terms, at(START + 9_000_000))).toBe(attempt);
      }),
    );
  });
});
