import { expect, it } from 'vitest';

import { nearestIds } from '../../../src/dashboard/browser/model/camera-ids.ts';
import { firstState, orderOf } from '../../../src/dashboard/browser/model/page-state.ts';
import { FIRST_VIEW } from '../../../src/dashboard/browser/model/view.ts';

it('the cameras are ordered by fire, unless the service knows no fire', () => {
  const state = firstState(FIRST_VIEW, [], true);
  const answer = {
    ts_utc_start: '',
    ts_utc_end: '',
    active_cameras: 0,
    total_events: 0,
    counts_per_category: { flame: 0 },
    reviewed_total_events: 0,
    reviewed_counts_per_category: {},
    annotated_total_events: 0,
    annotated_counts_per_category: {},
  };
  const activity = { subject: '', answer, trouble: undefined };

  expect(orderOf(state)).toBe('fire');
  expect(orderOf({ ...state, panels: { ...state.panels, activity } })).toBe('total_events');
});

it('the nearest names are those that contain what was written, and those with a few signs changed', () => {
  const ids = ['ridge-04', 'ridge-05', 'Ridge-40', 'bear-creek', 'hawk-hill'];

  expect(nearestIds('rigde-04', ids)[0]).toBe('ridge-04');
  expect(nearestIds('BEAR', ids)).toEqual(['bear-creek']);
  expect(nearestIds('zzz', ids)).toEqual([]);
});
