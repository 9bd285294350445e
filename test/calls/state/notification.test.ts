import { describe, expect, it } from 'vitest';

import { alertTypeOf } from '../../../src/calls/model/alert-types.ts';
import { parseCallId } from '../../../src/calls/model/ids.ts';
import type { Callee, NotificationRequest } from '../../../src/calls/model/notification-request.ts';
import type { Attempt } from '../../../src/calls/state/attempt.ts';
import {
  checkAtOfNotification,
  hasRung,
  isUnderWay,
  lookedAt,
  type NotificationCase,
  withRecipient,
} from '../../../src/calls/state/notification.ts';
import { final, type FinalState, type Recipient } from '../../../src/calls/state/recipient.ts';
import { termsOf } from '../../../src/calls/state/step.ts';
import { callees, newCase, POLICY } from '../new-case.ts';

const START = Date.parse('2026-11-21T08:00:00Z');
const WAVE_MS = 120_000;
const [callId] = [parseCallId('call-1')];
if (callId === undefined) throw new Error('malformed');

const fire = (waves: readonly (readonly Callee[])[], more: Partial<NotificationRequest> = {}): NotificationCase =>
  newCase(START, { alertType: alertTypeOf('ConfirmedFire'), waves, ...more });
const inWaves = (...people: readonly number[]) =>
  fire(
    people.map((count, wave) => callees(count, wave * 10)),
    { confirm: true, waveMs: WAVE_MS },
  );
const states = ({ recipients }: NotificationCase): string => recipients.map(({ state }) => state).join(' ');
const lookAt = (known: NotificationCase, ms: number): NotificationCase =>
  lookedAt(known, () => true, termsOf(known, POLICY), START + ms);
const must = <Value>(value: Value | undefined): Value => {
  if (value === undefined) throw new Error('nobody');
  return value;
};

const base = { id: 'a', line: 'acs', claimedAt: START, openThen: 0, callIds: [callId], placedAt: START };
const RINGING: Attempt = { ...base, state: 'ringing' };
const spokenTo = (more: object = {}): Attempt => ({
  ...base,
  state: 'speaking',
  talk: { answeredAt: START, speech: { number: 0, askedAt: START }, repeatKeys: [], ...more },
});
const over = (endedAt: number): Attempt => ({ ...base, state: 'over', endedAt, heardUntil: endedAt, outcome: 'busy' });

const calling = (known: NotificationCase, index: number, attempt: Attempt, now = START): NotificationCase => {
  const { number, wave } = must(known.recipients[index]);
  const recipient: Recipient = { state: 'calling', number, wave, attempts: [attempt] };
  return withRecipient(known, index, recipient, now);
};
const ended = (known: NotificationCase, index: number, state: FinalState, now = START): NotificationCase =>
  withRecipient(known, index, final(must(known.recipients[index]), state), now);

const isMasked = ({ recipients }: NotificationCase) => recipients.map(({ number }) => number.includes('•'));
const checkAt = (known: NotificationCase) => (checkAtOfNotification(known, termsOf(known, POLICY)) ?? NaN) - START;

describe('a new notification', () => {
  it('waits, all of its first wave at once', () => {
    expect(states(fire([callees(3)]))).toBe('waiting waiting waiting');
    expect(states(inWaves(1, 2))).toBe('waiting later later');
  });

  it('has failed for recipients that are never called, or if no call of the day is left', () => {
    const rules = { deadlineMs: 1_800_000, allowedPrefixes: ['+12065551001'] };
    const some = newCase(START, { waves: [callees(2)] }, { rules });
    expect(states(some)).toBe('failed waiting');
    const none = newCase(START, { waves: [callees(2)] }, { isOverDayLimit: true });
    expect([states(none), none.notification.completedAt]).toEqual(['failed failed', START]);
  });

  it('masks a reference that is a phone number', () => {
    expect(fire([callees(1)], { reference: '+12065550100' }).notification.reference).toBe('+1206•••••00');
    expect(fire([callees(1)], { reference: 'ridge-04' }).notification.reference).toBe('ridge-04');
  });
});

