import { expect, it } from 'vitest';

import { busiest, type CameraOrder } from '../../../src/analytics/model/camera-order.ts';

const camera = (cameraId: string, events: number, reviewed: number, annotated: number, smoke: number) => ({
  cameraId,
  tally: {
    events,
    reviewed,
    annotated,
    categories: new Map([['smoke', { detections: smoke, reviewed: 9, annotations: 9 }]]),
  },
});

const CAMERAS = [camera('b', 3, 1, 2, 0), camera('a', 3, 0, 3, 5), camera('Z', 1, 1, 1, 5), camera('ä', 7, 0, 0, 1)];

it.each<[CameraOrder, string]>([
  ['total_events', 'ä a b Z'],
  ['reviewed_total_events', 'Z b a ä'],
  ['annotated_total_events', 'a b Z ä'],
  [{ category: 'smoke' }, 'Z a ä b'],
  [{ category: 'unknown' }, 'Z a b ä'],
  [{ category: 'constructor' }, 'Z a b ä'],
])('cameras are in the order of %j, ties by id', (order, expected) => {
  expect(
    busiest(CAMERAS, order, 10)
      .map(({ cameraId }) => cameraId)
      .join(' '),
  ).toBe(expected);
});

it('are as many as asked for', () => {
  expect(busiest(CAMERAS, 'total_events', 1).map(({ cameraId }) => cameraId)).toEqual(['ä']);
});
