import { describe, expect, it } from 'vitest';

import type { CallResult } from '../../../src/calls/model/phone-provider.ts';
import type { AttemptEvent } from '../../../src/calls/state/attempt.ts';
import {
  abandoned,
  afterEvent,
  checked,
  claimed,
  final,
  postponed,
  type ReachTerms,
  type Recipient,
  stopped,
  waiting,
} from '../../../src/calls/state/recipient.ts';
import {
  at as moment,
  completed,
  connected,
  created,
  disconnected,
  hungUp,
  key,
  notPlaced,
  phoneNumber,
  placed,
  POLICY,
  RULES,
  START,
  started,
} from '../new-case.ts';

const at = (seconds: number): number => START + seconds * 1_000;
const TERMS: ReachTerms = {
  ...RULES,
  provider: POLICY.provider,
  confirm: false,
  isStopped: false,
  deadlineAt: at(1_800),
  unitMs: 7_000,
  messageMs: 40_000,
};
const CONFIRM: ReachTerms = { ...TERMS, confirm: true };
const STOPPED: ReachTerms = { ...TERMS, isStopped: true };
const number = phoneNumber('+12065550100');
const WAITING = waiting({ state: 'later', number, wave: 1, attempts: [] }, START);

type Events = readonly AttemptEvent[];

const claim = (recipient: Recipient, terms = TERMS, now = START): Recipient =>
  claimed(recipient, `attempt ${recipient.attempts.length + 1}`, terms, moment(now));

/** The recipient after the events of its last attempt, each a second after another. */
const after = (recipient: Recipient, events: Events, terms = TERMS, from = START): Recipient =>
  events.reduce(
    (before, event, index) =>
      afterEvent(before, before.attempts.at(-1)?.id ?? '', event, terms, moment(from + (index + 1) * 1_000)),
    recipient,
  );

/** The recipient after calls that came to these events, each claimed when it was due. */
const called = (calls: readonly Events[], terms = TERMS): Recipient =>
  calls.reduce((recipient, events) => {
    const from = recipient.state === 'waiting' ? recipient.dueAt : START;
    return after(claim(recipient, terms, from), events, terms, from);
  }, WAITING);

const speaking: Events = [placed, connected, started];
const failed = (failure: CallResult['failure']): Events => [placed, created(failure)];
const busy = failed('busy');
const unconfirmed: Events = [...speaking, completed, disconnected];
const cannotGo: Events = [...speaking, key('3'), disconnected];
const pressed: Events = [...speaking, key('1'), disconnected];

/** Something becomes known of the first call. */
const toldOfFirst = (recipient: Recipient, event: AttemptEvent, terms = TERMS) =>
  afterEvent(recipient, 'attempt 1', event, terms, moment(at(202)));

it.each(['capacity', 'unreachable', 'set_up'] as const)(
  'no call by %s: it costs no attempt, and the recipient queues anew',
  (failure) => {
    const recipient = called([busy, [notPlaced(failure)]]);
    expect(recipient).toMatchObject({ state: 'waiting', dueAt: at(63), queuedAt: at(63), reason: failure });
    expect(recipient.attempts).toHaveLength(1);
  },
);

it.each<[what: string, recipient: Recipient, state: string]>([
  ['after the deadline', claim(WAITING, TERMS, TERMS.deadlineAt), 'not_reached'],
  ['if the number may not be called', claim(WAITING, { ...TERMS, allowedPrefixes: ['+64'] }), 'failed'],
  ['if it is final', claim(final(WAITING, 'heard')), 'heard'],
])('nobody is dialed %s', (_, recipient, state) => {
  expect(recipient.state).toBe(state);
  expect(recipient.attempts.every((attempt) => attempt.state === 'over')).toBe(true);
});

it('a recipient that was never called says that no time was left', () => {
  const late = claim(WAITING, TERMS, TERMS.deadlineAt);
  expect(late.attempts).toMatchObject([{ outcome: 'unknown', reason: 'no time left' }]);
});

