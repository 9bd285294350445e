import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { instantFrom } from '../../src/analytics/model/instant.ts';
import { analyticsCameras } from '../../src/http/analytics-cameras.ts';
import { CountingStorage } from '../analytics/counting.ts';
import { toEventMessage } from '../analytics/event-message.ts';
import { DAY, Oracle, type PlainMessage } from '../analytics/oracle.ts';
import { ask, problemOf } from './asking.ts';
import { COUNTS } from './counts.ts';

const START = 20_778n * DAY;

const messages = Array.from({ length: 300 }, (_, index): PlainMessage => {
  const ts = START + BigInt(index) * 280_000_000n;
  return {
    // A few of them escaped in keys; Azurite's order of keys is not that of the answer.
    cameraId: ['b', 'B', 'a/1', 'ä', '🔥', 'ridge 2', 'b', 'a/1'][index % 8] ?? '',
    eventId: `f-${index}`,
    ts,
    time: ts,
    detections: { smoke: index % 4, [`only-${index % 2}`]: 1 },
    reviewed: index % 3 === 0,
    ...(index % 5 === 0 && { annotations: { fire: 2 } }),
  };
});
const onOtherDays = [START - 1n, START + DAY].map((ts): PlainMessage => ({
  cameraId: 'elsewhere',
  eventId: 'e',
  ts,
  time: ts,
}));
const now = () => instantFrom(START + 5n);

const camerasSchema = z.strictObject({
  date: z.string(),
  days: z.number(),
  total_cameras: z.number(),
  cameras: z.array(z.strictObject({ camera_id: z.string(), ...COUNTS })),
});

const oracle = new Oracle();
for (const message of messages) oracle.tell(message);
const idsOf = (): readonly string[] => oracle.answer({ start: START, end: START + DAY - 1n }).active_camera_ids;

const nonZero = (all: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(all).filter(([, count]) => count !== 0));

describe.each([1, 4])('the cameras of a day with %i shards', (shards) => {
  const storage = new CountingStorage();
  const { cameras, recorder } = storage.process(shards);
  const recorded = recorder.record([...messages, ...onOtherDays].map(toEventMessage));
  const { handler } = analyticsCameras({ cameras, now, categories: ['fire', 'smoke', 'structure'] });
  const list = async (query: string) => {
    await recorded;
    const { status, body } = await ask(handler, `/api/analytics/cameras?${query}`);
    expect(status).toBe(200);
    return camerasSchema.parse(body);
  };

  it('each have the counts of their day', async () => {
    const { date, total_cameras, cameras: listed } = await list('date=2026-11-21');
    expect([date, total_cameras, listed.length]).toEqual(['2026-11-21', 6, 6]);
    expect(listed.map(({ camera_id }) => camera_id).toSorted()).toEqual(idsOf());
    for (const camera of listed) {
      const { active_camera_ids: _ids, ...expected } = oracle.answer({
        start: START,
        end: START + DAY - 1n,
        cameraId: camera.camera_id,
      });
      const { camera_id: _id, ...answered } = camera;
      expect({
        ...answered,
        counts_per_category: nonZero(answered.counts_per_category),
        reviewed_counts_per_category: nonZero(answered.reviewed_counts_per_category),
        annotated_counts_per_category: nonZero(answered.annotated_counts_per_category),
      }).toEqual(expected);
      expect(Object.keys(answered.counts_per_category)).toEqual(
        expect.arrayContaining(['fire', 'smoke', 'structure', ...Object.keys(expected.counts_per_category)]),
      );
    }
  });

  it.each([
    ['total_events', 'total_events'],
    ['reviewed_total_events', 'reviewed_total_events'],
    ['annotated_total_events', 'annotated_total_events'],
    ['smoke', 'counts_per_category'],
    ['only-1', 'counts_per_category'],
  ] as const)('are in the order of %s, ties by id', async (order, fact) => {
    const { cameras: listed } = await list(`order_by=${order}`);
    const rank = (id: string): number => {
      const answer = oracle.answer({ start: START, end: START + DAY - 1n, cameraId: id });
      const value = answer[fact];
      if (typeof value === 'number') return value;
      return Object.hasOwn(value, order) ? (value[order] ?? 0) : 0;
    };
    expect(listed.map(({ camera_id }) => camera_id)).toEqual(
      idsOf().toSorted((a, b) => rank(b) - rank(a) || (a < b ? -1 : 1)),
    );
  });

  it.each(['smok', 'constructor'])(
    'in an order that nobody knows, %s, are a 400 that says which there are',
    async (order) => {
      const { status, details } = problemOf(
        await ask(handler, `/api/analytics/cameras?date=2026-11-21&order_by=${order}`),
      );
      expect(status).toBe(400);
      expect(details).toMatch(/^names no total, and no category that was seen: they are fire, .*smoke/);
      // Of a day without events nothing is in a wrong order.
      expect(await list(`date=2020-02-20&order_by=${order}`)).toMatchObject({ total_cameras: 0 });
    },
  );

  it('are as many as asked for, of all that there are', async () => {
    const all = await list('limit=1000');
    const { total_cameras, cameras: listed } = await list('limit=2');
    expect([total_cameras, listed]).toEqual([6, all.cameras.slice(0, 2)]);
  });

  it('of several days are those of all of them, counted together', async () => {
    const { date, days, total_cameras, cameras: listed } = await list('date=2026-11-22&days=3&order_by=smoke');
    expect([date, days, total_cameras]).toEqual(['2026-11-22', 3, 7]);
    const elsewhere = listed.find(({ camera_id }) => camera_id === 'elsewhere');
    expect(elsewhere?.total_events).toBe(2);
    const ofDay = await list('date=2026-11-21&order_by=smoke');
    expect(listed.filter((camera) => camera !== elsewhere)).toEqual(ofDay.cameras);
  });

  it('are those of the days that the calendar has', async () => {
    expect((await list('date=0001-01-02&days=31')).total_cameras).toBe(0);
  });

  it('are a table for whoever prefers one, with harmless cells', async () => {
    await recorded;
    const { cameras: listed } = await list('limit=2');
    const { status, headers, body } = await ask(handler, '/api/analytics/cameras?limit=2', {
      headers: { accept: 'text/csv, application/json;q=0.5' },
    });
    const [heads, ...rows] = z.string().parse(body).trimEnd().split('\r\n');

    expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(heads?.split(',').slice(0, 5)).toEqual([
      'camera_id',
      'total_events',
      'reviewed_total_events',
      'annotated_total_events',
      'counts_per_category.fire',
    ]);
    expect(rows.map((row) => row.split(',').slice(0, 2))).toEqual(
      listed.map(({ camera_id, total_events }) => [camera_id, String(total_events)]),
    );
  });

  it('of a day without events are none; of no date, those of today', async () => {
    expect(await list('date=2020-02-20')).toEqual({ date: '2020-02-20', days: 1, total_cameras: 0, cameras: [] });
    expect((await list('')).date).toBe('2026-11-21');
  });
});

it('are 50 where no limit is given', async () => {
  const storage = new CountingStorage();
  const process = storage.process();
  await process.record(
    Array.from({ length: 60 }, (_, index) => ({ cameraId: `c${index}`, eventId: 'f', ts: START, time: START })),
  );
  const { handler } = analyticsCameras({ cameras: process.cameras, now, categories: [] });
  const { total_cameras, cameras } = camerasSchema.parse((await ask(handler, '/api/analytics/cameras')).body);
  expect([total_cameras, cameras.length]).toEqual([60, 50]);
});
