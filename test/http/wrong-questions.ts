import { NO_DAYS } from '../analytics/model/no-days.ts';

/** Valid ends of a range. */
export const [START, END] = ['ts_utc_start=2026-11-21T00:00:00Z', 'ts_utc_end=2026-11-21T01:00:00Z'];

/** Texts that are not a time, URL-encoded. */
export const NO_TIMES = [
  'yesterday',
  'now',
  'null',
  '0',
  '1795248000',
  '1795248000000',
  '2026-11-21',
  '2026-11-21T',
  '2026-11-21T08',
  '2026-11-21T08:00',
  '2026-11-21T08:00Z',
  '2026-11-21T8:00:00Z',
  '2026-11-21%2008:00:00Z',
  '20261121T080000Z',
  '2026-11-21T08:00:00.Z',
  '2026-11-21T08:00:00,5Z',
  '2026-11-21T08:00:00.1234567890123Z',
  '2026-11-21T24:00:00Z',
  '2026-11-21T23:59:60Z',
  '2026-11-21T23:60:00Z',
  '2026-02-29T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2100-02-29T00:00:00Z',
  '2026-04-31T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-00-01T00:00:00Z',
  '2026-01-00T00:00:00Z',
  '0000-01-01T00:00:00Z',
  '10000-01-01T00:00:00Z',
  '-2026-11-21T08:00:00Z',
  '%2B002026-11-21T08:00:00Z',
  '2026-11-21T08:00:00%2B24:00',
  '2026-11-21T08:00:00%2B01:60',
  '2026-11-21T08:00:00%2B1',
  '2026-11-21T08:00:00++01:00',
  '2026-11-21T08:00:00+Z',
  '2026-11-21T08:00:00UTC',
  '2026-11-21T08:00:00Z%00',
  '2026-11-21T08:00:00Z%0A',
  '+2026-11-21T08:00:00Z',
  '2026-11-21T08:00:00Z+',
  '2026-W47-6T08:00:00Z',
  '２０２６-11-21T08:00:00Z',
  '2026-11-21T08:00:00Z,2026-11-21T09:00:00Z',
  '9999-12-31T23:59:59-00:01',
  '0001-01-01T00:00:00%2B00:01',
  '%FF',
];

/** Invalid camera ids, URL-encoded, and what the problem says about each. */
export const NO_CAMERAS: readonly (readonly [string, string])[] = [
  ['x'.repeat(129), 'longer than 128'],
  ['%F0%9F%94%A5'.repeat(65), 'longer than 128'],
  ['%00', 'control character'],
  ['a%0Ab', 'control character'],
  ['a%09b', 'control character'],
  ['%7F', 'control character'],
  ['%C2%85', 'control character'],
  ['%EF%BF%BF', 'not a character'],
  ['%EF%B7%90', 'not a character'],
];

/** Texts that are not a day, URL-encoded. */
export const NO_DAYS_IN_URLS = [...NO_DAYS.map(encodeURIComponent), '+2026-11-21', '%FF'];

/** What is wrong, the query, and the parameters that the problem must name. */
export type WrongQuery = readonly [what: string, query: string, named: readonly string[]];

/** Wrong queries of `GET /api/analytics`. */
export const WRONG_RANGES: readonly WrongQuery[] = [
  ['camera for camera_id', 'camera=ridge-04', ['camera']],
  ['camera_id in other letters', 'Camera_Id=ridge-04', ['Camera_Id']],
  ['camera_ids', 'camera_ids=a', ['camera_ids']],
  ['ids that are neither wanted nor not', 'active_camera_ids=no', ['active_camera_ids']],
  ['a parameter of the other endpoint', 'date=2026-11-21', ['date']],
  ['an unknown parameter beside good ones', `${START}&${END}&limit=5`, ['limit']],
  ['an unknown parameter that is empty', 'limit=', ['limit']],
  ['several unknown parameters, each', 'limit=5&offset=3', ['limit', 'offset']],
  [
    'a parameter called as JavaScript calls something',
    '__proto__=1&constructor=2&toString=3',
    ['__proto__', 'constructor', 'toString'],
  ],
  ['a parameter without a name', '=5', ['(no name)']],
  ['a name with a space at its end', 'camera_id%20=a', ['camera_id ']],
  ['something like the key of the host', 'codes=1', ['codes']],
  ['an empty start', `ts_utc_start=&${END}`, ['ts_utc_start']],
  ['a start without a value', `ts_utc_start&${END}`, ['ts_utc_start']],
  ['an empty end', `${START}&ts_utc_end=`, ['ts_utc_end']],
  ['empty ends, both', 'ts_utc_start=&ts_utc_end=', ['ts_utc_start', 'ts_utc_end']],
  ['an empty camera, which must not mean all', `${START}&${END}&camera_id=`, ['camera_id']],
  ['a camera without a value', 'camera_id', ['camera_id']],
  ['two cameras', 'camera_id=ridge-04&camera_id=ridge-05', ['camera_id']],
  ['the same camera twice', 'camera_id=ridge-04&camera_id=ridge-04', ['camera_id']],
  ['a camera and an empty one', 'camera_id=ridge-04&camera_id=', ['camera_id']],
  ['an empty camera and one', 'camera_id=&camera_id=ridge-04', ['camera_id']],
  ['two starts', `${START}&${START}&${END}`, ['ts_utc_start']],
  ['two ends', `${START}&${END}&${END}`, ['ts_utc_end']],
  ['a start without an end', START, ['ts_utc_end']],
  ['an end without a start', END, ['ts_utc_start']],
  ['a start without an end, of a camera', `${START}&camera_id=a`, ['ts_utc_end']],
  ['a wrong start and a wrong end, both', 'ts_utc_start=x&ts_utc_end=y', ['ts_utc_start', 'ts_utc_end']],
  [
    'a start a microsecond after the end',
    'ts_utc_start=2026-11-21T00:00:00.000001Z&ts_utc_end=2026-11-21T00:00:00Z',
    ['ts_utc_start'],
  ],
  [
    'a start that an offset puts after the end',
    'ts_utc_start=2026-11-21T00:00:00-01:00&ts_utc_end=2026-11-21T00:30:00Z',
    ['ts_utc_start'],
  ],
  [
    '366 days and a microsecond',
    'ts_utc_start=2025-11-20T00:00:00Z&ts_utc_end=2026-11-21T00:00:00.000001Z',
    ['ts_utc_end'],
  ],
  ['ten thousand years', 'ts_utc_start=0001-01-01T00:00:00Z&ts_utc_end=9999-12-31T23:59:59Z', ['ts_utc_end']],
];

