import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { instantFrom, parseInstant, type Instant } from '../../src/analytics/model/instant.ts';
import { analyticsAccuracy } from '../../src/http/analytics-accuracy.ts';
import { analyticsCameras } from '../../src/http/analytics-cameras.ts';
import { analyticsDay, analyticsRange } from '../../src/http/analytics.ts';
import { analyticsLastSeen } from '../../src/http/analytics-last-seen.ts';
import { analyticsSeries } from '../../src/http/analytics-series.ts';
import type { Route } from '../../src/http/route/route.ts';
import { withTable } from '../../src/http/route/table.ts';
import { all, MemoryStorage } from '../analytics/counting.ts';
import type { PlainMessage } from '../analytics/oracle.ts';
import { ask, askRoute, problemOf } from './asking.ts';

const at = (text: string): Instant => instantFrom(parseInstant(text) ?? 0n);
/** Today is the leap day. */
const NOW = at('2024-02-29T12:30:00.25Z');

const storage = new MemoryStorage();
const dependencies = { reader: storage.process().reader, now: () => NOW, categories: ['smoke', 'fire', 'structure'] };
const routes = [
  analyticsRange(dependencies, 7_200),
  analyticsDay(dependencies),
  ...withTable(analyticsSeries(dependencies, 7_200)),
  ...withTable(analyticsCameras(dependencies)),
  analyticsLastSeen(dependencies),
  ...withTable(analyticsAccuracy(dependencies)),
];

const routeOf = (question: string): Route => {
  const found = routes.find(({ path }) => path === `analytics${question.split('?')[0]}`);
  if (found === undefined) throw new Error(`no route of ${question}`);
  return found;
};

type Headers = Readonly<Record<string, string>>;

/** The answer to a question such as `/day?date=2024-02-29`. */
const get = async (question: string, headers: Headers = {}) =>
  askRoute(routeOf(question), `/api/analytics${question}`, { headers });
/** An answer in a form that the description has only in words. */
const getUnlisted = async (question: string, headers: Headers = {}) =>
  ask(routeOf(question).handler, `/api/analytics${question}`, { headers });

const frame = (cameraId: string, ts: string, more: Partial<PlainMessage> = {}): PlainMessage => ({
  cameraId,
  eventId: ts,
  ts: at(ts),
  time: NOW,
  ...more,
});

const NONE = { fire: 0, smoke: 0, structure: 0 };

const reviewed = (flagged: Readonly<Record<string, number>>, annotations: Readonly<Record<string, number>>) => ({
  detections: flagged,
  reviewed: true,
  annotations,
});

// That counts are exact for every range, series, camera and day is played in the world of counting.
beforeAll(async () =>
  storage.process().record([
    frame('b', '2024-02-29T00:00:00Z', reviewed({ smoke: 1, 'only-1': 4 }, { fire: 2 })),
    frame('b', '2024-02-29T00:00:00.000001Z', { detections: { smoke: 2 } }),
    // Escaped in keys, whose order differs from the order of the answer.
    frame('a/1', '2024-02-29T00:00:00Z', { detections: { smoke: 3 } }),
    frame('🔥', '2024-02-29T23:59:59.999999Z', { reviewed: true }),
    frame('elsewhere', '2024-02-28T23:59:59.999999Z'),
    frame('elsewhere', '2024-03-01T00:00:00Z'),
    ...all(60).map((index) => frame(`many-${index}`, '2024-02-01T12:00:00Z')),
    frame('ridge-05', '2024-01-20T08:00:00Z', reviewed({ smoke: 2 }, { fire: 3, fog: 1 })),
    frame('ridge-04', '2024-01-20T09:00:00.000001Z', { detections: { smoke: 1, constructor: 4 } }),
    frame('ridge-04', '2024-01-20T07:59:59.999999Z', { detections: { smoke: 100 } }),
    frame('ridge-04', '2024-01-20T09:00:00.000002Z', { detections: { smoke: 100 } }),
    frame('=one', '2024-01-16T12:00:00Z', { detections: { fog: 2 } }),
    ...[1, 2, 3].map((second) => frame('ridge', `2024-01-10T08:00:0${second}Z`, reviewed({ smoke: 2 }, { smoke: 1 }))),
    frame('lake', '2024-01-10T08:00:00Z', reviewed({ smoke: 1 }, {})),
    frame('lake', '2024-01-10T08:00:01Z', reviewed({ fog: 1 }, { smoke: 4 })),
    frame('lake', '2024-01-10T08:00:02Z', { detections: { smoke: 1 }, annotations: { smoke: 1 } }),
    frame('lake', '2024-01-09T08:00:00Z', reviewed({ smoke: 1 }, {})),
  ]),
);

