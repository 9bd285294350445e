import { expect, it } from 'vitest';

import { cameraIdsOf, cameraStatesOf } from '../../../src/dashboard/browser/model/camera-states.ts';
import type { PageState } from '../../../src/dashboard/browser/model/page-state.ts';
import { recentPeriod } from '../../../src/dashboard/browser/model/spans.ts';
import { before, NOON } from '../answers.ts';

const COUNTS = {
  total_events: 0,
  counts_per_category: {},
  reviewed_total_events: 0,
  reviewed_counts_per_category: {},
  annotated_total_events: 0,
  annotated_counts_per_category: {},
};

/** @param lastSeen seconds before noon; `sending` are active in the last 15 minutes */
const partsOf = (lastSeen: Readonly<Record<string, number>>, sending: readonly string[]): Pick<PageState, 'parts'> => {
  const cameras = Object.entries(lastSeen).map(([id, seconds]) => ({ camera_id: id, last_event_at: before(seconds) }));
  const recent = { ts_utc_start: '', ts_utc_end: '', active_cameras: 0, ...COUNTS, active_camera_ids: [...sending] };
  const part = { subject: '', failures: 0, answeredAt: NOON };
  return { parts: { known: { ...part, answer: { cameras } }, recent: { ...part, answer: recent } } };
};

const statesOf = (lastSeen: Readonly<Record<string, number>>, sending: readonly string[] = []) =>
  cameraStatesOf(partsOf(lastSeen, sending));

const DAY = 86_400;

it('a camera sends, is silent after 15 minutes, and gone after 7 days; the latest silence comes first', () => {
  const states = statesOf({ now: 899, silent: 900, long: 7 * DAY - 1, gone: 7 * DAY, again: 8 * DAY }, [
    'again',
    'new',
  ]);
  expect(Object.fromEntries([...(states?.byId ?? [])].map(([id, { state }]) => [id, state]))).toEqual({
    now: 'sending',
    silent: 'silent',
    long: 'silent',
    gone: 'gone',
    again: 'sending',
    new: 'sending',
  });
  expect(states?.notSending.map(({ id }) => id)).toEqual(['silent', 'long', 'gone']);
  expect([states?.sending, states?.total]).toEqual([3, 6]);
  // Its state is as old as the answer.
  expect(states?.byId.get('new')?.lastEventAt).toBe(before(0));
});

it('cameras that are silent for the same time are in the order of their ids', () => {
  expect(statesOf({ b: 900, c: 900, a: 900 })?.notSending.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
});

it('the ids to choose from are of all answers about cameras, each once, in order', () => {
  const { parts } = partsOf({ silent: 900, both: 60 }, ['both', 'new']);
  const cameras = [{ camera_id: 'listed', ...COUNTS, flagged: {}, confirmed: {}, missed: {} }];
  const listed = { subject: '', failures: 0, answer: { date: '', days: 1, total_cameras: 1, cameras } };
  expect(cameraIdsOf({ parts: { ...parts, cameras: listed } })).toEqual(['both', 'listed', 'new', 'silent']);
  expect(cameraIdsOf({ parts: { recent: parts.recent } })).toEqual(['both', 'new']);
});

it('cameras of the last 15 minutes are recent; the question changes once a minute', () => {
  const period = { start: '2026-11-21T11:45:00Z', end: '2026-11-21T11:59:59.999999Z' };
  expect([recentPeriod(NOON), recentPeriod(NOON + 59_999)]).toEqual([period, period]);
});

it.each([
  ['1 of 11', 1, 11, false],
  ['10 of 101', 10, 101, false],
  ['1 of 10', 1, 10, true],
  ['199 of 200', 199, 200, true],
  ['all of 200', 200, 200, true],
  ['none of 200', 0, 200, false],
  ['none of none', 0, 0, false],
])('%s silent for 8 days: many are silent: %4$s', (_, silent, total, expected) => {
  const ids = Array.from({ length: total }, (_each, index) => [`camera-${index}`, index < silent ? 8 * DAY : 60]);
  expect(statesOf(Object.fromEntries(ids))?.areManySilent).toBe(expected);
});

it('nothing is known before both answers', () => {
  expect(cameraStatesOf({ parts: {} })).toBeUndefined();
});
