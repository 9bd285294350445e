import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { instantFrom, parseInstant, type Instant } from '../../src/analytics/model/instant.ts';
import { analyticsCameras } from '../../src/http/analytics-cameras.ts';
import { analyticsDay, analyticsRange } from '../../src/http/analytics.ts';
import { analyticsLastSeen } from '../../src/http/analytics-last-seen.ts';
import { analyticsSeries } from '../../src/http/analytics-series.ts';
import { withTable } from '../../src/http/route/table.ts';
import { all, MemoryStorage } from '../analytics/counting.ts';
import type { PlainMessage } from '../analytics/oracle.ts';
import { ask, problemOf } from './asking.ts';

const at = (text: string): Instant => instantFrom(parseInstant(text) ?? 0n);
const NOW = at('2026-11-21T08:30:00.25Z');

const storage = new MemoryStorage();
const { reader } = storage.process();
const dependencies = { reader, now: () => NOW, categories: ['smoke', 'fire', 'structure'] };
const range = analyticsRange(dependencies, 7_200).handler;
const day = analyticsDay(dependencies).handler;

const record = async (frames: readonly (readonly [cameraId: string, ts: string, more?: Partial<PlainMessage>])[]) =>
  storage
    .process()
    .record(frames.map(([cameraId, ts, more]) => ({ cameraId, eventId: ts, ts: at(ts), time: NOW, ...more })));

const NONE = { fire: 0, smoke: 0, structure: 0 };