describe('waves', () => {
  it('follow one another, and do not begin after the deadline', () => {
    const known = inWaves(1, 1, 1);
    expect(states(lookAt(known, WAVE_MS - 1))).toBe('waiting later later');
    const second = lookAt(known, WAVE_MS);
    expect([states(second), second.notification.nextWaveAt]).toEqual(['waiting waiting later', START + 2 * WAVE_MS]);
    expect(states(lookAt(known, 1_800_000 - 1))).toBe('waiting waiting later');
    expect(states(lookAt(known, 1_800_000))).toBe('not_reached not_reached not_reached');
  });

  type News = 'confirms' | 'cannot go' | 'not reached';
  const told = (known: NotificationCase, index: number, news: News, now: number): NotificationCase => {
    if (news === 'not reached') return ended(known, index, 'not_reached', now);
    return calling(known, index, spokenTo(news === 'confirms' ? { confirmedAt: now } : { cannotGoAt: now }), now);
  };

  // Two people in the first wave, two in the second.
  it.each<[needed: number | undefined, News[], nextNow: boolean, isEnough: boolean]>([
    [1, ['cannot go'], false, false],
    [1, ['cannot go', 'not reached'], true, false],
    [1, ['cannot go', 'confirms'], false, true],
    [undefined, ['confirms'], false, true],
    [2, ['confirms'], false, false],
    [2, ['confirms', 'cannot go'], true, false],
    [2, ['confirms', 'confirms'], false, true],
    // Two cannot be three: the second wave is called beside the first.
    [3, [], true, false],
    [3, ['confirms', 'confirms'], true, false],
  ])('needed %s, and they %j: the next at once %s, enough %s', (confirmationsNeeded, news, isNextNow, isEnough) => {
    const waves = [callees(2), callees(2, 2)];
    const start = fire(waves, { confirm: true, waveMs: WAVE_MS, confirmationsNeeded });
    const now = START + 30_000;
    const known = news.reduce((before, what, index) => told(before, index, what, now), start);
    const { nextWaveAt, confirmedAt } = known.notification;
    expect(nextWaveAt !== undefined && nextWaveAt <= now).toBe(isNextNow);
    expect(confirmedAt).toBe(isEnough ? now : undefined);
    expect(known.recipients.slice(2).map(({ state }) => state)).toEqual(Array(2).fill(isEnough ? 'stopped' : 'later'));
  });

  it('without them, a confirmation stops nobody', () => {
    const known = calling(fire([callees(2)], { confirm: true }), 0, spokenTo({ confirmedAt: START }));
    expect([states(known), known.notification.confirmedAt]).toEqual(['calling waiting', undefined]);
  });
});

describe('its end', () => {
  const known = fire([callees(2)]);

  it('comes when all are final; numbers are kept until no call is open either', () => {
    const open = ended(calling(known, 0, RINGING), 1, 'heard', START + 5);
    expect([open.notification.completedAt, isMasked(open)]).toEqual([undefined, [false, false]]);
    const { number, wave } = must(open.recipients[0]);
    // Somebody answered after a final word.
    const late = withRecipient(open, 0, { state: 'not_reached', number, wave, attempts: [spokenTo()] }, START + 6);
    expect([late.notification.completedAt, isUnderWay(late), isMasked(late)]).toEqual([
      START + 6,
      true,
      [false, false],
    ]);
    const done = withRecipient(late, 0, { state: 'not_reached', number, wave, attempts: [over(START + 7)] }, START + 7);
    expect([done.notification.completedAt, isUnderWay(done), isMasked(done)]).toEqual([START + 6, false, [true, true]]);
  });
});

it.each<[what: string, attempt: Attempt, ms: number, has: boolean]>([
  ['rings for less than 6 s', RINGING, 5_999, false],
  ['rings for 6 s', RINGING, 6_000, true],
  ['is answered', spokenTo(), 0, true],
  ['was busy after 5.999 s', over(START + 5_999), 60_000, false],
  ['rang for 6 s', over(START + 6_000), 60_000, true],
])('a phone that %s has rung: %#', (_, attempt, ms, has) => {
  expect(hasRung(calling(fire([callees(2)]), 0, attempt), START + ms)).toBe(has);
});

it('is checked when a call, a wave or the deadline is due', () => {
  const two = fire([callees(2)]);
  expect([checkAt(two), checkAt(calling(two, 0, RINGING)), checkAt(inWaves(1, 1))]).toEqual([
    1_800_000,
    60_000,
    WAVE_MS,
  ]);
  const done = ended(ended(two, 0, 'heard'), 1, 'heard');
  expect(checkAtOfNotification(done, termsOf(done, POLICY))).toBeUndefined();
});
