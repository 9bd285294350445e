import { expect, it } from 'vitest';

import { cloudEvent } from '../../http/cloud-event.ts';
import { startWatch } from './watch.ts';

const named = (from: number, to: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: to - from }, (_, index) => [`c${from + index}`, 1]));

const event = (eventId: string, data: Record<string, unknown> = {}) =>
  cloudEvent({ time: '2024-02-29T12:00:00Z', data: { event_id: eventId, ts_utc: '2024-02-29T08:00:00Z', ...data } });

it('the valid events of a batch are recorded and the wrong ones are listed with the reason', async () => {
  const watch = await startWatch();
  expect(await watch.recordPartly([event('1'), event('2', { camera_id: '' }), event('3'), event('3'), 'x'])).toEqual({
    recorded: 2,
    unchanged: 1,
    errors: [
      { index: 1, detail: 'data.camera_id is empty' },
      { index: 4, detail: expect.stringContaining('must be an object') },
    ],
  });
  expect(await watch.day('2024-02-29')).toMatchObject({ total_events: 2, active_camera_ids: ['ridge-04'] });
});

it('a camera has 64 categories in a day over all requests, and the event with one more is listed', async () => {
  const watch = await startWatch();
  expect((await watch.post([event('1', { detections: named(0, 64) })])).status).toBe(200);
  const batch = [
    event('2', { annotations: { c0: 1 } }),
    event('3', { detections: { one_more: 1 } }),
    event('4', { camera_id: 'ridge-05', detections: { one_more: 1 } }),
    event('5', { ts_utc: '2024-03-01T00:00:00Z', detections: { one_more: 1 } }),
  ];
  const wrong = { recorded: 3, errors: [{ index: 1, detail: expect.stringContaining('64 categories') }] };
  expect(await watch.recordPartly(batch)).toMatchObject(wrong);
  expect(await watch.recordPartly(batch), 'and when all is sent again').toMatchObject({
    ...wrong,
    recorded: 0,
    unchanged: 3,
  });
  expect(await watch.day('2024-02-29')).toMatchObject({ total_events: 3, annotated_total_events: 1 });
  expect((await watch.day('2024-02-29')).counts_per_category).toMatchObject({ one_more: 1 });
});

it('a category that was removed is still answered, with 0', async () => {
  const watch = await startWatch();
  await watch.post([event('1', { detections: { fog: 1 }, annotations: { dust: 2 }, reviewed: true })]);
  await watch.post([
    { ...event('1', { detections: {}, annotations: {}, reviewed: false }), time: '2024-02-29T12:00:01Z' },
  ]);
  const { body } = await watch.request('/api/analytics/day?date=2024-02-29');
  const zeros = { dust: 0, fire: 0, fog: 0, smoke: 0, structure: 0 };
  expect(JSON.parse(body)).toMatchObject({
    total_events: 1,
    counts_per_category: zeros,
    reviewed_total_events: 0,
    reviewed_counts_per_category: zeros,
    annotated_total_events: 0,
    annotated_counts_per_category: zeros,
  });
});