/** A range of one instant, 08:00 UTC. */
const at8 = (time: string): [string, string, object] => [
  `?ts_utc_start=2024-01-20T${time}&ts_utc_end=2024-01-20T${time}`,
  '2024-01-20T08:00:00 2024-01-20T08:00:00',
  { total_events: 1 },
];

describe('a period', () => {
  it('includes both ends, to the microsecond; configured categories are always there', async () => {
    const { status, body } = await get('?ts_utc_start=2024-01-20T08:00:00Z&ts_utc_end=2024-01-20T09:00:00.000001Z');
    expect(status).toBe(200);
    expect(body).toEqual({
      ts_utc_start: '2024-01-20T08:00:00+00:00',
      ts_utc_end: '2024-01-20T09:00:00.000001+00:00',
      total_events: 2,
      active_cameras: 2,
      active_camera_ids: ['ridge-04', 'ridge-05'],
      counts_per_category: { constructor: 4, fire: 0, fog: 0, smoke: 3, structure: 0 },
      reviewed_total_events: 1,
      reviewed_counts_per_category: { constructor: 0, fire: 1, fog: 1, smoke: 0, structure: 0 },
      annotated_total_events: 1,
      annotated_counts_per_category: { constructor: 0, fire: 3, fog: 1, smoke: 0, structure: 0 },
    });
  });

  const today = '2024-02-29T00:00:00 2024-02-29T23:59:59.999999';
  // A window of two hours ends with the current minute.
  const latest = '2024-02-29T10:31:00 2024-02-29T12:30:59.999999';
  it.each<[question: string, ends: string, more: object]>([
    ['?clientid=default&CODE=', latest, { counts_per_category: NONE }],
    ['/series?camera_id=b', latest, { step: 'hour', camera_id: 'b', steps: [{}, {}, {}] }],
    ['/day', today, { total_events: 4 }],
    ['/day?date=2024-02-28', '2024-02-28T00:00:00 2024-02-28T23:59:59.999999', { total_events: 1 }],
    ['/day?camera_id=b', today, { active_camera_ids: ['b'] }],
    // The URL may turn a + into a space.
    ...['10:00:00%2B02:00', '10:00:00+02:00', '10:00:00+0200', '08:00:00'].map(at8),
  ])('asked by %s is %s', async (question, ends, more) => {
    const [start, end] = ends.split(' ');
    const { body } = await get(question);
    expect(body).toMatchObject({ ts_utc_start: `${start}+00:00`, ts_utc_end: `${end}+00:00`, ...more });
  });

  it.each([
    [3_600, '2024-02-29T11:31:00+00:00', '2024-02-29T12:30:59.999999+00:00'],
    [3_599, '2024-02-29T11:30:01.250000+00:00', '2024-02-29T12:30:00.250000+00:00'],
    [3_540, '2024-02-29T11:31:00.250000+00:00', '2024-02-29T12:30:00.250000+00:00'],
    [7_201, '2024-02-29T10:29:59.250000+00:00', '2024-02-29T12:30:00.250000+00:00'],
  ])('of %i seconds by default is from %s to %s', async (seconds, start, end) => {
    const { body } = await askRoute(analyticsRange(dependencies, seconds), '/api/analytics');
    expect(body).toMatchObject({ ts_utc_start: start, ts_utc_end: end });
  });

  it('of whole minutes by default has the same ETag for all questions of a minute', async () => {
    const etags: (string | null)[] = [];
    for (const time of ['12:30:00.25', '12:30:59.999999', '12:31:00']) {
      const route = analyticsRange({ ...dependencies, now: () => at(`2024-02-29T${time}Z`) }, 7_200);
      etags.push((await askRoute(route, '/api/analytics')).headers.get('etag'));
    }
    const [first, same, next] = etags;
    expect([first === same, first === next]).toEqual([true, false]);
  });

  it('has the same categories in the three maps, in whatever order the messages came', async () => {
    const day = '/day?date=2024-01-30';
    const ts = '2024-01-30T08:00:00Z';
    const [seen, none] = [
      { time: NOW, detections: { steam: 1 } },
      { time: instantFrom(NOW + 1n), detections: {} },
    ];
    const orders = [
      [seen, none],
      [none, seen],
    ];
    for (const [index, order] of orders.entries()) {
      for (const more of order) await storage.process().record([frame('order', ts, { eventId: `${index}`, ...more })]);
    }
    const { body } = await get(day);
    expect(body).toMatchObject({ total_events: 2, counts_per_category: NONE, annotated_counts_per_category: NONE });
    expect(body).not.toHaveProperty('counts_per_category.steam');
    await storage
      .process()
      .record([frame('order', ts, { eventId: '0', time: instantFrom(NOW + 2n), annotations: { steam: 1 } })]);
    const { body: after } = await get(day);
    expect(after).toMatchObject({
      counts_per_category: { steam: 0 },
      reviewed_counts_per_category: { steam: 0 },
      annotated_counts_per_category: { steam: 1 },
    });
  });

  it('in a closed day is widened to whole minutes, and says so', async () => {
    const closed = new MemoryStorage();
    await closed.process().record([frame('a', '2024-01-30T08:00:59Z'), frame('a', '2024-01-30T08:02:00Z')]);
    await closed.change('day|00', { sealed: 'closed' }, '2024-01-30.00');
    const route = { ...dependencies, reader: closed.process().reader };
    const range = 'ts_utc_start=2024-01-30T08:00:30Z&ts_utc_end=2024-01-30T08:01:30Z';
    const ends = { ts_utc_start: '2024-01-30T08:00:00+00:00', ts_utc_end: '2024-01-30T08:01:59.999999+00:00' };
    const { body } = await askRoute(analyticsRange(route, 60), `/api/analytics?${range}`);
    expect(body).toMatchObject({ ...ends, total_events: 1 });
    const [series] = withTable(analyticsSeries(route, 60));
    const { body: ofSteps } = await askRoute(
      series ?? analyticsSeries(route, 60),
      `/api/analytics/series?step=minute&${range}`,
    );
    expect(ofSteps).toMatchObject({
      ...ends,
      steps: [
        { ts_utc_start: ends.ts_utc_start, total_events: 1 },
        { ts_utc_end: ends.ts_utc_end, total_events: 0 },
      ],
    });
  });

  it('leaves out the ids of cameras on request', async () => {
    for (const question of ['/day?', '?ts_utc_start=2024-02-29T00:00:00Z&ts_utc_end=2024-02-29T23:59:59.999999Z&']) {
      const { body } = await get(`${question}active_camera_ids=false`);
      expect(body).not.toHaveProperty('active_camera_ids');
      const { body: whole } = await get(`${question}active_camera_ids=true`);
      expect(whole).toEqual({ ...Object(body), active_camera_ids: ['a/1', 'b', '🔥'] });
    }
  });

  it('has at most 366 days, leap day or not, and at most 1,500 steps', async () => {
    const year = '?ts_utc_start=2023-11-21T00:00:00.000001Z&ts_utc_end=2024-11-21T00:00:00.00000';
    expect((await get(`${year}1Z`)).status).toBe(200);
    expect(problemOf(await get(`${year}2Z`)).detail).toBe('ts_utc_end is more than 366 days after ts_utc_start');
    const steps = '/series?step=minute&ts_utc_start=2024-01-01T00:00:00Z&ts_utc_end=2024-01-02T';
    expect((await get(`${steps}00:59:59.999999Z`)).body).toMatchObject({ steps: { length: 1_500 } });
    expect(problemOf(await get(`${steps}01:00:00Z`)).detail).toMatch(/^step .*1501 steps.* 1500\b/);
  });
});

