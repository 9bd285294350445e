import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { FIRST_VIEW, readView, type Span, viewSearch, withoutKey } from '../../../src/dashboard/browser/model/view.ts';

const TIMES = { start: '2026-11-20T08:00:00Z', end: '2026-11-20T23:59:59.999999Z' };

it.each<Span>([
  { kind: 'today' },
  { kind: 'day', date: '2026-11-20' },
  { kind: 'range', ...TIMES },
  { kind: 'last', length: '30d' },
])('the address of a view of %o is read as the same view, also with odd ids', (span) => {
  const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 128 });
  const option = fc.option(text, { nil: undefined });
  const clock = fc.constantFrom('local', 'utc');
  fc.assert(
    fc.property(option, text, option, clock, fc.boolean(), (cameraId, orderBy, notification, of, wall) => {
      const view = { span, cameraId, orderBy, notification, clock: of, wall };
      expect(readView(viewSearch(view))).toEqual({ view, problems: [] });
    }),
  );
});

it.each([
  '?date=2026-02-30',
  '?date=21.11.2026',
  '?ts_utc_start=2026-11-21T00:00:00Z',
  '?ts_utc_start=yesterday&ts_utc_end=today',
  '?last=2h',
  '?ts_utc_start=0001-01-01T00:00:00Z&ts_utc_end=0001-01-02T00:00:00Z',
  '?ts_utc_start=9999-12-31T00:00:00Z&ts_utc_end=9999-12-31T23:59:59.999999Z',
])('the time of %s is not valid: the page says so, and shows today', (search) => {
  expect(readView(search)).toEqual({
    view: FIRST_VIEW,
    problems: [expect.stringMatching(/(is|are) not valid\. The page shows today\. Write date=2026-11-21, last=6h/)],
  });
});

it('an address names everything that is wrong with it, once each', () => {
  const { view, problems } = readView(
    '?camera=a&camera=b&tz=mars&order_by=&notification=&camera_id=one&camera_id=two&date=2026-11-21&last=1h',
  );
  expect(view).toEqual({ ...FIRST_VIEW, cameraId: 'one', span: { kind: 'day', date: '2026-11-21' } });
  expect(problems).toEqual([
    'camera is not a parameter of this page.',
    'order_by is empty.',
    'notification is empty.',
    'camera_id is given more than once: the first counts.',
    'The address has more than one period. The page shows the day.',
    'tz must be utc or local: times are local.',
  ]);
});

it('the + of an offset may arrive as a space', () => {
  const { view } = readView('?ts_utc_start=2026-11-21T10:00:00+02:00&ts_utc_end=2026-11-21T09:00:00');
  expect(view.span).toEqual({ kind: 'range', start: '2026-11-21T08:00:00Z', end: '2026-11-21T09:00:00Z' });
});

it('a key is removed from an address, and nothing else', () => {
  const addresses = ['?code=secret', '?date=2026-11-21&CODE=secret&clientId=name', '?camera_id=code'];
  expect(addresses.map(withoutKey)).toEqual(['', '?date=2026-11-21', '?camera_id=code']);
});
