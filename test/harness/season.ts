import { DAY, type PlainMessage, type Question } from '../analytics/oracle.ts';
import { Chance } from '../worlds/chance.ts';

/** 2024-02-28, and the leap day and the day after it. */
export const DATES = ['2024-02-28', '2024-02-29', '2024-03-01'] as const;
const FIRST = 19_781n * DAY;

/** Cameras with ids that must be escaped in URLs and keys. */
const CAMERAS = ['ridge-04', 'north/ridge|4 & 5', "o'brien's #1?", '見張り台', '100%'] as const;

/** Messages about a number of frames, and questions about them. The world of counting has all kinds of both. */
export const season = (seed: string, frames: number) => {
  const chance = new Chance(seed);
  const moment = (): bigint => FIRST + BigInt(chance.wholeBetween(0, Number(3n * DAY) - 1));
  const messages = Array.from({ length: frames }, (_, index): readonly PlainMessage[] => {
    const ts = moment();
    const identity = { cameraId: chance.oneOf(CAMERAS), eventId: `f/${index}`, ts };
    const seen = { ...identity, time: ts, detections: { smoke: index % 3, fire: index % 2 } };
    const reviewed = { ...identity, time: ts + 1n, reviewed: true, annotations: { dust: index % 4 } };
    return index % 5 === 0 ? [seen, reviewed] : [seen];
  }).flat();
  const questions = Array.from({ length: 8 }, (_, index): Question => {
    const [start, end] = [moment(), moment()].toSorted((one, other) => Number(one - other));
    return { start: start ?? 0n, end: end ?? 0n, ...(index % 2 === 0 && { cameraId: chance.oneOf(CAMERAS) }) };
  });
  return { messages, questions };
};

/** The first and the last microsecond of one of the dates. */
export const dayOfDate = (date: (typeof DATES)[number]): Question => {
  const start = FIRST + BigInt(DATES.indexOf(date)) * DAY;
  return { start, end: start + DAY - 1n };
};