/** Wrong queries of `GET /api/analytics/day`. */
export const WRONG_DAYS: readonly WrongQuery[] = [
  ['day for date', 'day=2026-11-21', ['day']],
  ['date in other letters', 'Date=2026-11-21', ['Date']],
  ['parameters of the other endpoint', `${START}&${END}`, ['ts_utc_start', 'ts_utc_end']],
  ['a time zone', 'date=2026-11-21&tz=PST', ['tz']],
  ['an empty date', 'date=', ['date']],
  ['a date without a value', 'date', ['date']],
  ['two dates', 'date=2026-11-21&date=2026-11-22', ['date']],
  ['the same date twice', 'date=2026-11-21&date=2026-11-21', ['date']],
  ['an empty camera, which must not mean all', 'date=2026-11-21&camera_id=', ['camera_id']],
  ['two cameras', 'date=2026-11-21&camera_id=a&camera_id=b', ['camera_id']],
  ['camera for camera_id', 'date=2026-11-21&camera=a', ['camera']],
  ['a wrong date and a wrong camera, both', 'date=x&camera_id=%00', ['date', 'camera_id']],
];

/** Wrong queries of `GET /api/analytics/series`, besides those of a range. */
export const WRONG_SERIES: readonly WrongQuery[] = [
  ['an unknown step', `${START}&${END}&step=week`, ['step']],
  ['a step in other letters', `${START}&${END}&step=Hour`, ['step']],
  ['an empty step', `${START}&${END}&step=`, ['step']],
  ['a step without a value', `${START}&${END}&step`, ['step']],
  ['two steps', `${START}&${END}&step=hour&step=day`, ['step']],
  ['the same step twice', `${START}&${END}&step=hour&step=hour`, ['step']],
  ['steps for step', `${START}&${END}&steps=hour`, ['steps']],
  ['a date', 'date=2026-11-21', ['date']],
  ['1,501 minutes', 'ts_utc_start=2026-11-20T00:00:30Z&ts_utc_end=2026-11-21T01:00:00Z&step=minute', ['step']],
  ['1,501 hours', 'ts_utc_start=2026-01-01T00:00:00Z&ts_utc_end=2026-03-04T12:00:00Z', ['step']],
  ['a year of minutes', 'ts_utc_start=2025-11-21T00:00:00Z&ts_utc_end=2026-11-21T00:00:00Z&step=minute', ['step']],
  ['a wrong step and a wrong camera, both', 'step=x&camera_id=%00', ['step', 'camera_id']],
];

/** Wrong queries of `GET /api/analytics/cameras`. */
export const WRONG_CAMERA_LISTS: readonly WrongQuery[] = [
  ['a range', `${START}&${END}`, ['ts_utc_start', 'ts_utc_end']],
  ['a camera', 'camera_id=ridge-04', ['camera_id']],
  ['an empty date', 'date=', ['date']],
  ['two dates', 'date=2026-11-21&date=2026-11-22', ['date']],
  ['an empty order', 'order_by=', ['order_by']],
  ['two orders', 'order_by=smoke&order_by=fire', ['order_by']],
  ['an order that no category can be', 'order_by=3smoke', ['order_by']],
  ['an order of several', 'order_by=smoke,fire', ['order_by']],
  ['an order with a direction', 'order_by=smoke%20desc', ['order_by']],
  ['an order that is too long', `order_by=${'a'.repeat(65)}`, ['order_by']],
  ['orderBy for order_by', 'orderBy=smoke', ['orderBy']],
  ['an offset', 'offset=10', ['offset']],
  ...['', '0', '-1', '1001', '1000000', '1.5', '1e2', '+5', '%205', '05', '0x10', 'all', '１'].map(
    (limit): WrongQuery => [`the limit ${limit}`, `limit=${limit}`, ['limit']],
  ),
  ['two limits', 'limit=1&limit=2', ['limit']],
  ...['0', '-1', '32', '1.5', '07', 'all'].map((days): WrongQuery => [`${days} days`, `days=${days}`, ['days']]),
  ['everything wrong at once', 'date=x&order_by=%00&limit=0', ['date', 'order_by', 'limit']],
];
