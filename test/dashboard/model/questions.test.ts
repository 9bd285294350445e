import { describe, expect, it } from 'vitest';

import {
  activityQuestion,
  apiBase,
  camerasQuestion,
  periodOf,
  seriesQuestion,
  storyQuestion,
} from '../../../src/dashboard/browser/model/questions.ts';
import { FIRST_VIEW } from '../../../src/dashboard/browser/model/view.ts';

const NOW = Date.parse('2026-11-21T16:40:00Z');

describe('what the page asks', () => {
  it('is about the current day at first', () => {
    expect(activityQuestion(FIRST_VIEW, NOW)).toBe('analytics/day?date=2026-11-21');
    expect(periodOf(FIRST_VIEW, NOW)).toEqual({
      start: '2026-11-21T00:00:00Z',
      end: '2026-11-21T23:59:59.999999Z',
    });
    expect(camerasQuestion(FIRST_VIEW, 15, NOW)).toBe(
      'analytics/cameras?date=2026-11-21&order_by=total_events&limit=15',
    );
  });

  it('is about the next day after midnight', () => {
    expect(activityQuestion(FIRST_VIEW, Date.parse('2026-11-22T00:00:00Z'))).toBe('analytics/day?date=2026-11-22');
  });

  it('lets the service work out the ends of the sliding window', () => {
    const view = { ...FIRST_VIEW, span: { kind: 'window' }, cameraId: 'a&b' } as const;

    expect(activityQuestion(view, NOW)).toBe('analytics?camera_id=a%26b');
    expect(periodOf(view, NOW)).toBeUndefined();
  });

  it('has a step that suits the range', () => {
    const ends = { start: '2026-11-21T00:00:00Z', end: '2026-11-21T23:59:59.999999Z' };

    expect(new URLSearchParams(seriesQuestion(ends, 'ridge-04').split('?')[1]).toString()).toBe(
      new URLSearchParams({
        ts_utc_start: ends.start,
        ts_utc_end: ends.end,
        step: 'hour',
        camera_id: 'ridge-04',
      }).toString(),
    );
  });

  it('escapes ids in paths', () => {
    expect(storyQuestion('a/../b?c#d')).toBe('notifications/a%2F..%2Fb%3Fc%23d');
  });

  it.each([
    ['/api/dashboard', '/api/'],
    ['/api/dashboard/', '/api/'],
    ['/behind/a/proxy/dashboard', '/behind/a/proxy/'],
    ['/dashboard', '/'],
  ])('goes, from a page at %s, to paths below %s', (pathname, base) => {
    expect(apiBase(pathname)).toBe(base);
  });
});
