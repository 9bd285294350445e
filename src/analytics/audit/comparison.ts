import { isDamage } from '../../storage/errors.ts';
import { EMPTY_TALLY, type DayTally, type Tally } from '../model/tally.ts';

/** A number of an answer that differs from the count, or an answer that a damaged row prevents. */
export type Difference =
  | { readonly name: string; readonly answered: number; readonly counted: number }
  | { readonly name: string; readonly damage: string };

/** More differences are only counted: a damaged day may have millions. */
const MOST_DIFFERENCES = 1_000;

/** The tally of a counter, and its active cameras: their ids, or the number of cameras. */
export interface Activity {
  readonly tally: Tally;
  readonly activeCameras: readonly string[] | number;
}

export const NO_ACTIVITY: Activity = { tally: EMPTY_TALLY, activeCameras: 0 };

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

  /** @param counter names it, such as `ridge-04, minute 08:15:00` */
  compare(counter: string, counted: Activity, answered: Activity): void {
    this.#compareAll(counter, numbersOf(counted), numbersOf(answered));
  }

  /** Compares how often the AI was right. */
  compareAccuracy(counter: string, counted: DayTally, answered: DayTally): void {
    this.#compareAll(counter, accuracyNumbersOf(counted), accuracyNumbersOf(answered));
  }

  #compareAll(counter: string, counted: ReadonlyMap<string, number>, answered: ReadonlyMap<string, number>): void {
    for (const name of new Set([...counted.keys(), ...answered.keys()])) {
      this.compareNumber(`${counter}: ${name}`, answered.get(name) ?? 0, counted.get(name) ?? 0);
    }
  }

  compareNumber(name: string, answered: number, counted: number): void {
    this.compared += 1;
    if (answered !== counted) this.#note({ name, answered, counted });
  }

  #note(difference: Difference): void {
    this.differing += 1;
    if (this.differences.length < MOST_DIFFERENCES) this.differences.push(difference);
  }
}

/** The numbers that are not 0, as answers name them. */
const numbersOf = ({ tally, activeCameras }: Activity): ReadonlyMap<string, number> => {
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
  return numbers;
};

const accuracyNumbersOf = ({ categories }: DayTally): ReadonlyMap<string, number> =>
  new Map(
    [...categories].flatMap(([category, { flagged, confirmed }]) => [
      [`flagged.${category}`, flagged],
      [`confirmed.${category}`, confirmed],
    ]),
  );
