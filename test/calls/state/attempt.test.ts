import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  type Attempt,
  type AttemptEvent,
  CLAIM_LEASE_MS,
  type CallTerms,
  DIAL_LEASE_MS,
  isLive,
  isPast,
  lookAtOf,
  speechNow,
} from '../../../src/calls/state/attempt.ts';
import { moveAttempt, UNCLEAR_MS } from '../../../src/calls/state/move-attempt.ts';
import { parseCallId } from '../../../src/calls/model/ids.ts';
import type { SpeechNumber } from '../../../src/calls/model/speech.ts';

const callId = parseCallId('call-1');
if (callId === undefined) throw new Error('malformed');
const START = Date.parse('2026-11-21T08:00:00Z');
const TERMS: CallTerms = {
  line: { name: 'acs', isIdempotent: true },
  confirm: false,
  isStopped: false,
  deadlineAt: START + 1_800_000,
  ringMs: 60_000,
  unitMs: 7_000,
  messageMs: 40_000,
};
const CONFIRM: Partial<CallTerms> = { confirm: true };
const NEW: Attempt = { id: 'a', state: 'claimed', claimedAt: START };

/** Events in order; a number is the time of those after it, in seconds since the claim. */
type History = readonly (number | AttemptEvent)[];

/** The attempt after these events, and what was asked for. */
const play = (history: History, terms: Partial<CallTerms> = {}, from = NEW) => {
  let [attempt, seconds] = [from, 0];
  const commands: string[] = [];
  for (const step of history) {
    if (typeof step === 'number') {
      seconds = step;
      continue;
    }
    const { next, command } = moveAttempt(attempt, step, { ...TERMS, ...terms }, START + seconds * 1_000);
    attempt = next;
    if (command !== undefined) commands.push(command);
  }
  return { attempt, commands: commands.join(', ') };
};

/** A line by whose request there may be a second call. */
const CAREFUL: Partial<CallTerms> = { line: { name: 'other', isIdempotent: false } };

/** As `play`, of an attempt through that line. */
const playOther = (history: History, terms: Partial<CallTerms> = {}) =>
  play([...history], { ...CAREFUL, ...terms }, { ...NEW, line: 'other' });

const placed: AttemptEvent = { kind: 'placed', callId };
const connected: AttemptEvent = { kind: 'connected', callId };
const accepted: AttemptEvent = { kind: 'speech accepted' };
const started: AttemptEvent = { kind: 'play started', callId };
const completed: AttemptEvent = { kind: 'play completed', callId, result: {} };
const canceled: AttemptEvent = { kind: 'play canceled', callId, result: {} };
const failed: AttemptEvent = { kind: 'play failed', callId, result: { code: 400, subCode: 8_535 } };
const disconnected: AttemptEvent = { kind: 'disconnected', callId, result: { code: 200, subCode: 0 } };
const hungUp: AttemptEvent = { kind: 'hung up' };
const key = (name: string, sequence = 1): AttemptEvent => ({
  kind: 'tone received',
  callId,
  key: { key: name, sequence },
});
const tone = key('1');
const noKey: AttemptEvent = { kind: 'no key' };
/** What becomes of a speech after the message. */
const of = (speech: SpeechNumber) => ({
  accepted: { kind: 'speech accepted', speech } as const satisfies AttemptEvent,
  started: { kind: 'play started', callId, speech } as const satisfies AttemptEvent,
  completed: { kind: 'play completed', callId, result: {}, speech } as const satisfies AttemptEvent,
  canceled: { kind: 'play canceled', callId, result: {}, speech } as const satisfies AttemptEvent,
  failed: { kind: 'play failed', callId, result: { code: 400 }, speech } as const satisfies AttemptEvent,
  not: (why: 'gone' | 'failed' | 'unclear') =>
    ({ kind: 'not spoken', why, result: {}, speech }) as const satisfies AttemptEvent,
});
const [again, third, understood, thanked] = [of(1), of(2), of(8), of(9)];
const look: AttemptEvent = { kind: 'look' };
const created = (meaning: 'busy' | 'declined' | 'refused' | 'set_up'): AttemptEvent => ({
  kind: 'create failed',
  callId,
  result: { code: 486, meaning, reason: meaning },
});
const notPlaced = (why: 'no_line' | 'set_up' | 'refused' | 'unclear'): AttemptEvent => ({
  kind: 'not placed',
  why,
  result: { reason: why },
});
const notSpoken = (why: 'gone' | 'failed' | 'unclear'): AttemptEvent => ({ kind: 'not spoken', why, result: {} });

