import { describe, expect, it } from 'vitest';

import { instantFrom, parseInstant } from '../../src/analytics/model/instant.ts';
import { analyticsCameras } from '../../src/http/analytics-cameras.ts';
import { analyticsDay, analyticsRange } from '../../src/http/analytics.ts';
import { analyticsSeries } from '../../src/http/analytics-series.ts';
import { MemoryStorage } from '../analytics/counting.ts';
import { ask, problemOf } from './asking.ts';

const { reader } = new MemoryStorage().process();
const now = () => instantFrom(parseInstant('2026-11-21T08:00:00Z') ?? 0n);
const dependencies = { reader, now, categories: ['fire', 'smoke', 'structure'] };

const ENDPOINTS = {
  '': analyticsRange(dependencies, 86_400).handler,
  '/day': analyticsDay(dependencies).handler,
  '/series': analyticsSeries(dependencies, 86_400).handler,
  '/cameras': analyticsCameras(dependencies).handler,
};
type Endpoint = keyof typeof ENDPOINTS;
type Fault = readonly [field: string, said: string];

const asked = async (endpoint: Endpoint, query: string) =>
  problemOf(await ask(ENDPOINTS[endpoint], `/api/analytics${endpoint}?${query}`));

/** The problem that names exactly these faults. */
const naming = (...faults: readonly Fault[]) => ({
  status: 400,
  detail: faults.map(([field, said]) => `${field} ${said}`).join('; '),
  errors: faults.map(([field, detail]) => ({ field, detail })),
});

const [START, END] = ['ts_utc_start=2026-11-21T00:00:00Z', 'ts_utc_end=2026-11-21T01:00:00Z'];
const OF_RANGE = 'is unknown: the parameters are ts_utc_start, ts_utc_end, camera_id, active_camera_ids';
const OF_DAY = 'is unknown: the parameters are date, camera_id, active_camera_ids';
const OF_SERIES = 'is unknown: the parameters are ts_utc_start, ts_utc_end, step, camera_id';
const OF_CAMERAS = 'is unknown: the parameters are date, days, order_by, q, accuracy, counts, limit';
const TWICE = 'is given more than once';
const BOTH = 'is missing: send both ends or neither';
const A_TIME = 'must be a time such as 2026-11-21T08:00:00Z';
const A_DAY = 'must be a day that exists, such as 2026-11-21';
const ORDER = 'must be total_events, reviewed_total_events, annotated_total_events or a category';
const LIMIT = 'must be a whole number from 1 to 5000';
const tooMany = (steps: number) =>
  `gives ${steps} steps in this range; the maximum is 1500: use a longer step or a shorter range`;

describe('a wrong question is refused with all that is wrong about it', () => {
  it.each<[Endpoint, string, ...Fault[]]>([
    ['', '__proto__=1&constructor=2', ['__proto__', OF_RANGE], ['constructor', OF_RANGE]],
    ['', 'camera_id%20=a&=5', ['camera_id ', OF_RANGE], ['(no name)', OF_RANGE]],
    ['', 'active_camera_ids=no', ['active_camera_ids', 'must be true or false']],
    ['', `ts_utc_start&ts_utc_end=`, ['ts_utc_start', 'is empty'], ['ts_utc_end', 'is empty']],
    ['', 'camera_id=ridge-04&camera_id=ridge-04', ['camera_id', TWICE]],
    ['', START, ['ts_utc_end', BOTH]],
    ['', `${END}&camera_id=a`, ['ts_utc_start', BOTH]],
    ['', 'ts_utc_start=x&ts_utc_end=y', ['ts_utc_start', A_TIME], ['ts_utc_end', A_TIME]],
    ['', `ts_utc_start=2026-11-21T01:00:00.000001Z&${END}`, ['ts_utc_start', 'is after ts_utc_end']],
    ['', `camera_id=${'x'.repeat(129)}`, ['camera_id', 'is longer than 128 characters']],
    ['/day', `${START}&tz=PST`, ['ts_utc_start', OF_DAY], ['tz', OF_DAY]],
    ['/day', 'date&camera_id=', ['date', 'is empty'], ['camera_id', 'is empty']],
    ['/day', 'date=x&camera_id=%00', ['date', A_DAY], ['camera_id', 'has a control character']],
    [
      '/series',
      `${START}&${END}&step=Hour`,
      ['step', 'must be minute, 5_minutes, 10_minutes, 30_minutes, hour, 3_hours, 6_hours or day'],
    ],
    ['/series', 'date=2026-11-21', ['date', OF_SERIES]],
    ['/series', 'ts_utc_start=2026-01-01T00:00:00Z&ts_utc_end=2026-03-04T12:00:00Z', ['step', tooMany(1_501)]],
    ['/cameras', 'camera_id=ridge-04&offset=1', ['camera_id', OF_CAMERAS], ['offset', OF_CAMERAS]],
    // What a time and a day are is the model's; here, that a URL adds nothing to it.
    ['/series', `${START}&ts_utc_end=2026-11-21%2008:00:00Z`, ['ts_utc_end', A_TIME]],
    ['', `ts_utc_start=2026-11-21T08:00:00+Z&${END}`, ['ts_utc_start', A_TIME]],
    ['/day', 'date=2026-11-21%0A', ['date', A_DAY]],
    ['/cameras', 'date=+2026-11-21', ['date', A_DAY]],
    ['/cameras', 'date=x&order_by=%00&limit=0', ['date', A_DAY], ['order_by', ORDER], ['limit', LIMIT]],
  ])('GET /api/analytics%s?%s', async (endpoint, query, ...faults) => {
    expect(await asked(endpoint, query)).toEqual(naming(...faults));
  });

  it.each<[field: string, said: string, values: string[]]>([
    ['limit', LIMIT, ['-1', '5001', '1000000', '1.5', '1e2', '%205', '05', '0x10', 'all', '１']],
    ['days', 'must be a whole number from 1 to 31', ['0', '32', '1.5', '07']],
    ['order_by', ORDER, ['3smoke', 'smoke,fire', 'smoke%20desc', 'a'.repeat(65)]],
  ])('%s: %s', async (field, said, values) => {
    for (const value of values) {
      expect(await asked('/cameras', `${field}=${value}`)).toEqual(naming([field, said]));
    }
  });
});

it('many faults are all listed, the first few in the sentence; a name that may be a number or is long is not repeated', async () => {
  const { errors, detail } = await asked('/day', `a=1&5551234567=1&${'x'.repeat(65)}=1&d=1&e=1`);
  const names = ['a', '…', `${'x'.repeat(64)}…`, 'd', 'e'];
  expect(errors).toEqual(names.map((field) => ({ field, detail: OF_DAY })));
  expect(detail).toMatch(/^a is unknown: [^;]+; … is [^;]+; x+… is [^;]+; and 2 more$/);
});

it('takes 366 days and not a microsecond more, leap day or not', async () => {
  const start = 'ts_utc_start=2023-11-21T00:00:00.000001Z';
  const longest = `/api/analytics?${start}&ts_utc_end=2024-11-21T00:00:00.000001Z`;
  expect((await ask(ENDPOINTS[''], longest)).status).toBe(200);
  expect(await asked('', `${start}&ts_utc_end=2024-11-21T00:00:00.000002Z`)).toEqual(
    naming(['ts_utc_end', 'is more than 366 days after ts_utc_start']),
  );
});
