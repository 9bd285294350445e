import { describe, expect, it } from 'vitest';

import { instantFrom, parseInstant } from '../../src/analytics/instant.ts';
import { analyticsDay } from '../../src/http/analytics-day.ts';
import { analyticsRange } from '../../src/http/analytics-range.ts';
import { CountingStorage } from '../analytics/counting.ts';
import { ask, problemOf } from './asking.ts';

const { reader } = new CountingStorage().process();
const now = () => instantFrom(parseInstant('2026-11-21T08:00:00Z') ?? 0n);
const dependencies = { reader, now, categories: ['fire', 'smoke', 'structure'] };
const range = analyticsRange(dependencies, 86_400);
const day = analyticsDay(dependencies);

const [START, END] = ['ts_utc_start=2026-11-21T00:00:00Z', 'ts_utc_end=2026-11-21T01:00:00Z'];

/** Texts that are no time, as they are in a URL. */
const NO_TIMES = [
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

/** Camera ids that nobody has, and what is said about each. */
const NO_CAMERAS: readonly (readonly [string, string])[] = [
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

describe('GET /api/analytics refuses with a 400 that names it', () => {
  it.each<[string, string, readonly string[]]>([
    ['camera for camera_id', 'camera=ridge-04', ['camera']],
    ['camera_id in other letters', 'Camera_Id=ridge-04', ['Camera_Id']],
    ['camera_ids', 'camera_ids=a', ['camera_ids']],
    ['a parameter of the other endpoint', 'date=2026-11-21', ['date']],
    ['an unknown parameter beside good ones', `${START}&${END}&limit=5`, ['limit']],
    ['an unknown parameter that is empty', 'limit=', ['limit']],
    ['several unknown parameters, each', 'limit=5&offset=3', ['limit', 'offset']],
    [
      'a parameter called as JavaScript calls something',
      '__proto__=1&constructor=2&toString=3',
      ['__proto__', 'constructor', 'toString'],
    ],
    ['a parameter without a name', '=5', ['']],
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
  ])('%s', async (_what, query, fields) => {
    const problem = problemOf(await ask(range, `/api/analytics?${query}`));
    expect({ status: problem.status, fields: problem.fields }).toEqual({ status: 400, fields });
    for (const field of fields) expect(problem.detail).toContain(field);
  });

  it.each(NO_TIMES)('%s as a start, as an end', async (text) => {
    const start = problemOf(await ask(range, `/api/analytics?ts_utc_start=${text}&${END}`));
    expect(start).toMatchObject({
      status: 400,
      fields: ['ts_utc_start'],
      details: expect.stringContaining('must be a time'),
    });
    const end = problemOf(await ask(range, `/api/analytics?${START}&ts_utc_end=${text}`));
    expect(end).toMatchObject({
      status: 400,
      fields: ['ts_utc_end'],
      details: expect.stringContaining('must be a time'),
    });
  });

  it.each(NO_CAMERAS)('camera_id=%s', async (text, said) => {
    const problem = problemOf(await ask(range, `/api/analytics?camera_id=${text}`));
    expect(problem).toMatchObject({ status: 400, fields: ['camera_id'], details: expect.stringContaining(said) });
  });
});

describe('GET /api/analytics/day refuses with a 400 that names it', () => {
  it.each<[string, string, readonly string[]]>([
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
  ])('%s', async (_what, query, fields) => {
    const problem = problemOf(await ask(day, `/api/analytics/day?${query}`));
    expect({ status: problem.status, fields: problem.fields }).toEqual({ status: 400, fields });
    for (const field of fields) expect(problem.detail).toContain(field);
  });

  it.each([
    '2026-02-29',
    '2100-02-29',
    '1900-02-29',
    '2026-02-30',
    '2026-04-31',
    '2026-13-01',
    '2026-00-01',
    '2026-01-00',
    '2026-01-32',
    '0000-01-01',
    '10000-01-01',
    '-001-01-01',
    '2026-1-1',
    '26-11-21',
    '21-11-2026',
    '11/21/2026',
    '2026/11/21',
    '20261121',
    '2026-11-21T00:00:00Z',
    '2026-11-21Z',
    '2026-11-21%20',
    '%202026-11-21',
    '+2026-11-21',
    '2026-11-21%0A',
    '2026-11-21%00',
    '２０２６-11-21',
    '2026-W47-6',
    '2026-325',
    'today',
    'null',
    '0',
    '2026-11-21,2026-11-22',
    '%FF',
  ])('date=%s', async (text) => {
    const problem = problemOf(await ask(day, `/api/analytics/day?date=${text}`));
    expect(problem).toMatchObject({ status: 400, fields: ['date'], details: expect.stringContaining('must be a day') });
  });

  it.each(NO_CAMERAS)('camera_id=%s', async (text, said) => {
    const problem = problemOf(await ask(day, `/api/analytics/day?camera_id=${text}`));
    expect(problem).toMatchObject({ status: 400, fields: ['camera_id'], details: expect.stringContaining(said) });
  });
});