it('nobody is dialed before midnight, or the deadline, if the calls of the day are used up; it is told why', () => {
  expect(postponed(WAITING, at(600), TERMS)).toMatchObject({ dueAt: at(600), isOverDayLimit: true });
  const late = postponed(WAITING, at(3_600), TERMS);
  expect(late).toMatchObject({ dueAt: TERMS.deadlineAt });
  const [never, once] = [late, called([busy])].map((one) => checked(one, TERMS, moment(TERMS.deadlineAt)));
  const reason = 'CALLS_PER_DAY is reached for this UTC day';
  expect(never).toMatchObject({ state: 'not_reached', attempts: [{ outcome: 'unknown', reason }] });
  expect(once).toMatchObject({ state: 'not_reached', attempts: [{ outcome: 'busy' }] });
});

it.each<[state: string, what: string, before: Events, events: Events]>([
  ['stopped', 'its phone rang', [placed], [hungUp]],
  ['stopped', 'its call is accepted afterwards', [], [placed, hungUp]],
  ['stopped', 'its request placed no call', [], [notPlaced('capacity')]],
  ['heard', 'it hears the message to its end', speaking, [completed, hungUp]],
  ['stopped', 'it hangs up before', speaking, [disconnected]],
])('a stop leads to %s if %s', (state, _, before, events) => {
  expect(after(stopped(called([before]), moment(at(4))), events, STOPPED, at(4))).toMatchObject({ state });
});

describe('late news', () => {
  it('of a message that was heard counts', () => {
    expect(toldOfFirst(called([[placed, connected, disconnected]]), completed).state).toBe('heard');
  });

  it.each([
    ['1', 'confirmed'],
    ['3', 'cannot_go'],
  ] as const)('of the key %s ends the dialing: a phone that rings already is hung up', (name, state) => {
    const waits = called([unconfirmed], CONFIRM);
    expect(toldOfFirst(waits, key(name), CONFIRM).state).toBe(state);
    const requested = claim(waits, CONFIRM, at(200));
    // A call that is claimed and not accepted yet is hung up as soon as it rings, and not sent again.
    const late = toldOfFirst(requested, key(name), CONFIRM);
    expect(checked(late, CONFIRM, moment(at(300))).attempts[1]).toMatchObject({ state: 'claimed', sent: 1 });
    expect(after(late, [placed], CONFIRM, at(203)).attempts[1]).toMatchObject({ beforeMessage: 'stopped' });
    const ringing = toldOfFirst(after(requested, [placed], CONFIRM, at(200)), key(name), CONFIRM);
    expect(ringing.attempts[1]).toMatchObject({ state: 'hanging_up', beforeMessage: 'stopped' });
    expect(after(ringing, [hungUp], CONFIRM, at(203)).state).toBe(state);
  });

  it('only improves a final state', () => {
    expect(toldOfFirst(called([cannotGo], CONFIRM), key('1'), CONFIRM).state).toBe('confirmed');
    const confirmed = called([pressed], CONFIRM);
    expect(toldOfFirst(confirmed, key('3'), CONFIRM)).toBe(confirmed);
    const third = after(claim(called([busy, busy]), TERMS, at(200)), [placed], TERMS, at(200));
    const ended = after(stopped(third, moment(at(201))), [hungUp], STOPPED, at(201));
    const told = [connected, disconnected].reduce((before, event) => toldOfFirst(before, event, STOPPED), ended);
    expect([ended.state, told.state]).toEqual(['stopped', 'stopped']);
    const cut = called([busy, busy, [...speaking, disconnected]]);
    expect(after(cut, [completed], TERMS, at(510)).state).toBe('heard');
  });

  it('of an attempt that placed no call changes nothing', () => {
    const again = called([[notPlaced('capacity')]]);
    expect(toldOfFirst(again, disconnected)).toBe(again);
  });
});

it('PHONE=off leaves nobody live: who was not reached by then is not called again, and it is said why', () => {
  const reason = 'the phone was switched off';
  const last = (recipient: Recipient) => abandoned(recipient, at(500)).attempts.at(-1);
  for (const live of [WAITING, called([busy]), called([[placed]]), called([speaking])]) {
    expect(abandoned(live, at(500)).state).toBe('not_reached');
    expect(last(live)).toMatchObject({ state: 'over', outcome: 'unknown', reason, endedAt: at(500) });
  }
  expect(abandoned(called([[...speaking, key('1')]], CONFIRM), at(500)).state).toBe('confirmed');
  const heard = called([[...speaking, completed, hungUp]]);
  expect(abandoned(heard, at(500))).toEqual(heard);
});
