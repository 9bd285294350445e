import { expect, it } from 'vitest';

import type { Activity } from '../../../src/dashboard/browser/model/answers.ts';
import {
  afterEvent,
  firstState,
  orderOf,
  panelAbout,
  refusalsOf,
} from '../../../src/dashboard/browser/model/page-state.ts';
import { FIRST_VIEW } from '../../../src/dashboard/browser/model/view.ts';

const cameras = { date: '2026-11-21', days: 1, total_cameras: 0, cameras: [] };
const state = firstState(FIRST_VIEW, [], true);
const shown = afterEvent(state, {
  kind: 'panels changed',
  panels: { cameras: { subject: 'day 1', answer: cameras, trouble: undefined } },
});

it('a panel never shows the answer to another question, and stays the same object for the same one', () => {
  const { cameras: panel } = shown.panels;
  expect(panelAbout(panel, 'day 2', undefined)).toEqual({ subject: 'day 2', answer: undefined, trouble: undefined });
  expect(panelAbout(panel, 'day 1', undefined)).toBe(panel);
});

it('the page keeps what it shows when the key is not taken any more, and nothing when somebody takes the key away', () => {
  const outcome = { kind: 'unauthorized', keySent: true } as const;
  const locked = afterEvent(shown, { kind: 'round ended', outcome, now: 1, chance: 0, byHand: false });
  expect(locked).toMatchObject({ keyHeld: false, refresh: { phase: 'locked', refused: true } });
  expect(locked.panels).toBe(shown.panels);

  const left = afterEvent(shown, { kind: 'key forgotten' });
  expect(left).toEqual({ ...state, keyHeld: false, refresh: { phase: 'locked', refused: false } });
  expect(afterEvent(left, { kind: 'key given' })).toMatchObject({ keyHeld: true, refresh: { phase: 'asking' } });
});

it('the cameras are ordered by fire, unless the service knows no fire', () => {
  const answer: Activity = {
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

  expect(orderOf(shown)).toBe('fire');
  expect(orderOf({ ...shown, panels: { ...shown.panels, activity } })).toBe('total_events');
});

it('what two questions were refused for is said once', () => {
  const trouble = { kind: 'refused', status: 400, detail: 'ts_utc_end is too far away' } as const;
  const panel = { subject: '', answer: undefined, trouble };

  expect(refusalsOf({ ...shown.panels, activity: panel, series: panel })).toEqual([trouble]);
});