const lease = CLAIM_LEASE_MS / 1_000;
const redial = DIAL_LEASE_MS / 1_000;
const unclear = notSpoken('unclear');

describe('an attempt is over with its outcome', () => {
  it.each<[what: string, outcome: string, History]>([
    ['a good call', 'heard', [0, placed, 9, connected, 10, accepted, started, 25, completed, 26, hungUp]],
    ['events before the answer to the call request', 'heard', [1, connected, 2, placed, started, 9, completed, hungUp]],
    ['the whole message, reported after the end', 'heard', [0, placed, 5, connected, 25, disconnected, 30, completed]],
    ['reports of a message that nobody asked for', 'unknown', [0, placed, 5, started, 6, completed, 7, look, hungUp]],
    ['no report of its start', 'unknown', [0, placed, 5, connected, 6, accepted, 60, disconnected]],
    ['a message that failed', 'unknown', [0, placed, 5, connected, 6, started, 9, failed, hungUp]],
    ['a callee who has gone before it', 'unknown', [0, placed, 5, connected, 6, notSpoken('gone')]],
    ['a message that the line refuses', 'unknown', [0, placed, 5, connected, 6, notSpoken('failed'), hungUp]],
    ['busy', 'busy', [0, placed, 5, created('busy'), disconnected]],
    ['busy, with the end first', 'busy', [0, placed, 5, disconnected, 6, created('busy')]],
    ['busy, with the end long before', 'busy', [0, placed, 5, disconnected, 12, look, 14, created('busy')]],
    ['the first reason stays', 'refused', [0, placed, 5, created('refused'), created('busy'), disconnected]],
    ['it rang long enough', 'no_answer', [0, placed, 60, look, 61, hungUp, created('declined')]],
    ['it rang long enough, and the end comes first', 'no_answer', [0, placed, 60, look, created('declined')]],
    ['an end without a reason', 'unknown', [0, placed, 5, disconnected, 11, look]],
    ['nothing is ever heard of it', 'unknown', [redial, look, 2 * redial, look, 2 * redial + UNCLEAR_MS / 1_000, look]],
    ['no line', 'no_line', [0, notPlaced('no_line')]],
    ['our set-up', 'set_up', [0, placed, 1, created('set_up')]],
  ])('%s: %s', (_, outcome, history) => {
    expect(play(history).attempt).toMatchObject({ state: 'over', outcome });
  });

  it.each([
    [6, false],
    [7, true],
  ])('cut short after %i s: a whole unit was spoken: %s', (seconds, hasHeardUnit) => {
    const { attempt } = play([0, placed, 5, connected, 10, started, 10 + seconds, canceled, 30, hungUp]);
    expect(attempt).toMatchObject({ outcome: 'cut_short', hasHeardUnit });
  });

  it.each<[string, string, History]>([
    ['before the start of the message', 'confirmed', [5, connected, tone, 6, started, 9, thanked.completed, hungUp]],
    ['before the answer to the request to speak', 'confirmed', [5, connected, tone, accepted, 9, disconnected]],
    [
      'after the last word',
      'confirmed',
      [5, connected, 6, started, 25, completed, 29, tone, 31, thanked.completed, hungUp],
    ],
    ['after the end', 'confirmed', [5, connected, 6, started, 25, completed, 34, noKey, hungUp, 35, tone]],
    [
      'after the hang-up was asked for',
      'confirmed',
      [5, connected, 6, started, 25, completed, 34, noKey, tone, hungUp],
    ],
    ['twice', 'confirmed', [5, connected, 6, started, 7, tone, 8, tone, 10, thanked.completed, hungUp]],
    ['while the table was away', 'confirmed', [5, tone, 6, disconnected]],
    ['and the callee hangs up at once', 'confirmed', [5, connected, 6, started, tone, disconnected]],
    ['and the goodbye is refused', 'confirmed', [5, connected, 6, started, tone, thanked.not('failed'), hungUp]],
    ['and the goodbye fails', 'confirmed', [5, connected, 6, started, tone, thanked.failed, hungUp]],
    ['never', 'unconfirmed', [5, connected, 6, started, 25, completed, 34, noKey, hungUp]],
    ['wrongly: 9', 'unconfirmed', [5, connected, 6, started, 7, key('9'), 25, completed, 34, noKey, hungUp]],
    [
      'wrongly: none that a telephone has',
      'cut_short',
      [5, connected, 6, started, { kind: 'tone received', callId }, disconnected],
    ],
    [
      'again, and nothing else',
      'unconfirmed',
      [5, connected, 6, started, key('2'), 25, again.completed, 34, noKey, hungUp],
    ],
    ['3', 'cannot_go', [5, connected, 6, started, 7, key('3'), 9, understood.completed, hungUp]],
    ['3, after the end', 'cannot_go', [5, connected, 6, started, 25, completed, 34, noKey, hungUp, 35, key('3')]],
    ['3, and 1 after the end', 'confirmed', [5, connected, 6, started, 7, key('3'), disconnected, 9, key('1', 2)]],
    ['1, and 3 after the end', 'confirmed', [5, connected, 6, started, 7, tone, disconnected, 9, key('3', 2)]],
    ['1 and 3', 'confirmed', [5, connected, 6, started, 7, tone, key('3', 2), 9, thanked.completed, hungUp]],
    ['3 and 1', 'confirmed', [5, connected, 6, started, 7, key('3'), tone, 9, thanked.completed, hungUp]],
  ])('with a key pressed %s: %s', (_, outcome, history) => {
    expect(play([0, placed, ...history], CONFIRM).attempt).toMatchObject({ state: 'over', outcome });
  });

  it('a key counts for nothing where none is asked for', () => {
    expect(play([0, placed, 5, connected, 6, started, tone, key('3'), disconnected]).attempt.outcome).toBe('cut_short');
  });
});

