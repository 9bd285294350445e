import { describe, expect, it } from 'vitest';

import {
  afterEvent,
  firstState,
  orderOf,
  panelAbout,
  refusalsOf,
} from '../../../src/dashboard/browser/model/page-state.ts';
import { FIRST_VIEW } from '../../../src/dashboard/browser/model/view.ts';

const cameras = { date: '2026-11-21', days: 1, total_cameras: 0, cameras: [] };
const shown = afterEvent(firstState(FIRST_VIEW, [], true), {
  kind: 'panels changed',
  panels: { cameras: { subject: 'day 1', answer: cameras, trouble: undefined } },
});

describe('a panel', () => {
  it('never shows the answer to another question', () => {
    expect(panelAbout(shown.panels.cameras, 'day 2', undefined)).toEqual({
      subject: 'day 2',
      answer: undefined,
      trouble: undefined,
    });
  });

  it('stays the same object for the same question', () => {
    expect(panelAbout(shown.panels.cameras, 'day 1', undefined)).toBe(shown.panels.cameras);
  });
});

describe('the page', () => {
  it('keeps what it shows when the service does not take the key any more', () => {
    const locked = afterEvent(shown, {
      kind: 'round ended',
      outcome: { kind: 'unauthorized', keySent: true },
      now: 1,
      chance: 0,
      byHand: false,
    });

    expect(locked).toMatchObject({ keyHeld: false, refresh: { phase: 'locked', refused: true } });
    expect(locked.panels.cameras.answer).toBe(cameras);
  });

  it('shows nothing any more when somebody takes the key away', () => {
    const left = afterEvent(shown, { kind: 'key forgotten' });

    expect(left).toMatchObject({ keyHeld: false, refresh: { phase: 'locked', refused: false } });
    expect(Object.values(left.panels).every(({ answer }) => answer === undefined)).toBe(true);
  });

  it('asks when a key is given', () => {
    const left = afterEvent(shown, { kind: 'key forgotten' });

    expect(afterEvent(left, { kind: 'key given' })).toMatchObject({ keyHeld: true, refresh: { phase: 'asking' } });
  });
});

it('the cameras are ordered by fire, unless the service knows no fire', () => {
  const counts = { total_events: 0, reviewed_total_events: 0, annotated_total_events: 0 };
  const maps = { reviewed_counts_per_category: {}, annotated_counts_per_category: {} };
  const answer = {
    ...counts,
    ...maps,
    ts_utc_start: '',
    ts_utc_end: '',
    active_cameras: 0,
    counts_per_category: { flame: 0 },
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
