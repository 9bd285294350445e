import type { Tally } from './tally.ts';

/** The order of cameras: by one of three totals, or the detections of a category. */
export type CameraOrder =
  'total_events' | 'reviewed_total_events' | 'annotated_total_events' | { readonly category: string };

const rankOf = (tally: Tally, order: CameraOrder): number => {
  if (order === 'total_events') return tally.events;
  if (order === 'reviewed_total_events') return tally.reviewed;
  if (order === 'annotated_total_events') return tally.annotated;
  return tally.categories.get(order.category)?.detections ?? 0;
};

/** The first cameras in an order, the largest number first, equal ones by id. */
export const busiest = <Camera extends { readonly cameraId: string; readonly tally: Tally }>(
  cameras: readonly Camera[],
  order: CameraOrder,
  limit: number,
): readonly Camera[] =>
  cameras
    .map((camera) => ({ camera, rank: rankOf(camera.tally, order) }))
    .sort((left, right) => right.rank - left.rank || (left.camera.cameraId < right.camera.cameraId ? -1 : 1))
    .slice(0, limit)
    .map(({ camera }) => camera);
