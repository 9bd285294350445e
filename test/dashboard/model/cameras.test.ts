import { expect, it } from 'vitest';

import { firstState, orderOf } from '../../../src/dashboard/browser/model/page-state.ts';
import { FIRST_VIEW } from '../../../src/dashboard/browser/model/view.ts';

it('the cameras are ordered by fire, unless the service knows no fire', () => {
  const state = firstState({ view: FIRST_VIEW, addressProblems: [], keyHeld: true, isHidden: false, sawPhone: false });
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
  const activity = { subject: '', answer, failures: 0 };

  expect(orderOf(state)).toBe('fire');
  expect(orderOf({ ...state, parts: { activity } })).toBe('total_events');
});
