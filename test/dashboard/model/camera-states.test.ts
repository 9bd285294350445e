import { expect, it } from 'vitest';

import { cameraStatesOf } from '../../../src/dashboard/browser/model/camera-states.ts';
import type { PageState } from '../../../src/dashboard/browser/model/page-state.ts';
import { before, NOON } from '../answers.ts';

/** @param lastSeen seconds before noon; `sending` are active in the last 15 minutes */
const partsOf = (lastSeen: Readonly<Record<string, number>>, sending: readonly string[]): Pick<PageState, 'parts'> => {
  const cameras = Object.entries(lastSeen).map(([id, seconds]) => ({ camera_id: id, last_event_at: before(seconds) }));
  const counts = { total_events: 0, reviewed_total_events: 0, annotated_total_events: 0, active_cameras: 0 };
  const maps = { counts_per_category: {}, reviewed_counts_per_category: {}, annotated_counts_per_category: {} };
  const recent = { ts_utc_start: '', ts_utc_end: '', ...counts, ...maps, active_camera_ids: [...sending] };
  const part = { subject: '', failures: 0, answeredAt: NOON };
  return { parts: { known: { ...part, answer: { cameras } }, recent: { ...part, answer: recent } } };
};

const statesOf = (lastSeen: Readonly<Record<string, number>>, sending: readonly string[] = []) =>
  cameraStatesOf(partsOf(lastSeen, sending), NOON);

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
});

it.each([
  ['1 of 11', 1, 11, false],
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
  expect(cameraStatesOf({ parts: {} }, NOON)).toBeUndefined();
});
