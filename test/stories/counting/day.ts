import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import type { PlainMessage, Question } from '../../analytics/oracle.ts';

const MIDNIGHT = BigInt(Date.parse('2026-03-14T00:00:00Z')) * 1_000n;
const MINUTE = 60_000_000n;

/** A day that ended long ago. */
export const DAY = dayOf(instantFrom(MIDNIGHT));

/** 240 frames of six cameras from 08:00 to 09:00, every fourth reviewed and annotated later, and corrected once more. */
export const MESSAGES: readonly PlainMessage[] = Array.from({ length: 240 }, (_, at): PlainMessage[] => {
  const ts = MIDNIGHT + 480n * MINUTE + BigInt(at) * 15_000_001n;
  const frame = { eventId: `f-${at}`, cameraId: `ridge-${at % 6}`, ts };
  return [
    { ...frame, time: ts + 1n, detections: { smoke: (at % 3) + 1 } },
    ...(at % 4 === 0
      ? [
          { ...frame, time: ts + 2n, reviewed: true, annotations: { smoke: 2 } },
          { ...frame, time: ts + 3n, detections: { smoke: 1, fire: 1 }, annotations: { fire: 1 } },
        ]
      : []),
  ];
}).flat();

/** The day, a range with ragged ends, and both of one camera. */
export const QUESTIONS: readonly Question[] = [
  { start: MIDNIGHT, end: MIDNIGHT + 1_440n * MINUTE - 1n },
  { start: MIDNIGHT + 483n * MINUTE + 7_654_321n, end: MIDNIGHT + 531n * MINUTE + 12_345_678n },
].flatMap((question) => [question, { ...question, cameraId: 'ridge-2' }]);
