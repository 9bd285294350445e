import type { Chance } from '../chance.ts';
import type { PlainMessage, Question } from '../../analytics/oracle.ts';

const SECOND = 1_000_000n;
const MINUTE = 60n * SECOND;
const HOUR = 60n * MINUTE;
const DAY = 24n * HOUR;

/** Ids whose keys are each other's prefixes, or have to be escaped. */
const CAMERAS = ['ridge-04', 'ridge-04 ', 'ridge-05', 'north/ridge|4', "o'brien 🔥?"] as const;
const SECONDS = [0n, 10_500_000n, 29_999_999n, 30_000_000n, 45_000_001n, 59_999_999n] as const;
const MINUTES = [480n, 481n, 539n, 540n, 1_439n, 0n] as const;

/** A camera frame. */
interface Frame {
  readonly eventId: string;
  readonly cameraId: string;
  readonly ts: bigint;
}

/** Messages and questions. */
export interface Activity {
  /** The next message: news of a frame, older news of it, or a message that was sent before. */
  readonly draw: () => PlainMessage;
  /** Messages that are sent first, one request for each second. */
  readonly crowds: readonly (readonly PlainMessage[])[];
  /** The drawn messages, each once, and the crowds. */
  readonly sent: readonly PlainMessage[];
  readonly ask: (chance: Chance) => Question;
  readonly cameras: readonly string[];
}

/** What messages are like. */
export interface ActivityForm {
  readonly frames: number;
  /** First microsecond of each day that frames are of. */
  readonly days: readonly bigint[];
  /** The probability that a message was sent before, and that a message is older than others about its event. */
  readonly repeats: number;
  /** Whether each message says something that is counted. */
  readonly isTelling: boolean;
  /** Whether some seconds, each in its own hour, have more frames than the samples of a second take. */
  readonly overflows: boolean;
}

// With these large counts a second overflows at about fifty frames.
const CROWD = 56;
const LARGE = Object.fromEntries(Array.from({ length: 54 }, (_, index) => [`c${index}`, 9_000 + index]));

/** Messages about more frames in one second than its samples take. */
const crowd = (second: bigint): readonly PlainMessage[] =>
  Array.from({ length: CROWD }, (_, index) => {
    const ts = second + BigInt(index) * 12_500n;
    return { eventId: `x${index}`, cameraId: 'crowded', ts, time: ts, detections: LARGE };
  });

const CATEGORIES = ['smoke', 'fire', 'fog', 'constructor'] as const;

const facets = (chance: Chance, isTelling: boolean): Pick<PlainMessage, 'detections' | 'reviewed' | 'annotations'> => {
  const some = (most: number, least = 0): Record<string, number> => {
    const categories: Record<string, number> = {};
    for (let left = chance.wholeBetween(least, 2); left > 0; left -= 1) {
      categories[chance.oneOf(CATEGORIES)] = chance.wholeBetween(least, most);
    }
    return categories;
  };
  return {
    ...((isTelling || chance.happens(0.7)) && { detections: some(3, isTelling ? 1 : 0) }),
    ...(chance.happens(0.3) && { reviewed: chance.happens(0.7) }),
    ...(chance.happens(0.3) && { annotations: some(2) }),
  };
};

/** Draws frames, messages about them, and questions. */
export const drawActivity = (chance: Chance, form: ActivityForm): Activity => {
  const cameras = chance.shuffled(CAMERAS).slice(0, chance.wholeBetween(1, 4));
  const crowds = form.overflows
    ? [8n, 9n, 17n].map((hour) => crowd((form.days[0] ?? 0n) + hour * HOUR + 15n * MINUTE + 30n * SECOND))
    : [];
  const minutes = chance.shuffled(MINUTES).slice(0, chance.wholeBetween(1, 3));
  const frames = Array.from({ length: form.frames }, (_, index): Frame => {
    const minute = chance.anyOf(minutes) ?? 0n;
    const day = chance.anyOf(form.days) ?? 0n;
    return {
      eventId: `f${index}`,
      cameraId: chance.anyOf(cameras) ?? CAMERAS[0],
      ts:
        day +
        minute * MINUTE +
        (chance.happens(0.2) ? BigInt(chance.wholeBetween(0, 59_999_999)) : chance.oneOf(SECONDS)),
    };
  });
  frames.push(...crowds.flatMap((own) => own.slice(0, 2)));
  let messages = 0;
  const sent: PlainMessage[] = crowds.flat();
  const draw = (): PlainMessage => {
    const again = chance.happens(form.repeats) ? chance.anyOf(sent) : undefined;
    if (again !== undefined) return again;
    // The first message is not always the newest.
    const late = BigInt(chance.happens(form.repeats) ? chance.wholeBetween(0, 40) : 0);
    messages += 1;
    const frame = chance.anyOf(frames) ?? { eventId: 'f', cameraId: CAMERAS[0], ts: 0n };
    const message = {
      ...frame,
      time: frame.ts + (BigInt(messages) - late) * 100n + BigInt(messages),
      ...facets(chance, form.isTelling),
    };
    sent.push(message);
    return message;
  };
  const end = (own: Chance): bigint => {
    const from = own.happens(0.6) ? own.anyOf(frames)?.ts : undefined;
    const day = own.anyOf(form.days) ?? 0n;
    const at = from ?? day + BigInt(own.wholeBetween(0, 25)) * HOUR;
    const unit = own.oneOf([1n, 1n, MINUTE, HOUR]);
    return at - (at % unit) + own.oneOf([-1n, 0n, 0n, 1n]);
  };
  const ask = (own: Chance): Question => {
    const cameraId = own.happens(0.5) ? own.anyOf(cameras) : undefined;
    if (own.happens(0.3)) {
      const [one, other] = [end(own), end(own)];
      return { start: one < other ? one : other, end: one < other ? other : one, cameraId };
    }
    // The frame's day, hour, minute or a part of the minute, and often a little more on either side.
    const frame = own.anyOf(frames);
    const ts = frame?.ts ?? 0n;
    const length = own.oneOf([DAY, DAY, HOUR, HOUR, MINUTE, SECOND]);
    const start = ts - (ts % length);
    return {
      start: start - own.oneOf([0n, 0n, 1n, MINUTE]),
      end: start + length - 1n + own.oneOf([0n, 0n, 1n, HOUR]),
      cameraId: cameraId === undefined ? undefined : frame?.cameraId,
    };
  };
  return { draw, ask, cameras: form.overflows ? [...cameras, 'crowded'] : cameras, crowds, sent };
};
