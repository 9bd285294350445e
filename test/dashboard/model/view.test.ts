import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import {
  addressTime,
  FIRST_VIEW,
  type Last,
  readView,
  type Span,
  viewSearch,
  withoutKey,
} from '../../../src/dashboard/browser/model/view.ts';

const date = fc
  .date({ min: new Date('2000-01-01T00:00:00Z'), max: new Date('2100-01-01T00:00:00Z'), noInvalidDate: true })
  .map((each) => each.toISOString());

const span: fc.Arbitrary<Span> = fc.oneof(
  fc.constant<Span>({ kind: 'today' }),
  fc.constantFrom<Last>('1h', '6h', '24h', '7d', '30d').map((length): Span => ({ kind: 'last', length })),
  date.map((each): Span => ({ kind: 'day', date: each.slice(0, 10) })),
  fc
    .tuple(date, date)
    .map(([start, end]): Span => ({ kind: 'range', start: addressTime(start) ?? '', end: addressTime(end) ?? '' })),
);

const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 128 });
const option = fc.option(text, { nil: undefined });
const clock = fc.constantFrom('local', 'utc');

it('the address of a view is read as the same view, whatever the camera is called', () => {
  fc.assert(
    fc.property(fc.record({ span, cameraId: option, orderBy: text, notification: option, clock }), (view) => {
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
])('the time of %s is not valid: the page says so, and shows today', (search) => {
  expect(readView(search)).toEqual({
    view: FIRST_VIEW,
    problems: [expect.stringMatching(/(is|are) not valid\. The page shows today\. Write date=2026-11-21, last=6h/)],
  });
});

it('an address names everything that is wrong with it, once each', () => {
  const { view, problems } = readView('?camera=a&camera=b&tz=mars&order_by=&notification=&camera_id=one&camera_id=two');
  expect(view).toEqual({ ...FIRST_VIEW, cameraId: 'one' });
  expect(problems).toEqual([
    'camera is not a parameter of this page.',
    'order_by is empty.',
    'notification is empty.',
    'camera_id is given more than once: the first counts.',
    'tz must be utc or local: times are local.',
  ]);
  expect(readView('?date=2026-11-21&last=1h').problems).toEqual([
    'The address has more than one period. The page shows the day.',
  ]);
});

it('the + of an offset may arrive as a space', () => {
  expect(readView('?ts_utc_start=2026-11-21T10:00:00+02:00&ts_utc_end=2026-11-21T09:00:00').view.span).toEqual({
    kind: 'range',
    start: '2026-11-21T08:00:00Z',
    end: '2026-11-21T09:00:00Z',
  });
});

it.each([
  ['?code=secret', ''],
  ['?date=2026-11-21&CODE=secret&clientId=name', '?date=2026-11-21'],
  ['?camera_id=code', '?camera_id=code'],
])('a key is removed from %s', (search, without) => {
  expect(withoutKey(search)).toBe(without);
});