describe('what is said in one call', () => {
  /** What was asked for, with the number of each speech. */
  const said = (history: History): string => {
    let [attempt, seconds] = [NEW, 0];
    const commands: string[] = [];
    for (const step of [0, placed, 5, connected, ...history]) {
      if (typeof step === 'number') {
        seconds = step;
        continue;
      }
      const { next, command } = moveAttempt(attempt, step, { ...TERMS, ...CONFIRM }, START + seconds * 1_000);
      attempt = next;
      if (command !== undefined) commands.push(command === 'speak' ? `speak ${speechNow(attempt)}` : command);
    }
    return commands.join(', ');
  };

  it.each<[what: string, commands: string, History]>([
    ['nobody presses a key', 'speak 0, wait for keys, hang up', [6, started, 25, completed, 33, noKey]],
    ['keys are not waited for too shortly', 'speak 0, wait for keys', [6, started, 25, completed, 32.9, noKey]],
    ['whoever waits for keys has died', 'speak 0, wait for keys, hang up', [6, started, 25, completed, 34, look]],
    [
      'the end is reported twice',
      'speak 0, wait for keys, hang up',
      [6, started, 25, completed, completed, canceled, 33, noKey],
    ],
    ['1', 'speak 0, speak 9, hang up', [6, started, 7, tone, canceled, thanked.started, 9, thanked.completed]],
    [
      '1, and the end of the message comes late',
      'speak 0, speak 9, hang up',
      [6, started, 7, tone, thanked.started, canceled, completed, 9, thanked.completed, canceled],
    ],
    [
      '1, after the last word',
      'speak 0, wait for keys, speak 9, hang up',
      [6, started, 25, completed, 30, tone, 31, thanked.completed, 33, noKey],
    ],
    ['1 twice', 'speak 0, speak 9, hang up', [6, started, 7, tone, tone, key('1', 2), 9, thanked.completed]],
    ['1, and the goodbye is refused', 'speak 0, speak 9, hang up', [6, started, 7, tone, thanked.not('failed')]],
    ['1, and the goodbye is unclear', 'speak 0, speak 9, hang up', [6, started, 7, tone, thanked.not('unclear')]],
    ['1, and whoever was to say goodbye has died', 'speak 0, speak 9, hang up', [6, started, 7, tone, 27, look]],
    ['1, and the callee has gone', 'speak 0, speak 9', [6, started, 7, tone, thanked.not('gone')]],
    [
      '1 after the hang-up was asked for',
      'speak 0, wait for keys, hang up',
      [6, started, 25, completed, 33, noKey, tone],
    ],
    ['1 after the end', 'speak 0', [6, started, disconnected, tone]],
    ['3', 'speak 0, speak 8, hang up', [6, started, 7, key('3'), canceled, 9, understood.completed]],
    [
      '3, then 1',
      'speak 0, speak 8, speak 9, hang up',
      [6, started, 7, key('3'), tone, understood.canceled, understood.completed, 9, thanked.completed],
    ],
    ['1, then 3', 'speak 0, speak 9, hang up', [6, started, 7, tone, key('3', 2), 9, thanked.completed]],
    ['1, then 2', 'speak 0, speak 9', [6, started, 7, tone, key('2', 2)]],
    ['9', 'speak 0, wait for keys', [6, started, 7, key('9'), 25, completed]],
    [
      '2',
      'speak 0, speak 1, wait for keys, hang up',
      [6, started, 7, key('2'), canceled, again.accepted, again.started, 30, again.completed, 38, noKey],
    ],
    ['2, reported twice', 'speak 0, speak 1', [6, started, 7, key('2'), key('2')]],
    ['2 three times', 'speak 0, speak 1, speak 2', [6, started, 7, key('2'), key('2', 2), key('2', 3)]],
    ['2, then 1', 'speak 0, speak 1, speak 9', [6, started, 7, key('2'), again.started, canceled, tone]],
    [
      '2 while keys are waited for',
      'speak 0, wait for keys, speak 1, wait for keys, hang up',
      [6, started, 25, completed, 30, key('2'), again.accepted, 33, noKey, 50, again.completed, 58, noKey],
    ],
    [
      '2, and it is refused: the message goes on',
      'speak 0, speak 1, wait for keys',
      [6, started, 7, key('2'), again.not('failed'), 25, completed],
    ],
    [
      '2, and it is refused when the message is over',
      'speak 0, speak 1, wait for keys, hang up',
      [6, started, 24, key('2'), 25, completed, 26, again.not('failed'), 34, noKey],
    ],
    [
      '2 while keys are waited for, and it is refused',
      'speak 0, wait for keys, speak 1, wait for keys',
      [6, started, 25, completed, 30, key('2'), again.not('failed')],
    ],
    [
      '2, and it is unclear and starts',
      'speak 0, speak 1, wait for keys',
      [6, started, 7, key('2'), again.not('unclear'), 8, again.started, 12, look, 30, again.completed],
    ],
    [
      '2, and it is unclear and does not start: the message goes on',
      'speak 0, speak 1, wait for keys',
      [6, started, 7, key('2'), again.not('unclear'), 12, look, 25, completed],
    ],
    [
      '2, and it starts when it was given up',
      'speak 0, speak 1, wait for keys',
      [6, started, 7, key('2'), again.not('unclear'), 12, look, 13, again.started, completed, 30, again.completed],
    ],
    [
      '2, and whoever was to speak has died',
      'speak 0, speak 1, wait for keys',
      [6, started, 7, key('2'), 27, look, 30, completed],
    ],
    [
      '2 twice, and the second is refused: the first goes on',
      'speak 0, speak 1, speak 2, wait for keys',
      [6, started, 7, key('2'), again.accepted, 9, key('2', 2), third.not('failed'), 30, again.completed],
    ],
    ['2, and it fails', 'speak 0, speak 1, hang up', [6, started, 7, key('2'), again.failed]],
    [
      '2, and its end is not reported',
      'speak 0, speak 1, hang up',
      [6, started, 7, key('2'), again.accepted, 47, look],
    ],
    [
      'the call takes too long',
      'speak 0, speak 1, speak 2, hang up',
      [6, started, 200, key('2'), again.accepted, 230, key('2', 2), third.accepted, 255, look],
    ],
  ])('where %s: %s', (_, commands, history) => {
    expect(said(history)).toBe(commands);
  });
});

