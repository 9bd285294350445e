import type { Chance } from '../chance.ts';
import type { PlainMessage, Question } from '../../analytics/oracle.ts';

const SECOND = 1_000_000n;
const MINUTE = 60n * SECOND;
const HOUR = 60n * MINUTE;
const DAY = 24n * HOUR;

/** Ids whose keys are each other's prefixes, or have to be escaped. */
const CAMERAS = ['ridge-04', 'ridge-04 ', 'ridge-05', 'north/ridge|4', "o'brien 🔥?"] as const;
const CATEGORIES = ['smoke', 'fire', 'fog', 'constructor'] as const;
const SECONDS = [0n, 10_500_000n, 29_999_999n, 30_000_000n, 45_000_001n, 59_999_999n] as const;
const MINUTES = [480n, 481n, 539n, 540n, 1_439n, 0n] as const;
/** That a message was sent before, and that a message is older than others about its event. */
const REPEATS = 0.15;

/** Draws messages about a few frames, and questions about them. */
export class Activity {
  readonly #chance: Chance;
  readonly #days: readonly bigint[];
  readonly #frames: readonly Pick<PlainMessage, 'eventId' | 'cameraId' | 'ts'>[];
  readonly cameras: readonly string[];
  /** The drawn messages, each once. */
  readonly sent: PlainMessage[] = [];

  /** @param days the first microsecond of each day that frames are of */
  constructor(chance: Chance, frames: number, days: readonly bigint[]) {
    this.#chance = chance;
    this.#days = days;
    this.cameras = chance.shuffled(CAMERAS).slice(0, chance.wholeBetween(1, 4));
    const minutes = chance.shuffled(MINUTES).slice(0, chance.wholeBetween(1, 3));
    this.#frames = Array.from({ length: frames }, (_, index) => {
      const minute = chance.oneOf(days) + chance.oneOf(minutes) * MINUTE;
      const into = chance.happens(0.2) ? BigInt(chance.wholeBetween(0, 59_999_999)) : chance.oneOf(SECONDS);
      return { eventId: `f${index}`, cameraId: chance.oneOf(this.cameras), ts: minute + into };
    });
  }

  /** The next message: news of a frame, older news of it, or a message that was sent before. */
  message(): PlainMessage {
    const chance = this.#chance;
    const again = chance.happens(REPEATS) ? chance.anyOf(this.sent) : undefined;
    if (again !== undefined) return again;
    const frame = chance.oneOf(this.#frames);
    const number = BigInt(this.sent.length + 1);
    // The first message is not always the newest.
    const late = BigInt(chance.happens(REPEATS) ? chance.wholeBetween(0, 40) : 0);
    const message = {
      ...frame,
      time: frame.ts + (number - late) * 100n + number,
      ...(chance.happens(0.7) && { detections: this.#counts(3) }),
      ...(chance.happens(0.3) && { reviewed: chance.happens(0.7) }),
      ...(chance.happens(0.3) && { annotations: this.#counts(2) }),
      ...(chance.happens(0.15) && { removed: chance.happens(0.6) }),
    };
    this.sent.push(message);
    return message;
  }

  /** A question: often about the day, the hour, the minute or the second of a frame, and a little more on either side. */
  question(): Question {
    const chance = this.#chance;
    const frame = chance.oneOf(this.#frames);
    if (chance.happens(0.3)) {
      const [one, other] = [this.#end(), this.#end()];
      const cameraId = chance.happens(0.5) ? chance.oneOf(this.cameras) : undefined;
      return { start: one < other ? one : other, end: one < other ? other : one, cameraId };
    }
    const length = chance.oneOf([DAY, DAY, HOUR, HOUR, MINUTE, SECOND]);
    const start = frame.ts - (frame.ts % length);
    return {
      start: start - chance.oneOf([0n, 0n, 1n, MINUTE]),
      end: start + length - 1n + chance.oneOf([0n, 0n, 1n, HOUR]),
      cameraId: chance.happens(0.5) ? frame.cameraId : undefined,
    };
  }

  #end(): bigint {
    const chance = this.#chance;
    const hour = chance.oneOf(this.#days) + BigInt(chance.wholeBetween(0, 25)) * HOUR;
    const at = chance.happens(0.6) ? chance.oneOf(this.#frames).ts : hour;
    return at - (at % chance.oneOf([1n, 1n, MINUTE, HOUR])) + chance.oneOf([-1n, 0n, 0n, 1n]);
  }

  #counts(most: number): Readonly<Record<string, number>> {
    const names = this.#chance.shuffled(CATEGORIES).slice(0, this.#chance.wholeBetween(0, 2));
    return Object.fromEntries(names.map((name) => [name, this.#chance.wholeBetween(0, most)]));
  }
}
