import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { instantFrom, parseInstant, type Instant } from '../../src/analytics/model/instant.ts';
import { analyticsDay, analyticsRange } from '../../src/http/analytics.ts';
import { analyticsSeries } from '../../src/http/analytics-series.ts';
import { MemoryStorage } from '../analytics/counting.ts';
import type { PlainMessage } from '../analytics/oracle.ts';
import { ask } from './asking.ts';

const at = (text: string): Instant => instantFrom(parseInstant(text) ?? 0n);

const storage = new MemoryStorage();
const { reader } = storage.process();
const NOW = at('2026-11-21T08:30:00.25Z');
const dependencies = { reader, now: () => NOW, categories: ['smoke', 'fire', 'structure'] };
const range = analyticsRange(dependencies, 7_200).handler;
const day = analyticsDay(dependencies).handler;

const record = async (frames: readonly (readonly [cameraId: string, ts: string, more?: Partial<PlainMessage>])[]) =>
  storage
    .process()
    .record(frames.map(([cameraId, ts, more]) => ({ cameraId, eventId: ts, ts: at(ts), time: NOW, ...more })));

const NONE = { fire: 0, smoke: 0, structure: 0 };
const nothing = {
  total_events: 0,
  active_cameras: 0,
  active_camera_ids: [],
  counts_per_category: NONE,
  reviewed_total_events: 0,
  reviewed_counts_per_category: NONE,
  annotated_total_events: 0,
  annotated_counts_per_category: NONE,
};

// That every count is exact, of any range, is played in the world of counting.
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
    ['/day?date=2026-11-17', day],
    ['?ts_utc_start=2026-11-17T00:00:00Z&ts_utc_end=2026-11-17T23:59:59.999999Z', range],
  ])('leaves out the ids of the cameras where that is asked for, and nothing else: %s', async (query, handler) => {
    await record([['one', '2026-11-17T12:00:00Z']]);
    const { body } = await ask(handler, `/api/analytics${query}&active_camera_ids=false`);
    expect(body).not.toHaveProperty('active_camera_ids');
    const { body: whole } = await ask(handler, `/api/analytics${query}&active_camera_ids=true`);
    expect(whole).toEqual({ ...z.record(z.string(), z.unknown()).parse(body), active_camera_ids: ['one'] });
  });

  it('step by step is a table for whoever prefers one', async () => {
    await record([['=one', '2026-11-16T12:00:00Z', { detections: { fog: 2 } }]]);
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

  it('of a camera has that camera alone, or none', async () => {
    await record([
      ['only one', '2026-11-18T12:00:00Z'],
      ['another', '2026-11-18T12:00:00Z'],
    ]);
    const period = 'ts_utc_start=2026-11-18T12:00:00Z&ts_utc_end=2026-11-18T12:00:00Z';
    expect((await ask(range, `/api/analytics?${period}&camera_id=only+one`)).body).toMatchObject({
      total_events: 1,
      active_cameras: 1,
      active_camera_ids: ['only one'],
    });
    expect((await ask(range, `/api/analytics?${period}&camera_id=only`)).body).toMatchObject(nothing);
  });

  it('is about the window that ends now where no ends are given, whatever key the host is given', async () => {
    const ends = { ts_utc_start: '2026-11-21T06:30:00.250000+00:00', ts_utc_end: '2026-11-21T08:30:00.250000+00:00' };
    expect(await ask(range, '/api/analytics?clientid=default&CODE=')).toMatchObject({
      status: 200,
      body: { ...ends, ...nothing },
    });
  });

  // The forms of a time are the model's; what the URL makes of a + is not.
  it.each(['2026-11-01T10:00:00%2B02:00', '2026-11-01T10:00:00+02:00', '2026-11-01T10:00:00+0200'])(
    'takes the time %s',
    async (text) => {
      const { body } = await ask(range, `/api/analytics?ts_utc_start=${text}&ts_utc_end=${text}`);
      expect(body).toMatchObject({
        ts_utc_start: '2026-11-01T08:00:00+00:00',
        ts_utc_end: '2026-11-01T08:00:00+00:00',
      });
    },
  );

  it.each(['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999Z'])(
    'accepts the first and the last time there are: %s',
    async (text) => {
      const { status, body } = await ask(range, `/api/analytics?ts_utc_start=${text}&ts_utc_end=${text}`);
      expect([status, body]).toEqual([200, expect.objectContaining(nothing)]);
    },
  );
});

describe('the answer about a day', () => {
  it('runs from 00:00:00 to 23:59:59.999999', async () => {
    await record([
      ['ridge-04', '2024-02-28T23:59:59.999999Z'],
      ['ridge-05', '2024-02-29T00:00:00Z'],
      ['ridge-06', '2024-02-29T23:59:59.999999Z'],
      ['ridge-07', '2024-03-01T00:00:00Z'],
    ]);
    expect((await ask(day, '/api/analytics/day?date=2024-02-29')).body).toEqual({
      ...nothing,
      ts_utc_start: '2024-02-29T00:00:00+00:00',
      ts_utc_end: '2024-02-29T23:59:59.999999+00:00',
      total_events: 2,
      active_cameras: 2,
      active_camera_ids: ['ridge-05', 'ridge-06'],
    });
  });

  it('is about today, UTC, to its last microsecond, where no date is given', async () => {
    const { handler } = analyticsDay({ ...dependencies, now: () => at('2026-11-20T23:59:59.999999Z') });
    expect((await ask(day, '/api/analytics/day')).body).toMatchObject({ ts_utc_start: '2026-11-21T00:00:00+00:00' });
    expect((await ask(handler, '/api/analytics/day')).body).toMatchObject({
      ts_utc_start: '2026-11-20T00:00:00+00:00',
    });
  });
});