describe('what must be done', () => {
  it.each<[what: string, commands: string, History]>([
    [
      'all is reported twice',
      'speak, hang up',
      [0, placed, 9, connected, connected, started, 25, completed, completed],
    ],
    ['somebody answers after the end', 'speak', [0, placed, 4, created('busy'), 5, connected]],
    ['who was to speak has died', 'speak, speak', [5, connected, 4 + lease, look, 5 + lease, look]],
    ['the second one has died too', 'speak, speak, hang up', [5, connected, 5 + lease, look, 5 + 2 * lease, look]],
    ['the answer is lost, and it starts', 'speak', [5, connected, 15, unclear, 17, started, 20, look]],
    ['the answer is lost, and it does not start', 'speak, hang up', [5, connected, 15, unclear, 17, look, 20, look]],
    ['the end of the message is not reported', 'speak, hang up', [5, connected, 6, started, 46, look]],
    ['nothing is heard of the call', 'dial, dial', [redial, look, 2 * redial, look, 3 * redial, look]],
    ['nothing but its id is heard of the call', 'hang up', [5, started, redial, look, redial + 60, look]],
  ])('where %s: %s', (_, commands, history) => {
    expect(play(history).commands).toBe(commands);
  });

  it.each(['no_line', 'set_up', 'refused'] as const)('nothing is over by %s after an unclear answer', (why) => {
    const { attempt } = play([1, notPlaced('unclear'), redial, look, notPlaced(why)]);
    expect(attempt.state).toBe('claimed');
  });

  it.each<[what: string, commands: string, History, Partial<CallTerms>]>([
    ['after a stop somebody answers', 'hang up', [5, connected], { isStopped: true }],
    ['after a stop it rings', 'hang up', [0, placed, 5, look], { isStopped: true }],
    ['after a stop nothing is heard of the call', '', [redial, look], { isStopped: true }],
    ['after a stop nothing but its id is', 'hang up', [5, started, redial, look], { isStopped: true }],
    ['after the deadline nothing is heard of it', '', [redial, look], { deadlineAt: START + DIAL_LEASE_MS }],
  ])('where %s: %s', (_, commands, history, terms) => {
    expect(play(history, terms).commands).toBe(commands);
  });

  it('is nothing after a stop where the message is spoken', () => {
    const { attempt } = play([0, placed, 5, connected, 6, started]);
    const { next, command } = moveAttempt(attempt, look, { ...TERMS, isStopped: true }, START + 7_000);
    expect([next.state, command]).toEqual(['speaking', undefined]);
  });
});

