import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCallId, type SpeechNumber } from '../../../src/calls/model/ids.ts';
import type { CallResult } from '../../../src/calls/model/phone-line.ts';
import {
  type Attempt,
  type AttemptEvent,
  type CallTerms,
  checkAtOf,
  heldUntil,
  isLive,
  talkOf,
} from '../../../src/calls/state/attempt.ts';
import { moveAttempt } from '../../../src/calls/state/move-attempt.ts';
import type { NotificationCase } from '../../../src/calls/state/notification.ts';
import { commandsOf } from '../../../src/calls/state/step.ts';
import { callees, newCase } from '../new-case.ts';

const [callId, otherId] = [parseCallId('call-1'), parseCallId('call-2')];
if (callId === undefined || otherId === undefined) throw new Error('malformed');
const START = Date.parse('2026-11-21T08:00:00Z');
const TERMS: CallTerms = {
  line: { name: 'acs', isIdempotent: true, speaksByItself: false },
  confirm: false,
  isStopped: false,
  deadlineAt: START + 1_800_000,
  ringMs: 60_000,
  unitMs: 7_000,
  messageMs: 40_000,
};
const CONFIRM: Partial<CallTerms> = { confirm: true };
const STOPPED: Partial<CallTerms> = { isStopped: true };
/** A line that may act twice for a request. The message goes with the request. */
const CAREFUL: Partial<CallTerms> = { line: { name: 'acs', isIdempotent: false, speaksByItself: true } };
const NEW: Attempt = {
  id: 'a',
  line: 'acs',
  state: 'claimed',
  claimedAt: START,
  openThen: 0,
  callIds: [],
  sent: 1,
  sentAt: START,
  checkAt: START + 25_000,
};

/** Events in order; a number is the time of those after it, in seconds since the claim. */
type History = readonly (number | AttemptEvent)[];

const [{ number } = { number: undefined }] = callees(1);
if (number === undefined) throw new Error('nobody');
const before = newCase(START);
const caseOf = (attempt: Attempt): NotificationCase => ({
  ...before,
  recipients: [{ state: 'calling', number, wave: 1, attempts: [attempt] }],
});

const stateOf = (attempt: Attempt | 'not made'): string => (attempt === 'not made' ? attempt : attempt.state);

/** The attempt after these events, and what had to be done. */
const play = (history: History, more: Partial<CallTerms> = {}, from: Attempt = NEW) => {
  const terms = { ...TERMS, ...more };
  let attempt: Attempt | 'not made' = from;
  let seconds = 0;
  const commands: string[] = [];
  for (const step of history) {
    if (typeof step === 'number') {
      seconds = step;
      continue;
    }
    if (attempt === 'not made') throw new Error('there is no attempt any more');
    const was: Attempt = attempt;
    attempt = moveAttempt(was, step, terms, START + seconds * 1_000);
    if (attempt === 'not made') continue;
    const talk = talkOf(attempt);
    for (const { command } of commandsOf(caseOf(was), caseOf(attempt), terms.line))
      commands.push(command === 'speak' ? `speak ${talk?.speech.number}` : command);
  }
  return { attempt, commands: commands.join(', ') };
};

const attemptAfter = (history: History, more: Partial<CallTerms> = {}): Attempt => {
  const { attempt } = play(history, more);
  if (attempt === 'not made') throw new Error('there is no attempt any more');
  return attempt;
};

const placed: AttemptEvent = { kind: 'placed', callId };
const connected: AttemptEvent = { kind: 'connected', callId };
const started: AttemptEvent = { kind: 'play started', callId };
const canceled: AttemptEvent = { kind: 'play canceled', callId, result: {} };
const disconnected: AttemptEvent = { kind: 'disconnected', callId, result: { code: 200, subCode: 0 } };
const hungUp: AttemptEvent = { kind: 'hung up' };
const noKey: AttemptEvent = { kind: 'no key' };
const notFound: AttemptEvent = { kind: 'not found' };
const look: AttemptEvent = { kind: 'look', mayResend: true };
const key = (name: string, sequence = 1): AttemptEvent => ({
  kind: 'tone received',
  callId,
  key: { key: name, sequence },
});
const [one, two, three] = [key('1', 1), key('2', 2), key('3', 3)];
type Failure = CallResult['failure'];
const created = (failure: Failure): AttemptEvent => ({ kind: 'create failed', callId, result: { failure } });
const notPlaced = (failure: Failure): AttemptEvent => ({ kind: 'not placed', result: { failure } });
const unanswered = notPlaced('unanswered');
/** What becomes of a speech. */
const of = (speech: SpeechNumber) => ({
  accepted: { kind: 'speech accepted', speech } as const satisfies AttemptEvent,
  completed: { kind: 'play completed', callId, result: {}, speech } as const satisfies AttemptEvent,
  failed: { kind: 'play failed', callId, result: {}, speech } as const satisfies AttemptEvent,
  not: (failure: Failure) => ({ kind: 'not spoken', result: { failure }, speech }) as const satisfies AttemptEvent,
});
const [message, again, second, understood, thanked] = [of(0), of(1), of(2), of(8), of(9)];
const { accepted, completed } = message;

