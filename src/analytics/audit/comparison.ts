import { isDamage } from '../../storage/errors.ts';
import { type DayTally, EMPTY_TALLY, type Tally } from '../model/tally.ts';

/** A number of an answer that differs from the count, or an answer that a damaged row prevents. */
export type Difference =
  | { readonly name: string; readonly answered: number; readonly counted: number }
  | { readonly name: string; readonly damage: string };

/** More differences are only counted: a damaged day may have millions. */
const MOST_DIFFERENCES = 1_000;

/** Numbers by their names. A missing number is 0. */
export type Numbers = ReadonlyMap<string, number>;

export const NO_NUMBERS: Numbers = new Map();

/** Compares the answers of the service with counts. */
export class Comparison {
  /** How many numbers were compared, and how many of them differ. */
  compared = 0;
  differing = 0;
  /** The first differences. */
  readonly differences: Difference[] = [];

  /** Waits for an answer. If a damaged row prevents it, this is a difference, and the result is undefined. */
  async answered<Answer>(question: string, asking: Promise<Answer>): Promise<Answer | undefined> {
    try {
      return await asking;
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#note({ name: question, damage: error.message });
      return undefined;
    }
  }

  /** @param counter its name, such as `ridge-04, minute 08:15:00` */
  compare(counter: string, counted: Numbers, answered: Numbers): void {
    for (const name of new Set([...counted.keys(), ...answered.keys()])) {
      const [is, should] = [answered.get(name) ?? 0, counted.get(name) ?? 0];
      this.compared += 1;
      if (is !== should) this.#note({ name: `${counter}: ${name}`, answered: is, counted: should });
    }
  }

  #note(difference: Difference): void {
    this.differing += 1;
    if (this.differences.length < MOST_DIFFERENCES) this.differences.push(difference);
  }
}

/**
 * The numbers that are not 0, as answers name them.
 *
 * @param activeCameras their ids, or the number of cameras
 * @param accuracy a tally with the figures of accuracy, if the answer has them
 */
export const numbersOf = (
  tally: Tally,
  activeCameras: readonly string[] | number,
  accuracy: DayTally = EMPTY_TALLY,
): Numbers => {
  const numbers = new Map<string, number>();
  const add = (name: string, value: number): void => void (value !== 0 && numbers.set(name, value));
  add('total_events', tally.events);
  add('reviewed_total_events', tally.reviewed);
  add('annotated_total_events', tally.annotated);
  if (typeof activeCameras === 'number') add('active_cameras', activeCameras);
  else for (const id of activeCameras) add(`active camera ${id}`, 1);
  for (const [category, counts] of tally.categories) {
    add(`counts_per_category.${category}`, counts.detections);
    add(`reviewed_counts_per_category.${category}`, counts.reviewed);
    add(`annotated_counts_per_category.${category}`, counts.annotations);
  }
  for (const [category, { flagged, confirmed }] of accuracy.categories) {
    add(`flagged.${category}`, flagged);
    add(`confirmed.${category}`, confirmed);
  }
  return numbers;
};
