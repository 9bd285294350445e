import { describe, expect, it } from 'vitest';

import { alertTypeOf } from '../../../src/calls/model/alert-types.ts';
import type { Callee, NotificationRequest } from '../../../src/calls/model/notification-request.ts';
import type { Attempt } from '../../../src/calls/state/attempt.ts';
import {
  abandonedNotification,
  acknowledged,
  checkAtOfNotification,
  checkedNotification,
  hasRung,
  hasWorsened,
  MAX_ATTENTION_MS,
  needsAttention,
  type NotificationCase,
  settled,
  settlesAtOf,
  stoppedNotification,
  wavesOf,
  withRecipient,
} from '../../../src/calls/state/notification.ts';
import { termsOf } from '../../../src/calls/state/step.ts';
import { bodyOf } from '../../../src/calls/state/view.ts';
import {
  at,
  busy,
  callees,
  calling,
  ended,
  HOUR,
  must,
  newCase,
  POLICY,
  RINGING,
  RULES,
  spokenTo,
  START,
} from '../new-case.ts';

const WAVE_MS = 120_000;

const fire = (waves: readonly (readonly Callee[])[], more: Partial<NotificationRequest> = {}): NotificationCase =>
  newCase(START, { alertType: alertTypeOf('ConfirmedFire'), waves, ...more });
const inWaves = (...people: readonly number[]) =>
  fire(
    people.map((count, wave) => callees(count, wave * 10)),
    { confirm: true, waveMs: WAVE_MS },
  );
const states = ({ recipients }: NotificationCase): string => recipients.map(({ state }) => state).join(' ');
const checkedAt = (live: NotificationCase, ms: number): NotificationCase =>
  checkedNotification(live, termsOf(live, POLICY), at(START + ms));
const two = fire([callees(2)]);
const toConfirm = fire([callees(1)], { confirm: true });
const confirmed = (live: NotificationCase) => calling(live, 0, spokenTo({ confirmedAt: START }));

it('of a new notification, the first wave waits at once; who may not be called has failed, and so have all if no call of the day is left', () => {
  const waves = [callees(2)];
  const other = newCase(START, { waves }, { rules: { ...RULES, allowedPrefixes: ['+12065551001'] } });
  const none = newCase(START, { waves }, { isOverDayLimit: true });
  expect([inWaves(2, 1), other, none].map(states)).toEqual([
    'waiting waiting later',
    'failed waiting',
    'failed failed',
  ]);
  expect([other, none].map(({ notification }) => notification.completedAt)).toEqual([undefined, START]);
});

it('masks a reference that is a phone number', () => {
  const references = ['+12065550100', 'ridge-04'].map((reference) => newCase(START, { reference }));
  expect(references.map(({ notification }) => notification.reference)).toEqual(['+1206•••••00', 'ridge-04']);
});

describe('waves', () => {
  it('follow one another, and do not begin after the deadline', () => {
    const live = inWaves(1, 1, 1);
    expect(states(checkedAt(live, WAVE_MS - 1))).toBe('waiting later later');
    const second = checkedAt(live, WAVE_MS);
    expect([states(second), wavesOf(second.notification)?.nextAt]).toEqual([
      'waiting waiting later',
      START + 2 * WAVE_MS,
    ]);
    expect(states(checkedAt(live, 1_800_000 - 1))).toBe('waiting waiting later');
    expect(states(checkedAt(live, 1_800_000))).toBe('not_reached not_reached not_reached');
  });

  // Two people in the first wave, two in the second.
  it.each<
    [needed: number | undefined, ('confirms' | 'cannot go' | 'not reached')[], nextNow: boolean, enough: boolean]
  >([
    [1, ['cannot go'], false, false],
    [1, ['cannot go', 'not reached'], true, false],
    [1, ['cannot go', 'confirms'], false, true],
    [undefined, ['confirms'], false, true],
    [2, ['confirms', 'cannot go'], true, false],
    [2, ['confirms', 'confirms'], false, true],
    // Two cannot be three: the second wave is called with the first.
    [3, [], true, false],
  ])('needed %s, and they %j: the next at once %s, enough %s', (confirmationsNeeded, news, isNextNow, isEnough) => {
    const waves = [callees(2), callees(2, 2)];
    const start = fire(waves, { confirm: true, waveMs: WAVE_MS, confirmationsNeeded });
    const now = START + 30_000;
    const live = news.reduce((before, what, index) => {
      if (what === 'not reached') return ended(before, index, 'not_reached', now);
      return calling(before, index, spokenTo(what === 'confirms' ? { confirmedAt: now } : { cannotGoAt: now }), now);
    }, start);
    const { nextAt, confirmedAt } = wavesOf(live.notification) ?? {};
    expect(nextAt !== undefined && nextAt <= now).toBe(isNextNow);
    expect(confirmedAt).toBe(isEnough ? now : undefined);
    expect(live.recipients.slice(2).map(({ state }) => state)).toEqual(Array(2).fill(isEnough ? 'stopped' : 'later'));
  });

  it('without them, a confirmation stops nobody', () => {
    expect(states(confirmed(fire([callees(2)], { confirm: true })))).toBe('calling waiting');
  });
});