const listed = z.looseObject({ cameras: z.array(z.looseObject({ camera_id: z.string() })) });
const camerasOf = async (query: string) => listed.parse((await get(`/cameras?${query}`)).body).cameras;

describe('the cameras of days', () => {
  it('have their counts, and the start of the last minute with a frame', async () => {
    expect((await get('/cameras?limit=1')).body).toMatchObject({ date: '2024-02-29', days: 1, total_cameras: 3 });
    expect(await camerasOf('limit=1')).toEqual([
      {
        camera_id: 'b',
        last_event_at: '2024-02-29T00:00:00+00:00',
        total_events: 2,
        counts_per_category: { ...NONE, 'only-1': 4, smoke: 3 },
        reviewed_total_events: 1,
        reviewed_counts_per_category: { ...NONE, fire: 1, 'only-1': 0 },
        annotated_total_events: 1,
        annotated_counts_per_category: { ...NONE, fire: 2, 'only-1': 0 },
      },
    ]);
  });

  it.each([
    ['', 'b a/1 🔥'],
    ['order_by=annotated_total_events&limit=1', 'b'],
    ['order_by=reviewed_total_events', 'b 🔥 a/1'],
    ['order_by=smoke', 'a/1 b 🔥'],
    ['order_by=constructor', 'a/1 b 🔥'],
    ['date=2024-03-01&days=3', 'b elsewhere a/1 🔥'],
    ['date=0001-01-02&days=31', ''],
    ['date=2024-03-01&days=3&q=LSE', 'elsewhere'],
    ['date=2024-02-01&q=many-5&limit=3', 'many-5 many-50 many-51'],
  ])('of %s are %s', async (query, expected) => {
    expect((await camerasOf(query)).map(({ camera_id }) => camera_id).join(' ')).toBe(expected);
  });

  it('are 50 by default and 5,000 at most', async () => {
    expect(await camerasOf('date=2024-02-01')).toHaveLength(50);
    expect(await camerasOf('date=2024-02-01&limit=5000')).toHaveLength(60);
  });

  it('have a category of `order_by` with 0, and the accuracy of the AI on request', async () => {
    expect(await camerasOf('order_by=fog&limit=1')).toMatchObject([{ counts_per_category: { fog: 0 } }]);
    const [camera] = await camerasOf('date=2024-01-10&order_by=smoke&limit=1&accuracy=true');
    const flagged = { ...NONE, smoke: 3 };
    expect(camera).toMatchObject({ camera_id: 'ridge', flagged, confirmed: flagged, missed: NONE });
  });

  it('last seen have the start of the last minute with a frame, over all days', async () => {
    const query = 'date=2024-03-01&days=2&q=e&limit=1';
    const cameras = [{ camera_id: 'elsewhere', last_event_at: '2024-03-01T00:00:00+00:00' }];
    const seen = { date: '2024-03-01', days: 2, total_cameras: 1, cameras };
    expect((await get(`/cameras/last-seen?${query}`)).body).toEqual(seen);
    expect((await getUnlisted(`/cameras?counts=false&${query}`)).body).toEqual(seen);
    const last = { camera_id: '🔥', last_event_at: '2024-02-29T23:59:00+00:00' };
    expect((await get('/cameras/last-seen')).body).toMatchObject({ cameras: [{}, {}, last] });
  });
});