describe('an attempt is over with its outcome', () => {
  it.each<[outcome: string, what: string, History, terms?: Partial<CallTerms>]>([
    ['heard', 'a good call', [0, placed, 9, connected, accepted, started, 25, completed, 26, hungUp]],
    ['heard', 'with events before the answer', [1, connected, 2, placed, started, 9, completed, hungUp]],
    ['heard', 'if that is reported after the end', [0, placed, 5, connected, 25, disconnected, 30, completed]],
    ['unknown', 'if nobody had asked for what was spoken', [0, placed, 5, started, 6, completed, hungUp]],
    ['unknown', 'without a report of its start', [0, placed, 5, connected, accepted, 60, disconnected]],
    ['unknown', 'if the message failed', [0, placed, 5, connected, 6, started, 9, message.failed, hungUp]],
    ['unknown', 'if the line refuses to speak', [0, placed, 5, connected, message.not('no_speech'), hungUp]],
    ['busy', 'with a reason after the end', [0, placed, 5, disconnected, 6, created('busy')]],
    ['refused', 'and the first reason stays', [0, placed, created('refused'), created('busy'), disconnected]],
    ['refused', 'as the answer to the request', [0, notPlaced('refused')]],
    ['no_answer', 'if it rang for long enough', [0, placed, 60, look, 61, hungUp, created('declined')]],
    ['no_answer', 'also if the end is reported first', [0, placed, 60, look, created('declined')]],
    ['stopped', 'if it rang at a stop', [0, placed, hungUp], STOPPED],
    ['stopped', 'if it was answered at a stop', [0, connected, disconnected], STOPPED],
    ['heard', 'if it was spoken to at a stop', [0, placed, connected, started, look, completed, hungUp]],
    ['unknown', 'after an end without a reason', [0, placed, 5, disconnected, 10, look]],
    ['unknown', 'if nothing is ever heard of it', [25, look, 50, look, 75, look, 195, look]],
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
    // The line knows better how long somebody listened.
    const told: AttemptEvent = { kind: 'disconnected', callId, result: {}, connectedMs: 5_000 + seconds * 1_000 };
    const endedAt = START + 10_000 + seconds * 1_000;
    expect(attemptAfter([0, placed, 5, connected, 10, started, 40, told])).toMatchObject({ ...heard, endedAt });
  });

  it('no call was placed: there was no attempt', () => {
    for (const failure of ['capacity', 'unreachable', 'set_up'] as const) {
      const ended: AttemptEvent = { kind: 'disconnected', callId, result: { failure } };
      for (const event of [notPlaced(failure), created(failure), ended]) expect(play([event]).attempt).toBe('not made');
      expect(stateOf(play([connected, created(failure)]).attempt)).toBe('speaking');
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

  it.each<[commands: string, what: string, History]>([
    ['wait for keys, hang up', 'none', [25, completed, 32.999, noKey, 33, noKey]],
    ['wait for keys, hang up', 'none; the instance that waits has died', [25, completed, 33.999, look, 34, look]],
    ['speak 9, hang up', '1', [7, one, canceled, completed, 9, thanked.completed, canceled]],
    ['speak 9', '1 twice, 2 and 3', [7, one, one, key('1', 4), two, three]],
    ['wait for keys, speak 9', '1 after the last word', [25, completed, 30, one, 33, noKey]],
    ['speak 9, hang up', '1; nothing is known of the goodbye', [7, one, thanked.not('unanswered'), 11.5, look]],
    ['speak 9, hang up', '1; the instance that speaks has died', [7, one, 27, look]],
    ['speak 9', '1; the callee has gone', [7, one, thanked.not('gone')]],
    ['speak 8, hang up', '3', [7, three, canceled, 9, understood.completed]],
    ['speak 8, speak 9, hang up', '3, then 1', [7, three, one, understood.completed, 9, thanked.completed]],
    ['speak 1, wait for keys, hang up', '2', [7, two, canceled, again.accepted, 30, again.completed, 38, noKey]],
    ['speak 1, speak 2', '2 three times', [7, two, two, key('2', 3), key('2', 4)]],
    ['wait for keys, speak 1', '2 while keys are waited for', [25, completed, 30, two, 33, noKey]],
    ['speak 1, hang up', '2, and it is refused', [7, two, again.not('rejected')]],
    ['speak 1, hang up', '2, and it fails', [7, two, again.failed]],
    ['speak 1, speak 2, hang up', '2, for too long', [200, two, 230, key('2', 3), second.accepted, 255, look]],
  ])('leads to: %s (%s)', (commands, _, history) => {
    expect(play([0, placed, 5, connected, 6, started, ...history], CONFIRM).commands).toBe(`speak 0, ${commands}`);
  });
});

describe('what must be done', () => {
  const ringsToo: AttemptEvent = { kind: 'ringing', callId: otherId };

  it.each<[commands: string, what: string, History, terms?: Partial<CallTerms>]>([
    ['speak 0, hang up', 'all is told twice', [0, placed, connected, connected, started, 25, completed, completed]],
    ['speak 0', 'somebody answers after the end', [0, placed, 4, created('busy'), 5, connected]],
    ['speak 0, speak 0', 'the instance that speaks has died', [5, connected, 24.999, look, 25, look]],
    ['speak 0, speak 0, hang up', 'so has the second', [5, connected, 25, look, 45, look]],
    ['speak 0', 'an unclear speech starts', [5, connected, 15, message.not('unanswered'), started, 20, look]],
    ['speak 0, hang up', 'it does not', [5, connected, 15, message.not('unanswered'), 19.499, look, 19.5, look]],
    ['speak 0, hang up', 'the end of the message is not told', [5, connected, 6, started, 45.999, look, 46, look]],
    ['hang up', 'nothing but its id is heard of a call', [5, started, 25, look, 84.999, look, 85, look]],
    ['hang up, hang up', 'a hang-up is not answered', [0, placed, 60, look, 79.999, look, 80, look]],
    ['hang up, hang up', 'a second call rings after the hang-up', [0, placed, 60, look, ringsToo]],
    ['hang up, hang up', 'it rings after the end', [0, placed, 60, look, hungUp, ringsToo]],
    ['hang up', 'somebody answers after a stop', [5, connected], STOPPED],
    ['hang up', 'a call that speaks by itself is over', [0, placed, connected, started, 9, completed], CAREFUL],
    ['hang up', 'it has said goodbye', [0, placed, connected, one, 9, thanked.completed], { ...CAREFUL, ...CONFIRM }],
  ])('%s, where %s', (commands, _, history, terms) => {
    expect(play(history, terms).commands).toBe(commands);
  });

  it('a call that speaks by itself and is answered at the moment of a stop speaks to the end', () => {
    const { attempt } = play([0, placed, 1, connected, 20, completed, hungUp], { ...CAREFUL, ...STOPPED });
    expect(attempt).toMatchObject({ state: 'over', outcome: 'heard' });
  });

  it('a line is asked to hang up for ten minutes', () => {
    const history = [0, placed, 60, look] as const;
    expect(play([...history, 659.999, look]).commands).toBe('hang up, hang up');
    expect(play([...history, 660, look])).toMatchObject({ attempt: { state: 'over' }, commands: 'hang up' });
  });

  it('the end of one of two calls is not the end of the attempt', () => {
    const twoCalls = [0, placed, ringsToo, 5, created('busy')] as const;
    expect(play(twoCalls).attempt).toMatchObject({ state: 'ringing', callIds: [otherId] });
    const other: AttemptEvent = { kind: 'create failed', callId: otherId, result: { failure: 'declined' } };
    expect(attemptAfter([...twoCalls, other])).toMatchObject({ state: 'over', outcome: 'declined' });
  });

  it('an attempt of another line than the present one ends', () => {
    const { attempt } = play([1, placed, 2, look], {}, { ...NEW, line: 'another' });
    expect(attempt).toMatchObject({ outcome: 'unknown', reason: 'the phone service was changed meanwhile' });
  });
});

describe('a call request without an answer', () => {
  it('is sent again ten seconds later, or when the instance that sent it has died: twice', () => {
    expect(play([10, unanswered, 19.999, look]).commands).toBe('');
    expect(play([10, unanswered, 20, look]).commands).toBe('dial');
    expect(play([24.999, look]).commands).toBe('');
    expect(play([25, look, 49.999, look]).commands).toBe('dial');
    expect(play([25, look, 50, look, 75, look]).commands).toBe('dial, dial');
  });

  it('is not sent again when its phone may have rung for 115 s, after the deadline, or after a stop', () => {
    expect([114.999, 115].map((seconds) => play([seconds, look]).commands)).toEqual(['dial', '']);
    const until = (deadlineMs: number) => play([25, look], { deadlineAt: START + deadlineMs }).commands;
    expect([until(25_001), until(25_000)]).toEqual(['dial', '']);
    expect(play([25, look], STOPPED).commands).toBe('');
    expect(play([25, { kind: 'look', mayResend: false }]).commands).toBe('');
  });

  it('may still ring or be answered for 145 s', () => {
    const waiting = [25, { kind: 'look', mayResend: false }] as const;
    expect(stateOf(play([...waiting, 144.999, look]).attempt)).toBe('claimed');
    expect(play([...waiting, 145, look])).toMatchObject({ attempt: { outcome: 'unknown' }, commands: '' });
  });

  it('is not over by a refusal of the second one: the first may have been done', () => {
    for (const failure of ['capacity', 'set_up', 'refused'] as const)
      expect(stateOf(play([25, look, notPlaced(failure)]).attempt)).toBe('claimed');
  });

  it('is looked for in the list of a line that may act twice, and sent again once if there is surely no call', () => {
    const sought = [10, unanswered, 20, look] as const;
    expect(play([...sought, 21, placed], CAREFUL)).toMatchObject({ attempt: { state: 'ringing' }, commands: 'find' });
    expect(play([...sought, 21, notFound], CAREFUL).commands).toBe('find, dial');
    expect(play([...sought, 44.999, look, 45, look], CAREFUL).commands).toBe('find, find');
    expect(play([144.999, look], CAREFUL).commands).toBe('find');
    expect(play([145, look], CAREFUL)).toMatchObject({ attempt: { outcome: 'unknown' }, commands: '' });
    expect(play([...sought, 21, notFound, 46, look, notFound], CAREFUL).commands).toBe('find, dial, find');
    expect(stateOf(play([...sought, 21, notFound, notPlaced('refused')], CAREFUL).attempt)).toBe('over');
    // Its call has told of itself meanwhile.
    const ringing: AttemptEvent = { kind: 'ringing', callId };
    expect(play([10, unanswered, 12, ringing, 20, look, notFound], CAREFUL).commands).toBe('');
  });
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
])('%s is waited for so long: %d s; the number is held for 10 s more', (_, seconds, history, more) => {
  const attempt = attemptAfter([0, ...history], more);
  if (!isLive(attempt)) throw new Error('is over');
  const terms = { ...TERMS, ...more };
  expect((checkAtOf(attempt, terms) - START) / 1_000).toBe(seconds);
  // A call that is to be hung up was over, or was answered, by then.
  const held = attempt.state === 'hanging_up' ? 10 : seconds + 10;
  expect((heldUntil(attempt, terms) - START) / 1_000).toBe(held);
});

describe('whatever happens in whatever order', () => {
  const event = fc.constantFrom<AttemptEvent>(
    placed, connected, accepted, started, completed, canceled, message.failed, disconnected, hungUp, look, noKey, notFound,
    one, two, three, key('2', 4), key('9', 5), again.accepted, again.completed, again.not('rejected'), again.not('unanswered'),
    second.completed, understood.completed, thanked.completed, thanked.not('rejected'), { kind: 'ringing', callId: otherId },
    created('busy'), created('declined'), unanswered, message.not('rejected'), message.not('unanswered'),
  ); // prettier-ignore
  const histories = fc
    .array(fc.tuple(fc.nat({ max: 200 }), event), { maxLength: 14 })
    .map((list) => list.toSorted(([first], [later]) => first - later).flat());
  const lines = fc.constantFrom<Partial<CallTerms>>({}, CAREFUL);

  it('a 1 is never lost, and wins over a 3', () => {
    fc.assert(
      fc.property(histories, histories, lines, (earlier, after, line) => {
        const end = Math.max(0, ...earlier.filter((step) => typeof step === 'number'));
        const later = after.map((step) => (typeof step === 'number' ? end + step : step));
        const terms = { ...CONFIRM, ...line };
        const ends = [callId, otherId].map((id): AttemptEvent => ({ kind: 'disconnected', callId: id, result: {} }));
        const over = attemptAfter([...earlier, end, one, ...later, 500, ...ends], terms);
        expect(over).toMatchObject({ state: 'over', outcome: 'confirmed' });
      }),
    );
  });

  it('a live attempt that is left alone comes to its end, with an outcome, and asks for nothing then', () => {
    fc.assert(
      fc.property(histories, fc.boolean(), fc.boolean(), lines, (history, confirm, isStopped, line) => {
        const terms = { ...TERMS, ...line, confirm, isStopped };
        let attempt = attemptAfter(history, terms);
        for (let looks = 0; looks < 60 && isLive(attempt); looks += 1) {
          const moved = moveAttempt(attempt, look, terms, Math.max(checkAtOf(attempt, terms), START));
          if (moved === 'not made') throw new Error('a look made it undone');
          attempt = moved;
        }
        expect(attempt).toMatchObject({ state: 'over', outcome: expect.any(String) });
        expect(moveAttempt(attempt, look, terms, START + 9_000_000)).toBe(attempt);
      }),
    );
  });
});
