import { z } from 'zod';

import { parseInstant } from '../../../src/analytics/model/instant.ts';
import type { PlainMessage, Question } from '../../analytics/oracle.ts';

// The words of the log of a world, and the lines of a backup.

export const textOf = (error: unknown): string =>
  error instanceof Error ? `${error.name} ${error.message} ${error.stack ?? ''}` : String(error);

export const timeText = (microseconds: bigint): string =>
  `${new Date(Number(microseconds / 1_000n)).toISOString().slice(0, -1)}${String(microseconds % 1_000n).padStart(3, '0')}`;

export const messageText = ({ cameraId, eventId, ts, time, ...facets }: PlainMessage): string =>
  `${eventId} of ${cameraId} at ${timeText(ts)} (${time - ts}) ${JSON.stringify(facets)}`;

export const questionText = ({ start, end, cameraId }: Question): string =>
  `${timeText(start)} to ${timeText(end)} of ${cameraId ?? 'all'}`;

const counts = z.exactOptional(z.record(z.string(), z.number()));
const yes = z.exactOptional(z.boolean());
const microseconds = z.string().transform((text) => parseInstant(text) ?? -1n);
const storedMessage = z.object({
  time: microseconds,
  data: z.object({
    event_id: z.string(),
    camera_id: z.string(),
    ts_utc: microseconds,
    detections: counts,
    reviewed: yes,
    annotations: counts,
    removed: yes,
  }),
});

/** The message in a line of a backup. */
export const messageFrom = (line: string): PlainMessage => {
  const { time, data } = storedMessage.parse(JSON.parse(line));
  const { event_id: eventId, camera_id: cameraId, ts_utc: ts, ...facets } = data;
  return { eventId, cameraId, ts, time, ...facets };
};
