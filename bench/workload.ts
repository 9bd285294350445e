import type { EventMessage } from '../src/analytics/model/camera-event.ts';
import { instantFrom, parseInstant, sortableInstant, type Instant } from '../src/analytics/model/instant.ts';
import { cloudEvent } from '../test/http/cloud-event.ts';

/** 2026-11-20T00:00:00Z. */
export const dayStart = (): Instant => {
  const start = parseInstant('2026-11-20T00:00:00Z');
  if (start === undefined) throw new RangeError('not a time');
  return start;
};

/** The properties of a stream of frames. */
export interface Stream {
  readonly cameras: number;
  readonly frames: number;
  /** Microseconds between two frames, over all cameras. */
  readonly step: bigint;
  readonly start?: Instant;
  /** Begins the ids of this stream, so that two streams have different ids. */
  readonly name?: string;
}

/** Frames of a network of cameras in turn, most of them without detections, some with smoke or structures. */
export const frames = ({ cameras, frames: count, step, start = dayStart(), name = 'f' }: Stream): EventMessage[] =>
  Array.from({ length: count }, (_, at) => {
    const ts = instantFrom(start + BigInt(at) * step);
    const seen: [string, number][] = [];
    if (at % 7 === 0) seen.push(['smoke', 1]);
    if (at % 11 === 0) seen.push(['structure', 2]);
    return {
      eventId: `${name}-${at}`,
      cameraId: `camera-${String(at % cameras).padStart(4, '0')}`,
      ts,
      facets: { detections: { value: new Map(seen), time: ts } },
    };
  });

/** Splits into requests of `size` messages. */
export const requests = (messages: readonly EventMessage[], size: number): (readonly EventMessage[])[] =>
  Array.from({ length: Math.ceil(messages.length / size) }, (_, at) => messages.slice(at * size, (at + 1) * size));

/** A frame as a producer sends it to `POST /api/events`. */
export const cloudEventOf = ({ eventId, cameraId, ts, facets }: EventMessage): unknown => {
  const ts_utc = sortableInstant(ts);
  const detections = Object.fromEntries(facets.detections?.value ?? []);
  return cloudEvent({
    id: eventId,
    time: ts_utc,
    data: { event_id: eventId, camera_id: cameraId, ts_utc, detections },
  });
};