// That every count is exact, of any range, series, camera and day, is played in the world of counting.
describe('the answer about a period', () => {
  it('says what happened, to the microsecond at both ends', async () => {
    await record([
      [
        'ridge-05',
        '2026-11-20T08:00:00Z',
        { detections: { smoke: 2 }, reviewed: true, annotations: { fire: 3, fog: 1 } },
      ],
      ['ridge-04', '2026-11-20T09:00:00.000001Z', { detections: { smoke: 1, constructor: 4 } }],
      ['ridge-04', '2026-11-20T07:59:59.999999Z', { detections: { smoke: 100 } }],
      ['ridge-04', '2026-11-20T09:00:00.000002Z', { detections: { smoke: 100 } }],
    ]);
    const ends = 'ts_utc_start=2026-11-20T08:00:00Z&ts_utc_end=2026-11-20T09:00:00.000001Z';
    expect((await ask(range, `/api/analytics?${ends}`)).body).toEqual({
      ts_utc_start: '2026-11-20T08:00:00+00:00',
      ts_utc_end: '2026-11-20T09:00:00.000001+00:00',
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

  it.each([
    ['/day?date=2026-11-17&camera_id=one', day],
    ['?ts_utc_start=2026-11-17T00:00:00Z&ts_utc_end=2026-11-17T23:59:59.999999Z&camera_id=one', range],
  ])('leaves out the ids of the cameras where that is asked for, and nothing else: %s', async (query, handler) => {
    await record([
      ['one', '2026-11-17T12:00:00Z'],
      ['another', '2026-11-17T12:00:00Z'],
    ]);
    const { body } = await ask(handler, `/api/analytics${query}&active_camera_ids=false`);
    expect(body).not.toHaveProperty('active_camera_ids');
    const { body: whole } = await ask(handler, `/api/analytics${query}&active_camera_ids=true`);
    expect(whole).toEqual({ ...z.record(z.string(), z.unknown()).parse(body), active_camera_ids: ['one'] });
  });

  it('step by step is a table for whoever prefers one', async () => {
    await record([
      ['=one', '2026-11-16T12:00:00Z', { detections: { fog: 2 } }],
      ['another', '2026-11-16T12:00:00Z'],
    ]);
    const { body } = await ask(
      analyticsSeries(dependencies, 7_200).handler,
      '/api/analytics/series?ts_utc_start=2026-11-16T11:30:00Z&ts_utc_end=2026-11-16T12:59:59.999999Z&camera_id=%3Done',
      { headers: { accept: 'text/csv' } },
    );
    const [heads, ...rows] = z.string().parse(body).split('\r\n');
    expect(heads).toMatch(/^ts_utc_start,ts_utc_end,active_cameras,total_events,reviewed_total_events,/);
    expect(heads).toContain(',counts_per_category.fire,counts_per_category.fog,');
    expect(rows.map((row) => row.split(',').slice(0, 6))).toEqual([
      ['2026-11-16T11:30:00+00:00', '2026-11-16T11:59:59.999999+00:00', '0', '0', '0', '0'],
      ['2026-11-16T12:00:00+00:00', '2026-11-16T12:59:59.999999+00:00', '1', '1', '0', '0'],
      [''],
    ]);
  });

  it('is about the window that ends now where no ends are given, whatever key the host is given', async () => {
    const ends = { ts_utc_start: '2026-11-21T06:30:00.250000+00:00', ts_utc_end: '2026-11-21T08:30:00.250000+00:00' };
    const { status, body } = await ask(range, '/api/analytics?clientid=default&CODE=');
    expect([status, body]).toMatchObject([200, { ...ends, total_events: 0, counts_per_category: NONE }]);
  });

  it('about a day is about today, UTC, to its last microsecond, where no date is given', async () => {
    const { handler } = analyticsDay({ ...dependencies, now: () => at('2026-11-20T23:59:59.999999Z') });
    for (const [asked, date] of [
      [day, '2026-11-21'],
      [handler, '2026-11-20'],
    ] as const) {
      const ends = { ts_utc_start: `${date}T00:00:00+00:00`, ts_utc_end: `${date}T23:59:59.999999+00:00` };
      expect((await ask(asked, '/api/analytics/day')).body).toMatchObject(ends);
    }
  });

  // The forms of a time are the model's; what the URL makes of a + is not.
  it.each(['2026-11-01T10:00:00%2B02:00', '2026-11-01T10:00:00+02:00', '2026-11-01T10:00:00+0200'])(
    'takes the time %s',
    async (text) => {
      const { body } = await ask(range, `/api/analytics?ts_utc_start=${text}&ts_utc_end=${text}`);
      const said = '2026-11-01T08:00:00+00:00';
      expect(body).toMatchObject({ ts_utc_start: said, ts_utc_end: said });
    },
  );
});

const listSchema = z.looseObject({
  total_cameras: z.number(),
  cameras: z.array(
    z.looseObject({
      camera_id: z.string(),
      last_event_at: z.string(),
      counts_per_category: z.optional(z.record(z.string(), z.number())),
    }),
  ),
});

describe('the cameras of a day', () => {
  const { handler } = analyticsCameras({ ...dependencies, now: () => at('2024-02-29T12:00:00Z') });
  const list = async (query: string, headers: Readonly<Record<string, string>> = {}) =>
    ask(handler, `/api/analytics/cameras?${query}`, { headers });
  const ids = async (query: string) =>
    listSchema.parse((await list(query)).body).cameras.map(({ camera_id }) => camera_id);
  beforeAll(async () =>
    record([
      [
        'b',
        '2024-02-29T00:00:00Z',
        { detections: { smoke: 1, 'only-1': 4 }, reviewed: true, annotations: { fire: 2 } },
      ],
      ['b', '2024-02-29T00:00:00.000001Z', { detections: { smoke: 2 } }],
      // Escaped in keys, whose order is not that of the answer.
      ['a/1', '2024-02-29T00:00:00Z', { detections: { smoke: 3 } }],
      ['🔥', '2024-02-29T23:59:59.999999Z', { reviewed: true }],
      ['elsewhere', '2024-02-28T23:59:59.999999Z'],
      ['elsewhere', '2024-03-01T00:00:00Z'],
      ...all(60).map((index) => [`many-${index}`, '2024-02-01T12:00:00Z'] as const),
    ]),
  );

  it('are those of today, with the counts of each, the busiest first', async () => {
    const { status, body } = await list('');
    expect([status, body]).toMatchObject([200, { date: '2024-02-29', days: 1, total_cameras: 3 }]);
    expect(listSchema.parse(body).cameras[0]).toEqual({
      camera_id: 'b',
      last_event_at: '2024-02-29T00:00:00+00:00',
      total_events: 2,
      counts_per_category: { fire: 0, 'only-1': 4, smoke: 3, structure: 0 },
      reviewed_total_events: 1,
      reviewed_counts_per_category: { fire: 1, 'only-1': 0, smoke: 0, structure: 0 },
      annotated_total_events: 1,
      annotated_counts_per_category: { fire: 2, 'only-1': 0, smoke: 0, structure: 0 },
    });
  });

  it.each([
    ['', 'b a/1 🔥'],
    ['order_by=annotated_total_events&limit=1', 'b'],
    ['order_by=smoke', 'a/1 b 🔥'],
    ['date=2024-03-01&days=3', 'b elsewhere a/1 🔥'],
    ['date=0001-01-02&days=31', ''],
    ['date=2024-03-01&days=3&q=LSE', 'elsewhere'],
    ['date=2024-02-01&q=many-5&limit=3', 'many-5 many-50 many-51'],
    ['q=nothing', ''],
    ['counts=false', 'a/1 b 🔥'],
    ['date=2024-03-01&days=3&counts=false&q=e&limit=1', 'elsewhere'],
  ])('of %s are %s', async (query, expected) => {
    expect((await ids(query)).join(' ')).toBe(expected);
  });

  it('say when each last sent a frame, to the minute, also without their counts', async () => {
    const last = {
      b: '2024-02-29T00:00',
      elsewhere: '2024-03-01T00:00',
      'a/1': '2024-02-29T00:00',
      '🔥': '2024-02-29T23:59',
    };
    for (const query of ['date=2024-03-01&days=2', 'date=2024-03-01&days=2&counts=false']) {
      const { total_cameras, cameras: listed } = listSchema.parse((await list(query)).body);
      expect(total_cameras).toBe(4);
      expect(Object.fromEntries(listed.map(({ camera_id, last_event_at }) => [camera_id, last_event_at]))).toEqual(
        Object.fromEntries(Object.entries(last).map(([id, minute]) => [id, `${minute}:00+00:00`])),
      );
    }
    const seen = analyticsLastSeen({ ...dependencies, now: () => at('2024-02-29T12:00:00Z') }).handler;
    for (const query of ['', 'date=2024-03-01&days=3&q=e&limit=1']) {
      const { body } = await ask(seen, `/api/analytics/cameras/last-seen?${query}`);
      expect(body).toEqual((await list(`counts=false&${query}`)).body);
    }
    expect((await list('counts=false&limit=1', { accept: 'text/csv' })).body).toBe(
      'camera_id,last_event_at\r\na/1,2024-02-29T00:00:00+00:00\r\n',
    );
    const { status, body } = await list('counts=false&order_by=smoke');
    expect([status, body]).toMatchObject([
      400,
      { errors: [{ field: 'order_by', detail: 'cannot be used with counts=false' }] },
    ]);
  });

  it('are 50 where no limit is given', async () => {
    const { total_cameras, cameras: listed } = listSchema.parse((await list('date=2024-02-01')).body);
    expect([total_cameras, listed.length]).toEqual([60, 50]);
  });

  it.each(['smok', 'constructor'])(
    'in the order of a category that nobody sent, %s, are by id, with 0 for it',
    async (order) => {
      const { cameras: listed } = listSchema.parse((await list(`order_by=${order}&limit=2`)).body);
      expect(listed).toMatchObject([{ camera_id: expect.any(String) }, {}]);
      for (const { counts_per_category } of listed)
        expect(Object.entries(counts_per_category ?? {})).toContainEqual([order, 0]);
      expect(await ids(`order_by=${order}`)).toEqual((await ids('order_by=only-0')).toSorted());
    },
  );

  it('are a table by `Accept`, and always at a path of its own', async () => {
    const [json, table] = withTable(analyticsCameras({ ...dependencies, now: () => at('2024-02-29T12:00:00Z') }));
    expect([json.path, table.path]).toEqual(['analytics/cameras', 'analytics/cameras.csv']);
    const { headers, body } = await list('limit=2', { accept: 'text/csv, application/json;q=0.5' });
    const own = await ask(table.handler, '/api/analytics/cameras.csv?limit=2', { headers: { accept: '*/*' } });
    expect([own.status, own.body, own.headers.get('content-type')]).toEqual([200, body, 'text/csv; charset=utf-8']);
    const etag = own.headers.get('etag') ?? '';
    const again = await ask(table.handler, '/api/analytics/cameras.csv?limit=2', {
      headers: { 'if-none-match': etag },
    });
    expect(again.status).toBe(304);
    expect(problemOf(await ask(table.handler, '/api/analytics/cameras.csv?limit=0'))).toMatchObject({ status: 400 });
    const [heads, ...rows] = z.string().parse(body).trimEnd().split('\r\n');
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(heads).toMatch(
      /^camera_id,total_events,reviewed_total_events,annotated_total_events,annotated_counts_per_category.fire,/,
    );
    expect(rows.map((row) => row.split(',').slice(0, 4).join())).toEqual(['b,2,1,1', 'a/1,1,0,0']);
  });
});
