import { DAY, type PlainMessage, type Question } from '../analytics/oracle.ts';
import { Chance } from '../worlds/chance.ts';

/** 2024-02-28, and the leap day and the day after it. */
export const DATES = ['2024-02-28', '2024-02-29', '2024-03-01'] as const;
const FIRST = 19_781n * DAY;

/** Cameras with ids that must be escaped in URLs and keys. */
const CAMERAS = ['ridge-04', 'ridge-05', 'north/ridge|4 & 5', "o'brien's #1?", '見張り台', '100%'] as const;

const MINUTE = 60_000_000n;

/** Messages about a number of frames, and questions about them. Half of the frames are close to the end of a minute, an hour or a day. */
export const season = (seed: string, frames: number) => {
  const chance = new Chance(seed);
  const upTo = (most: number): number => chance.wholeBetween(0, most);
  const moment = (): bigint => {
    const at = BigInt(upTo(3 * 1_440 - 1)) * MINUTE;
    const into = chance.happens(0.5) ? chance.oneOf([0n, 1n, MINUTE - 1n]) : BigInt(upTo(59_999_999));
    const unit = chance.oneOf([MINUTE, MINUTE, 60n * MINUTE, DAY]);
    return FIRST + at - (at % unit) + into;
  };
  const some = (categories: readonly string[], most: number): Record<string, number> =>
    Object.fromEntries(categories.filter(() => chance.happens(0.5)).map((category) => [category, upTo(most)]));

  const messages: PlainMessage[] = [];
  for (let frame = 0; frame < frames; frame += 1) {
    const identity = { cameraId: chance.oneOf(CAMERAS), eventId: `f/${frame}`, ts: moment() };
    const tell = (more: Partial<PlainMessage>): void => {
      messages.push({ ...identity, time: identity.ts + BigInt(messages.length), ...more });
    };
    tell({ detections: some(['smoke', 'fire', 'structure', 'fog'], 4) });
    if (chance.happens(0.2)) tell({ detections: some(['smoke', 'fire'], 2) });
    if (chance.happens(0.4))
      tell({ reviewed: true, ...(chance.happens(0.7) && { annotations: some(['fire', 'smoke', 'dust'], 3) }) });
    if (chance.happens(0.3)) tell({ annotations: some(['fire', 'dust'], 5) });
    if (chance.happens(0.1)) tell({ annotations: {} });
    if (chance.happens(0.1)) tell({ reviewed: false });
    if (chance.happens(0.05)) tell({});
  }

  const questions: Question[] = [];
  for (let index = 0; index < 60; index += 1) {
    const [one, other] = [moment(), moment()];
    const ends = one < other ? { start: one, end: other } : { start: other, end: one };
    questions.push(chance.happens(0.5) ? ends : { ...ends, cameraId: chance.oneOf(CAMERAS) });
  }
  return { messages, questions };
};

/** The first and the last microsecond of one of the dates. */
export const dayOfDate = (date: (typeof DATES)[number]): Question => {
  const start = FIRST + BigInt(DATES.indexOf(date)) * DAY;
  return { start, end: start + DAY - 1n };
};
