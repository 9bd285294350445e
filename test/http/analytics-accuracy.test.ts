import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { instantFrom } from '../../src/analytics/model/instant.ts';
import { analyticsAccuracy } from '../../src/http/analytics-accuracy.ts';
import { analyticsCameras } from '../../src/http/analytics-cameras.ts';
import { MemoryStorage } from '../analytics/counting.ts';
import type { PlainMessage } from '../analytics/oracle.ts';
import { ask } from './asking.ts';

const DAY = 86_400_000_000n;
const START = BigInt(Date.parse('2026-11-20')) * 1_000n;
const NOON = START + DAY + DAY / 2n;
const TODAY = '2026-11-21';

/** A service whose today is {@link TODAY}, and what it answers. */
const service = () => {
  const storage = new MemoryStorage();
  const process = storage.process();
  const dependencies = { reader: process.reader, now: () => instantFrom(NOON), categories: ['fire', 'smoke'] };
  const [accuracy, cameras] = [analyticsAccuracy(dependencies).handler, analyticsCameras(dependencies).handler];
  return {
    process,
    accuracy: async (query = '', headers: Readonly<Record<string, string>> = {}) =>
      ask(accuracy, `/api/analytics/accuracy?${query}`, { headers }),
    cameras: async (query = '', headers: Readonly<Record<string, string>> = {}) =>
      ask(cameras, `/api/analytics/cameras?${query}`, { headers }),
  };
};

const event = (cameraId: string, eventId: string, more: Partial<PlainMessage>, ts = NOON): PlainMessage => ({
  cameraId,
  eventId,
  ts,
  time: ts,
  ...more,
});

/** Three right flags of smoke, one wrong one, one smoke that the AI missed, and what nobody reviewed. */
const SMOKE: readonly PlainMessage[] = [
  ...['r-1', 'r-2', 'r-3'].map((id) =>
    event('ridge', id, { detections: { smoke: 2 }, reviewed: true, annotations: { smoke: 1 } }),
  ),
  event('lake', 'l-1', { detections: { smoke: 1 }, reviewed: true }),
  event('lake', 'l-2', { detections: { fog: 1 }, reviewed: true, annotations: { smoke: 4 } }),
  event('lake', 'l-3', { detections: { smoke: 1 }, annotations: { smoke: 1 } }),
];

describe('GET /api/analytics/accuracy', () => {
  it('says how often the AI was right, in what was reviewed', async () => {
    const { process, accuracy } = service();
    await process.record(SMOKE);
    const { status, body } = await accuracy();
    expect([status, body]).toEqual([
      200,
      {
        date: TODAY,
        days: 1,
        total_events: 6,
        reviewed_total_events: 5,
        categories: {
          fire: { flagged: 0, confirmed: 0, missed: 0 },
          fog: { flagged: 1, confirmed: 0, missed: 0, precision: 0 },
          smoke: { flagged: 4, confirmed: 3, missed: 1, precision: 0.75, recall: 0.75 },
        },
        without: [],
      },
    ]);
    const ofLake = await accuracy('camera_id=lake');
    expect(ofLake.body).toMatchObject({
      camera_id: 'lake',
      total_events: 3,
      categories: { smoke: { flagged: 1, confirmed: 0, missed: 1, precision: 0, recall: 0 } },
    });
    expect((await accuracy('camera_id=nobody')).body).toMatchObject({ total_events: 0, categories: { fire: {} } });
  });

  it('is a table for callers that prefer one', async () => {
    const { process, accuracy } = service();
    await process.record(SMOKE);
    expect((await accuracy('', { accept: 'text/csv' })).body).toBe(
      [
        'category,flagged,confirmed,missed,precision,recall,reviewed_total_events,total_events',
        'fire,0,0,0,,,5,6',
        'fog,1,0,0,0,,5,6',
        'smoke,4,3,1,0.75,0.75,5,6',
        '',
      ].join('\r\n'),
    );
  });

  it.each([
    ['date=2026-02-30', 'date'],
    ['days=32', 'days'],
    ['days=0', 'days'],
    ['camera=ridge', 'camera'],
    ['camera_id=', 'camera_id'],
  ])('refuses %s and names it', async (query, field) => {
    const { status, body } = await service().accuracy(query);
    expect([status, body]).toMatchObject([400, { errors: [{ field }] }]);
  });
});