describe('whatever happens in whatever order', () => {
  const event = fc.constantFrom<AttemptEvent>(
    placed, connected, accepted, started, completed, canceled, failed, disconnected, hungUp, look, noKey,
    tone, key('2', 2), key('2', 3), key('3', 4), key('9', 5), again.accepted, again.started, again.completed, again.not('failed'),
    again.not('unclear'), third.completed, understood.completed, thanked.completed, thanked.canceled, thanked.not('failed'),
    created('busy'), created('declined'), notPlaced('no_line'), notPlaced('unclear'), notSpoken('failed'), notSpoken('unclear'),
  ); // prettier-ignore
  const histories = fc
    .array(fc.tuple(fc.nat({ max: 200 }), event), { maxLength: 14 })
    .map((list) => list.toSorted(([one], [other]) => one - other).flat());

  it('a 1 is never lost, whatever comes before and after it, and wins over a 3', () => {
    fc.assert(
      fc.property(histories, histories, (before, after) => {
        const end = Math.max(0, ...before.filter((step) => typeof step === 'number'));
        const later = after.map((step) => (typeof step === 'number' ? end + step : step));
        const { attempt } = play([...before, end, tone, ...later], CONFIRM);
        expect(attempt.confirmedAt).toBeDefined();
        const over = isLive(attempt)
          ? play([...before, end, tone, ...later, 500, disconnected, 510, look], CONFIRM).attempt
          : attempt;
        expect([over.state, over.outcome]).toEqual(['over', 'confirmed']);
      }),
    );
  });

  it('an event that changes nothing and is past changes nothing later either: the table need not be asked', () => {
    fc.assert(
      fc.property(histories, event, histories, (before, what, after) => {
        const terms = { ...TERMS, ...CONFIRM };
        const { attempt } = play(before, CONFIRM);
        const isUnchanged = moveAttempt(attempt, what, terms, START + 400_000).next === attempt;
        // Whoever waits for keys asks once for each time that nothing is spoken.
        fc.pre(what !== noKey && isUnchanged && isPast(attempt, what));
        const end = Math.max(0, ...before.filter((step) => typeof step === 'number'));
        const later = after.map((step) => (typeof step === 'number' ? end + step : step));
        const next = play([...before, ...later], CONFIRM).attempt;
        expect(moveAttempt(next, what, terms, START + 400_000).next).toEqual(next);
      }),
    );
  });

  it('a live attempt has a time when it is looked at; one that is left alone comes to its end, with an outcome', () => {
    fc.assert(
      fc.property(histories, fc.boolean(), fc.boolean(), (history, confirm, isStopped) => {
        let { attempt } = play(history, { confirm, isStopped });
        const terms = { ...TERMS, confirm, isStopped };
        for (let looks = 0; looks < 60 && isLive(attempt); looks += 1) {
          expect(attempt.outcome).toBeUndefined();
          attempt = moveAttempt(attempt, look, terms, Math.max(lookAtOf(attempt, terms) ?? NaN, START)).next;
        }
        expect(attempt.state).toBe('over');
        expect([lookAtOf(attempt, terms), attempt.outcome]).toEqual([undefined, expect.any(String)]);
      }),
    );
  });
});