describe('the accuracy of the AI', () => {
  it('is counted in reviewed events, with a ratio where there is a divisor', async () => {
    const none = { flagged: 0, confirmed: 0, missed: 0 };
    expect((await get('/accuracy?date=2024-01-10&camera_id=lake')).body).toEqual({
      date: '2024-01-10',
      days: 1,
      camera_id: 'lake',
      total_events: 3,
      reviewed_total_events: 2,
      categories: {
        fire: none,
        fog: { ...none, flagged: 1, precision: 0 },
        smoke: { flagged: 1, confirmed: 0, missed: 1, precision: 0, recall: 0 },
        structure: none,
      },
      without: [],
    });
    expect((await get('/accuracy')).body).toMatchObject({ date: '2024-02-29', days: 1 });
  });
});

describe('a table', () => {
  const CSV = 'text/csv; charset=utf-8';
  const ACCURACY = 'category,flagged,confirmed,missed,precision,recall,reviewed_total_events,total_events';
  const TOTALS = 'total_events,reviewed_total_events,annotated_total_events,annotated_counts_per_category.fire,';
  it.each<[question: string, ...lines: string[]]>([
    [
      '/series?ts_utc_start=2024-01-16T11:30:00Z&ts_utc_end=2024-01-16T12:59:59.999999Z&camera_id=%3Done',
      `ts_utc_start,ts_utc_end,active_cameras,${TOTALS}`,
      '2024-01-16T11:30:00+00:00,2024-01-16T11:59:59.999999+00:00,0,0,0,0,0,0,',
      '2024-01-16T12:00:00+00:00,2024-01-16T12:59:59.999999+00:00,1,1,0,0,0,0,',
    ],
    ['/cameras?limit=2', `camera_id,${TOTALS}`, 'b,2,1,1,2,', 'a/1,1,0,0,0,'],
    ['/cameras?date=2024-01-16', 'camera_id,', "'=one,1,"],
    ['/cameras?counts=false&limit=1', 'camera_id,last_event_at', 'a/1,2024-02-29T00:00:00+00:00'],
    ['/accuracy?date=2024-01-10', ACCURACY, 'fire,0,0,0,,,5,6', 'fog,1,0,0,0,,5,6', 'smoke,4,3,1,0.75,0.75,5,6', 's'],
    ['/accuracy?date=2024-01-10&days=2', ACCURACY, 'fire', 'fog', 'smoke,5,3,1,0.6,0.75,6,7', 'structure'],
    ['/accuracy?camera_id=x', ACCURACY, 'fire', 'smoke,0,0,0,,,0,0', 'structure'],
  ])('has a line for each, by Accept or at a path of its own: %s', async (question, ...lines) => {
    const { headers, body } = await getUnlisted(question, { accept: 'text/csv, application/json;q=0.5' });
    expect(headers.get('content-type')).toBe(CSV);
    const found = z.string().parse(body).split('\r\n');
    expect(found.map((line, index) => line.slice(0, lines[index]?.length ?? 0))).toEqual([...lines, '']);
    const own = question.replace('?', '.csv?');
    const table = await get(own, { accept: '*/*' });
    expect([table.status, table.headers.get('content-type'), table.body]).toEqual([200, CSV, body]);
    expect((await get(own, { 'if-none-match': table.headers.get('etag') ?? '' })).status).toBe(304);
    expect((await get(`${own}&x=1`)).status).toBe(400);
  });
});

