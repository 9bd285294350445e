import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { instantFrom } from '../../src/analytics/model/instant.ts';
import { analyticsCameras } from '../../src/http/analytics-cameras.ts';
import { MemoryStorage } from '../analytics/counting.ts';
import { DAY, type PlainMessage } from '../analytics/oracle.ts';
import { ask, problemOf } from './asking.ts';

/** 2026-11-21. */
const START = 20_778n * DAY;

const frame = (cameraId: string, ts: bigint, more: Partial<PlainMessage> = {}): PlainMessage => ({
  cameraId,
  eventId: `f-${ts}`,
  ts,
  time: ts,
  ...more,
});

const MESSAGES = [
  frame('b', START, { detections: { smoke: 1, 'only-1': 4 }, reviewed: true, annotations: { fire: 2 } }),
  frame('b', START + 1n, { detections: { smoke: 2 } }),
  // Escaped in keys, whose order is not that of the answer.
  frame('a/1', START, { detections: { smoke: 3 } }),
  frame('🔥', START + DAY - 1n, { reviewed: true }),
  frame('elsewhere', START - 1n),
  frame('elsewhere', START + DAY),
];

const counts = z.record(z.string(), z.number());
const listSchema = z.looseObject({
  total_cameras: z.number(),
  cameras: z.array(z.looseObject({ camera_id: z.string(), total_events: z.number(), counts_per_category: counts })),
});

const CATEGORIES = ['fire', 'smoke', 'structure'];

// That the counts of each camera are exact is played in the world of counting.
describe.each([1, 4])('the cameras of a day with %i shards', (shards) => {
  const storage = new MemoryStorage();
  const { cameras } = storage.process(shards);
  const recorded = storage.process(shards).record(MESSAGES);
  const { handler } = analyticsCameras({ cameras, now: () => instantFrom(START + 5n), categories: CATEGORIES });
  const list = async (query: string, headers: Readonly<Record<string, string>> = {}) => {
    await recorded;
    return ask(handler, `/api/analytics/cameras?${query}`, { headers });
  };
  const ids = async (query: string) =>
    listSchema.parse((await list(query)).body).cameras.map(({ camera_id }) => camera_id);

  it('are those of today, with the counts of each, the busiest first', async () => {
    const { status, body } = await list('');
    expect([status, body]).toMatchObject([200, { date: '2026-11-21', days: 1, total_cameras: 3 }]);
    expect(listSchema.parse(body).cameras[0]).toEqual({
      camera_id: 'b',
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
    ['order_by=reviewed_total_events', 'b 🔥 a/1'],
    ['order_by=annotated_total_events&limit=1', 'b'],
    ['order_by=smoke', 'a/1 b 🔥'],
    ['order_by=only-1&limit=2', 'b a/1'],
    ['date=2026-11-22&days=3', 'b elsewhere a/1 🔥'],
    ['date=2020-02-20', ''],
    ['date=0001-01-02&days=31', ''],
  ])('of %s are %s', async (query, expected) => {
    expect((await ids(query)).join(' ')).toBe(expected);
  });

  it.each(['smok', 'constructor'])(
    'in an order that nobody knows, %s, are a 400 that says which there are',
    async (order) => {
      expect(problemOf(await list(`order_by=${order}`)).errors).toEqual([
        {
          field: 'order_by',
          detail: 'names no total, and no category that was seen: they are fire, only-1, smoke, structure',
        },
      ]);
      // Of a day without events nothing is in a wrong order.
      expect(await ids(`date=2020-02-20&order_by=${order}`)).toEqual([]);
    },
  );

  it('are a table for whoever prefers one', async () => {
    const { headers, body } = await list('limit=2', { accept: 'text/csv, application/json;q=0.5' });
    const [heads, ...rows] = z.string().parse(body).trimEnd().split('\r\n');
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(heads).toMatch(
      /^camera_id,total_events,reviewed_total_events,annotated_total_events,counts_per_category.fire,/,
    );
    expect(rows.map((row) => row.split(',').slice(0, 4).join())).toEqual(['b,2,1,1', 'a/1,1,0,0']);
  });
});

it('are 50 where no limit is given', async () => {
  const process = new MemoryStorage().process();
  await process.record(Array.from({ length: 60 }, (_, index) => frame(`c${index}`, START)));
  const { handler } = analyticsCameras({ cameras: process.cameras, now: () => instantFrom(START), categories: [] });
  const { total_cameras, cameras } = listSchema.parse((await ask(handler, '/api/analytics/cameras')).body);
  expect([total_cameras, cameras.length]).toEqual([60, 50]);
});
