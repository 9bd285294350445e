import { expect, it } from 'vitest';
import { alertTypeOf } from '../../../src/calls/model/alert-types.ts';
import { speakingTimes } from '../../../src/calls/rules/message.ts';
import type { AttemptEvent } from '../../../src/calls/state/attempt.ts';
import { actionsOf, isRepeatIn, type NotificationEvent, termsOf } from '../../../src/calls/state/step.ts';
import * as given from '../new-case.ts';
import { busy, calling, CLAIMED, newCase, POLICY, RINGING, RULES, spokenTo, START } from '../new-case.ts';

const fire = newCase(START, { alertType: alertTypeOf('ConfirmedFire') });
const action = { commit: 'own', at: START };

it.each<[kind: string | undefined, attempt: Parameters<typeof calling>[2]]>([
  ['dial', { ...CLAIMED, action }],
  ['speak', { ...spokenTo(), action }],
  ['wait for keys', { ...spokenTo({ quietSince: START }), action }],
  ['hang up', { ...RINGING, state: 'hanging_up', since: START, action }],
  ['hang up', { ...busy(START), action }],
  [undefined, { ...CLAIMED, action: { ...action, commit: 'of another process' } }],
  [undefined, RINGING],
])('the action of a commit is %s', (kind, attempt) => {
  expect(actionsOf(calling(fire, 0, attempt), 'own').map((one) => one.kind)).toEqual(kind === undefined ? [] : [kind]);
});

const call = (event: AttemptEvent): NotificationEvent => ({ kind: 'call', index: 0, attemptId: 'a', event });

it.each<[canBeDropped: boolean, what: string, attempt: Parameters<typeof calling>[2], event: NotificationEvent]>([
  [true, 'the end of an attempt that is over', busy(START), call(given.disconnected)],
  [true, 'the placement of a call that is known', RINGING, call(given.placed)],
  [true, 'the answer to the hang-up of an attempt that is over', busy(START), call(given.hungUp)],
  [false, 'the answer to a hang-up', { ...RINGING, state: 'hanging_up', since: START, action }, call(given.hungUp)],
  [false, 'an end that is not known', RINGING, call(given.disconnected)],
  [false, 'a key', busy(START), call(given.key('1'))],
  [false, 'a call that is not known', CLAIMED, call(given.placed)],
  [false, 'a check', busy(START), { kind: 'check' }],
])('an event can change nothing, even of a newer row: %s (%s)', (canBeDropped, _, attempt, event) => {
  expect(isRepeatIn(calling(fire, 0, attempt), event)).toBe(canBeDropped);
});

const until = (deadlineMs: number) => termsOf(fire, { ...POLICY, rules: { ...RULES, deadlineMs } }).deadlineAt - START;

it('a shorter deadline holds for recipients who wait already, a longer one does not', () => {
  expect([until(60_000), until(7_200_000)]).toEqual([60_000, RULES.deadlineMs]);
});

it('a unit was surely spoken two seconds after it should be', () => {
  const { unitMs, messageMs } = speakingTimes('Ridge Watch', alertTypeOf('ConfirmedFire'));
  expect(termsOf(fire, POLICY)).toMatchObject({ unitMs: unitMs + 2_000, messageMs });
});
