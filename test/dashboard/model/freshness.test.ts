import { expect, it } from 'vitest';

import { type Freshness, freshnessOf, partNote, standingOf } from '../../../src/dashboard/browser/model/freshness.ts';
import { firstState, type PageState, type Parts } from '../../../src/dashboard/browser/model/page-state.ts';
import type { Part, Trouble } from '../../../src/dashboard/browser/model/refresh.ts';
import { FIRST_VIEW } from '../../../src/dashboard/browser/model/view.ts';
import { NOON } from '../answers.ts';

/** A part with an answer of some time before noon, which is current until noon. */
const answered = <Answer>(answer: Answer, secondsBeforeNoon: number): Part<Answer> => ({
  subject: '',
  answer,
  answeredAt: NOON - secondsBeforeNoon * 1_000,
  lateFrom: NOON,
  failures: 0,
});

const NONE = { notifications: [] };
const UNREACHABLE: Trouble = { kind: 'unreachable' };
const PHONE_OFF: Trouble = { kind: 'unavailable', status: 503, detail: '', code: 'phone_off', retryAfterMs: undefined };

const stateOf = (parts: Parts, different: Partial<PageState> = {}): PageState => ({
  ...firstState({
    view: { ...FIRST_VIEW, clock: 'utc' },
    addressProblems: [],
    keyHeld: false,
    isHidden: false,
    sawPhone: true,
  }),
  parts,
  ...different,
});

const freshness = (parts: Parts, different: Partial<PageState> = {}, now = NOON): Freshness =>
  freshnessOf(stateOf(parts, different), now);

it('an answer is current until its last moment, then the page asks until the timeout, then it is old', () => {
  const part = { ...answered(NONE, 8), waitsUntil: NOON + 2_000 };
  expect([0, 1, 2_000, 2_001].map((after) => standingOf(part, NOON + after))).toEqual([
    'current',
    'asking',
    'asking',
    'old',
  ]);
  expect([0, 1].map((after) => freshness({ attention: part }, {}, NOON + after).areAlertsOld)).toEqual([false, true]);
});

it('a part that failed is not current, whatever its age; PHONE=off is not a failure', () => {
  const standings = [UNREACHABLE, PHONE_OFF].map((trouble) => standingOf({ ...answered(NONE, 8), trouble }, NOON));
  expect(standings).toEqual(['failing', 'no phone']);
});

it('the page is as old as the oldest part that it asks for at least once a minute', () => {
  const parts = {
    attention: answered(NONE, 2),
    notifications: answered(NONE, 4),
    known: answered({ cameras: [] }, 500),
  };
  expect(freshness(parts)).toMatchObject({ standing: 'current', asOf: NOON - 4_000, oldParts: [] });
});

it('of parts that are not current, the oldest counts; without any answer there is no age', () => {
  const failing = { attention: { ...answered(NONE, 2), trouble: UNREACHABLE, nextAt: NOON + 9_000 } };
  const both = {
    ...failing,
    notifications: { ...answered(NONE, 30), trouble: UNREACHABLE, nextAt: NOON + 3_000 },
    known: answered({ cameras: [] }, 500),
  };
  expect(freshness(both)).toMatchObject({
    standing: 'old',
    oldParts: ['alerts'],
    asOf: NOON - 30_000,
    problems: [{ text: 'The service does not answer.', asOf: NOON - 30_000, nextAt: NOON + 3_000 }],
  });
  expect(freshness(failing).oldParts, 'all parts').toEqual([]);
  const never = { attention: { subject: '', answer: undefined, failures: 1, trouble: UNREACHABLE } };
  expect(freshness({ ...both, ...never }).asOf).toBeUndefined();
});

it('a hidden tab judges both answers about alerts, and nothing else', () => {
  const old = { ...answered(NONE, 90), lateFrom: NOON - 1 };
  const hidden = { isHidden: true };
  const parts = { attention: answered(NONE, 8), notifications: answered(NONE, 8), recent: undefined };
  expect(freshness({ ...parts, known: { ...answered({ cameras: [] }, 9), lateFrom: 0 } }, hidden).standing).toBe(
    'current',
  );
  expect(freshness({ ...parts, attention: old }, hidden)).toMatchObject({ standing: 'old', oldParts: ['alerts'] });
  expect(freshness({ ...parts, notifications: old }, hidden)).toMatchObject({ standing: 'old', oldParts: ['alerts'] });
});

it('a link to an unknown alert, or a figure without its comparison, makes nothing old', () => {
  const failing = { subject: '', answer: undefined, failures: 1, trouble: UNREACHABLE };
  const parts = { attention: answered(NONE, 2), story: failing, previous: failing };
  expect(freshness(parts)).toMatchObject({ standing: 'current', problems: [] });
});

it('before its first question the page is loading', () => {
  expect(freshness({})).toMatchObject({ standing: 'loading', asOf: undefined });
});

const note = (parts: Parts, name: keyof Parts, different: Partial<PageState> = {}) =>
  partNote(stateOf(parts, different), name, NOON);

it('a part says as of when it is true: alerts as soon as they are old, figures after one more question', () => {
  const asking = { ...answered(NONE, 8), lateFrom: NOON - 1, waitsUntil: NOON + 2_000 };
  expect(note({ attention: answered(NONE, 8) }, 'attention')).toBeUndefined();
  expect(note({ attention: asking }, 'attention')).toBe('As of 21 Nov 11:59:52 UTC');
  const { answeredAt, ...first } = asking;
  expect(answeredAt).toBeDefined();
  expect(note({ attention: first }, 'attention'), 'the first answer').toBeUndefined();
  expect(note({ known: { ...asking, answer: { cameras: [] } } }, 'known')).toBeUndefined();
  expect(note({ attention: answered(NONE, 8) }, 'attention', { locked: { refused: true } })).toBe(
    'As of 21 Nov 11:59:52 UTC',
  );
  const failing = { subject: '', answer: undefined, failures: 1 };
  expect(note({ attention: { ...failing, trouble: UNREACHABLE } }, 'attention')).toBe('Not current');
  expect(note({ attention: { ...failing, trouble: PHONE_OFF } }, 'attention')).toBeUndefined();
});