describe('GET /api/analytics/cameras?accuracy=true', () => {
  it('says for each camera how often the AI was right; without accuracy it says nothing of it', async () => {
    const { process, cameras } = service();
    await process.record(SMOKE);
    const { body } = await cameras('accuracy=true&order_by=smoke&limit=1');
    expect(body).toMatchObject({
      cameras: [
        {
          camera_id: 'ridge',
          flagged: { fire: 0, smoke: 3 },
          confirmed: { fire: 0, smoke: 3 },
          missed: { fire: 0, smoke: 0 },
        },
      ],
    });
    const { cameras: plain } = z.object({ cameras: z.array(z.unknown()) }).parse((await cameras()).body);
    for (const camera of plain) expect(camera).not.toHaveProperty('flagged');
    const table = z.string().parse((await cameras('accuracy=true', { accept: 'text/csv' })).body);
    const [heads = '', first = ''] = table.split('\r\n');
    const columns = heads.split(',').map((head, index) => [head, first.split(',')[index]]);
    expect(Object.fromEntries(columns)).toMatchObject({ camera_id: 'lake', 'flagged.smoke': '1', 'missed.smoke': '1' });
  });

  it('needs the counts', async () => {
    const { status, body } = await service().cameras('accuracy=true&counts=false');
    expect([status, body]).toMatchObject([
      400,
      { errors: [{ field: 'accuracy', detail: 'cannot be used with counts=false' }] },
    ]);
  });
});

// An oracle that shares nothing with the service: it looks at each event as its newest messages left it.

interface Figures {
  flagged: number;
  confirmed: number;
  missed: number;
}

const figuresOf = (messages: readonly PlainMessage[]): Readonly<Record<string, Figures>> => {
  const figures: Record<string, Figures> = {};
  for (const own of Map.groupBy(messages, ({ cameraId, eventId, ts }) => `${cameraId} ${eventId} ${ts}`).values()) {
    const newest = <Facet extends 'detections' | 'reviewed' | 'annotations'>(facet: Facet) =>
      own.filter((one) => one[facet] !== undefined).toSorted((one, other) => Number(other.time - one.time))[0]?.[facet];
    const [detections, annotations] = [newest('detections') ?? {}, newest('annotations') ?? {}];
    for (const category of own.flatMap((one) => Object.keys({ ...one.detections, ...one.annotations }))) {
      figures[category] ??= { flagged: 0, confirmed: 0, missed: 0 };
    }
    if (newest('reviewed') !== true) continue;
    for (const [category, one] of Object.entries(figures)) {
      const [isFlagged, isAnnotated] = [(detections[category] ?? 0) > 0, (annotations[category] ?? 0) > 0];
      if (isFlagged) one.flagged += 1;
      if (isFlagged && isAnnotated) one.confirmed += 1;
      if (!isFlagged && isAnnotated) one.missed += 1;
    }
  }
  return figures;
};

const isTelling = ([, one]: readonly [string, Figures]): boolean => one.flagged + one.confirmed + one.missed > 0;
const telling = (figures: Readonly<Record<string, Figures>>) =>
  Object.fromEntries(Object.entries(figures).filter(isTelling));

const categories = fc.dictionary(fc.constantFrom('fire', 'smoke', 'fog'), fc.integer({ min: 0, max: 2 }), {
  maxKeys: 3,
});
/** Messages about few events, in any order, over two days; each has a time of its own. */
const history = fc
  .array(
    fc.record(
      {
        cameraId: fc.constantFrom('ridge', 'lake'),
        eventId: fc.constantFrom('1', '2', '3'),
        day: fc.constantFrom(0n, 1n),
        detections: categories,
        reviewed: fc.boolean(),
        annotations: categories,
      },
      { requiredKeys: ['cameraId', 'eventId', 'day'] },
    ),
    { maxLength: 14 },
  )
  .chain((all) =>
    fc.shuffledSubarray([...all.keys()], { minLength: all.length, maxLength: all.length }).map((order) =>
      all.map(({ day, ...one }, index): PlainMessage => {
        const ts = START + day * DAY;
        return { ...one, ts, time: ts + BigInt(order[index] ?? 0) };
      }),
    ),
  );
const answered = z.object({
  categories: z.record(
    z.string(),
    z.object({ flagged: z.number(), confirmed: z.number(), missed: z.number() }).loose(),
  ),
});

it('after any edits in any order the figures are exact, of all cameras and one, of one day and several', async () => {
  await fc.assert(
    fc.asyncProperty(history, fc.integer({ min: 1, max: 2 }), async (messages, days) => {
      const own = service();
      for (const message of messages) await own.process.record([message]);
      const inDays = messages.filter(({ ts }) => days === 2 || ts >= START + DAY);
      for (const cameraId of [undefined, 'ridge', 'lake']) {
        const asked = inDays.filter((one) => cameraId === undefined || one.cameraId === cameraId);
        const query = `days=${days}${cameraId === undefined ? '' : `&camera_id=${cameraId}`}`;
        const { categories: found } = answered.parse((await own.accuracy(query)).body);
        const plain = Object.entries(found).map(([name, { flagged, confirmed, missed }]) => [
          name,
          { flagged, confirmed, missed },
        ]);
        expect(telling(Object.fromEntries(plain))).toEqual(telling(figuresOf(asked)));
      }
    }),
    { numRuns: 100 },
  );
});