const [START, END] = ['ts_utc_start=2024-02-29T00:00:00Z', 'ts_utc_end=2024-02-29T01:00:00Z'];

const each = (parameter: string, values: readonly string[], said: string): [string, string][] =>
  values.map((value) => [`/cameras?${parameter}=${value}`, `${parameter}: ${said}`]);

describe('a wrong question is refused with all its faults', () => {
  it.each<[question: string, ...faults: string[]]>([
    ['?__proto__=1&=5', '__proto__: are ts_utc_start, ts_utc_end, camera_id', '(no name): is unknown'],
    ['?active_camera_ids=no', 'active_camera_ids: true or false'],
    ['?ts_utc_start&ts_utc_end=', 'ts_utc_start: empty', 'ts_utc_end: empty'],
    ['?camera_id=ridge-04&camera_id=ridge-04', 'camera_id: more than once'],
    [`?${START}`, 'ts_utc_end: both ends'],
    [`?${END}&camera_id=a`, 'ts_utc_start: both ends'],
    ['?ts_utc_start=x&ts_utc_end=2024-02-29%2008:00:00Z', 'ts_utc_start: time', 'ts_utc_end: time'],
    [`?ts_utc_start=2024-02-29T01:00:00.000001Z&${END}`, 'ts_utc_start: after ts_utc_end'],
    [`?ts_utc_start=2024-02-29T00:00:00+Z&${END}`, 'ts_utc_start: time'],
    [`?camera_id=${'x'.repeat(129)}`, 'camera_id: 128'],
    [`/day?${START}&tz=PST`, 'ts_utc_start: are date, camera_id, active_camera_ids', 'tz: is unknown'],
    ['/day?date=2024-02-29%0A&camera_id=%00', 'date: day', 'camera_id: control character'],
    [`/series?${START}&${END}&step=Hour`, 'step: minute, 5_minutes, 10_minutes, 30_minutes, hour, 3_hours, 6_hours'],
    ['/cameras?date=+2024-02-29&order_by=%00', 'date: day', 'order_by: reviewed_total_events'],
    ['/cameras?counts=false&order_by=smoke', 'order_by: counts=false'],
    ['/cameras?counts=false&accuracy=true', 'accuracy: counts=false'],
    ...each('limit', ['0', '-1', '5001', '1.5', '1e2', '%205', '05', '0x10', 'all', '１'], '1 to 5000'),
    ...each('days', ['0', '32'], '1 to 31'),
    ...each('order_by', ['3smoke', 'smoke,fire', 'a'.repeat(65)], 'category'),
    ['/accuracy?days=32&camera=ridge', 'camera: are date, days, camera_id', 'days: 1 to 31'],
  ])('%s', async (question, ...faults) => {
    const errors = faults.map((fault) => {
      const [field, said = ''] = fault.split(': ');
      return { field, detail: expect.stringContaining(said) };
    });
    expect(problemOf(await get(question))).toMatchObject({ status: 400, errors });
  });

  it('the first three in the sentence; a name that may be a number or is long is not repeated', async () => {
    const { errors, detail } = problemOf(await get(`/day?a=1&5551234567=1&${'x'.repeat(65)}=1&d=1&e=1`));
    expect(errors?.map(({ field }) => field)).toEqual(['a', '…', `${'x'.repeat(64)}…`, 'd', 'e']);
    expect(detail).toMatch(/^a is unknown: [^;]+; … is [^;]+; x+… is [^;]+; and 2 more$/);
  });
});
