import type { Counts, EventMessage, Facet } from '../../src/analytics/model/camera-event.ts';
import { instantFrom } from '../../src/analytics/model/instant.ts';
import type { PlainMessage } from './oracle.ts';

const facet = <Value>(value: Value, time: bigint): Facet<Value> => ({ value, time: instantFrom(time) });
const counts = (categories: Readonly<Record<string, number>>): Counts => new Map(Object.entries(categories));

/** The message as the recorder takes it. */
export const toEventMessage = ({
  eventId,
  cameraId,
  ts,
  time,
  detections,
  reviewed,
  annotations,
}: PlainMessage): EventMessage => ({
  eventId,
  cameraId,
  ts: instantFrom(ts),
  facets: {
    ...(detections && { detections: facet(counts(detections), time) }),
    ...(reviewed !== undefined && { reviewed: facet(reviewed, time) }),
    ...(annotations && { annotations: facet(counts(annotations), time) }),
  },
});