it('settles some minutes after its last call; only then are its numbers masked', () => {
  const open = ended(calling(two, 0, RINGING), 1, 'heard', START + 5);
  expect([open.notification.completedAt, settlesAtOf(open)]).toEqual([undefined, undefined]);
  const { number, wave } = must(open.recipients[0]);
  // A callee answered after a final word.
  const late = withRecipient(open, 0, { state: 'not_reached', number, wave, attempts: [spokenTo()] }, at(START + 6));
  expect([late.notification.completedAt, settlesAtOf(late)]).toEqual([START + 6, undefined]);
  const over = { state: 'not_reached', number, wave, attempts: [busy(START + 7)] } as const;
  const last = withRecipient(late, 0, over, at(START + 7));
  expect(settlesAtOf(last)).toBe(START + 7 + 310_000);
  expect(last.recipients[0]?.number).toBe('+12065551000');
  expect(settled(last).recipients.map((one) => one.number)).toEqual(['+1206•••••00', '+1206•••••01']);
  // A new call of an attempt that is over is being hung up.
  const ghost = { ...busy(START + 7), action: { commit: 'c', at: START + 8 } };
  const again = withRecipient(late, 0, { ...over, attempts: [ghost] }, at(START + 8));
  expect(settlesAtOf(again)).toBeUndefined();
});

it('PHONE=off ends it as unreached, which needs attention, and not as stopped by a person', () => {
  const off = abandonedNotification(calling(two, 0, RINGING), at(START + 9));
  expect(bodyOf(off, START + 9)).toMatchObject({ status: 'completed', phone_off_at: '2026-11-21T08:00:00.009Z' });
  expect([states(off), needsAttention(off, START + 10)]).toEqual(['not_reached not_reached', true]);
  const stoppedBefore = abandonedNotification(
    stoppedNotification(calling(two, 0, spokenTo()), 'Ana', at(START)),
    at(START + 9),
  );
  const body = bodyOf(stoppedBefore, START + 9);
  expect(body).toMatchObject({ status: 'stopped', stopped_by: 'Ana', stopped_at: '2026-11-21T08:00:00.000Z' });
  expect(body.phone_off_at).toBeUndefined();
});

it('who stops it first is kept', () => {
  const stopped = stoppedNotification(two, 'Ana', at(START));
  expect(stoppedNotification(stopped, 'Ben', at(START + 1))).toBe(stopped);
});

it.each<[what: string, attempt: Attempt, ms: number, has: boolean]>([
  ['rings for less than 6 s', RINGING, 5_999, false],
  ['rings for 6 s', RINGING, 6_000, true],
  ['is answered', spokenTo(), 0, true],
  ['was busy after 5.999 s', busy(START + 5_999), 60_000, false],
  ['rang for 6 s', busy(START + 6_000), 60_000, true],
])('a phone that %s has rung: %#', (_, attempt, ms, has) => {
  expect(hasRung(calling(two, 0, attempt), START + ms)).toBe(has);
});

const checkAt = (live: NotificationCase) => (checkAtOfNotification(live, termsOf(live, POLICY)) ?? NaN) - START;

it('is checked when a call, a wave or the deadline is due', () => {
  const all = [two, calling(two, 0, RINGING), inWaves(1, 1), ended(ended(two, 0, 'heard'), 1, 'heard')];
  expect(all.map(checkAt)).toEqual([1_800_000, 60_000, WAVE_MS, NaN]);
});

describe('attention', () => {
  const missed = ended(ended(two, 0, 'not_reached'), 1, 'failed');

  it.each<[what: string, live: NotificationCase, ms: number, needs: boolean]>([
    ['before anybody is reached', two, 0, true],
    ['once somebody is reached', ended(two, 0, 'heard'), 0, false],
    ['after a stop', stoppedNotification(two, undefined, at(START)), 0, false],
    ['until 24 hours after its end', missed, 24 * HOUR - 1, true],
    ['and not longer', missed, 24 * HOUR, false],
    ['if the message was heard where keys are asked for', ended(toConfirm, 0, 'heard'), 0, true],
    ['not if it was confirmed', confirmed(toConfirm), 0, false],
  ])('is needed %s', (_, live, ms, needs) => {
    expect(needsAttention(live, START + ms)).toBe(needs);
    // The longest deadline is a day; its last calls end within two hours.
    expect(MAX_ATTENTION_MS).toBe((24 + 24 + 2) * HOUR);
  });

  it('is asked for again if an acknowledged notification becomes worse: more are not reached, or too few in the end', () => {
    const seen = acknowledged(two, 'Ana', START + 1);
    expect(bodyOf(seen, START)).toMatchObject({ acknowledged_by: 'Ana', acknowledged_at: '2026-11-21T08:00:00.001Z' });
    expect(acknowledged(seen, 'Ana', START + 2)).toBe(seen);
    const worse = ended(seen, 0, 'not_reached');
    expect([seen, worse, ended(seen, 0, 'heard')].map(hasWorsened)).toEqual([false, true, false]);
    expect(bodyOf(worse, START)).toMatchObject({ worsened_since_acknowledged: true });
    const again = acknowledged(worse, 'Ana', START + 3);
    expect([again.notification.acknowledged?.times, hasWorsened(again)]).toEqual([2, false]);
    // No other recipient is not reached, and it ends with too few.
    const key = acknowledged(toConfirm, 'Ana', START);
    expect([ended(key, 0, 'cannot_go'), confirmed(key)].map(hasWorsened)).toEqual([true, false]);
  });
});