it.each([
  ['it has started', [placed, connected, started]],
  ['it is over', [placed, connected, completed]],
])('that the line accepted the message says nothing new when %s', (_, history) => {
  const { attempt } = play(history);
  expect(moveAttempt(attempt, accepted, TERMS, START + 60_000).next).toBe(attempt);
  expect(isPast(attempt, accepted)).toBe(true);
});

describe('a request for a call without an answer', () => {
  const unanswered: AttemptEvent = { kind: 'not placed', why: 'unclear', result: { reason: 'no answer in time' } };
  const notFound: AttemptEvent = { kind: 'not found' };

  it('is sent again after ten seconds, if the line acts once for it', () => {
    expect(play([10, unanswered, 19, look, 20, look]).commands).toBe('dial');
  });

  it('is looked for after ten seconds if the line may act twice, and sent again only when there is surely no call', () => {
    const history = [10, unanswered, 19, look, 20, look] as const;
    expect(playOther(history).commands).toBe('find');
    expect(playOther([...history, 21, placed])).toMatchObject({
      attempt: { state: 'placed', callId },
      commands: 'find',
    });
    expect(playOther([...history, 21, notFound])).toMatchObject({
      attempt: { state: 'claimed' },
      commands: 'find, dial',
    });
    // Whoever looked for it has died.
    expect(playOther([...history, 44, look, 45, look]).commands).toBe('find, find');
  });

  it('is not sent again if its call has told of itself meanwhile, or was stopped', () => {
    const ringing: AttemptEvent = { kind: 'ringing', callId };
    expect(playOther([10, unanswered, 12, ringing, 20, look, 21, notFound])).toMatchObject({
      attempt: { state: 'placed', callId },
      commands: '',
    });
    const stopped = playOther([10, unanswered, 20, look, 21, notFound], { isStopped: true });
    expect(stopped).toMatchObject({ attempt: { state: 'over', outcome: 'unknown' }, commands: 'find' });
  });

  it('that was sent again is refused for sure by a line that was asked first', () => {
    const refused: AttemptEvent = { kind: 'not placed', why: 'refused', result: {} };
    expect(playOther([10, unanswered, 20, look, 21, notFound, 22, refused]).attempt).toMatchObject({
      outcome: 'refused',
    });
    expect(play([10, unanswered, 20, look, 22, refused]).attempt).toMatchObject({ state: 'claimed' });
  });
});

it('an attempt of another line than the present one ends as unknown when it is looked at, and holds its number no more', () => {
  const history = [1, placed, 2, { kind: 'look' }] as const;
  const { attempt } = play(history, CAREFUL);
  expect(attempt).toMatchObject({ state: 'over', outcome: 'unknown', holdsNumber: undefined });
  expect(playOther(history).attempt.state).toBe('placed');
});

describe('who is spoken to without the table, by a call that was to be hung up because it only rang,', () => {
  const makesWay = [1, placed, 8, { kind: 'make way' }] as const;
  const spokenTo: AttemptEvent = { kind: 'spoken to', callId };

  it('hears the message to the end', () => {
    const { attempt } = play([...makesWay, 9, spokenTo]);
    expect(attempt).toMatchObject({ state: 'speaking', hangingUpAt: undefined });
    const whole = play([...makesWay, 9, spokenTo, 30, completed, { kind: 'hung up' }]);
    expect(whole.attempt.outcome).toBe('heard');
    expect(whole.commands).toBe('hang up, hang up');
  });

  it('is called again if it was hung up before that was written down', () => {
    const { attempt } = play([...makesWay, { kind: 'hung up' }, 9, spokenTo]);
    expect(attempt.state).toBe('over');
  });
});
