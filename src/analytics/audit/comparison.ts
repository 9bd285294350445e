import { isDamage } from '../../storage/errors.ts';
import type { CategoryDayTally, CategoryTally, Tally } from '../model/tally.ts';

/** Numbers that are not 0 by name, such as `ridge-04, minute 08:15:00: total_events`. */
export type Numbers = ReadonlyMap<string, number>;

/** A number that the service answers and that was not counted so, or an answer that it cannot give because of a damaged row. */
export type Difference =
  | { readonly name: string; readonly answered: number; readonly counted: number }
  | { readonly name: string; readonly damage: string };

/** More differences are only counted: a damaged day may have millions. */
const MOST_DIFFERENCES = 1_000;

/** The numbers that were compared, and the differences that were found. */
export class Comparison {
  compared = 0;
  differing = 0;
  /** The first of them. */
  readonly differences: Difference[] = [];

  /** Compares an answer of the service with what was counted. */
  async compare(question: string, counted: Numbers, asking: Promise<Numbers>): Promise<void> {
    const numbers = await this.answered(question, asking);
    if (numbers === undefined) return;
    for (const name of new Set([...counted.keys(), ...numbers.keys()])) {
      const difference = { name, answered: numbers.get(name) ?? 0, counted: counted.get(name) ?? 0 };
      this.compared += 1;
      if (difference.answered !== difference.counted) this.#note(difference);
    }
  }

  /** The answer; undefined if a damaged row keeps the service from giving it, which is noted. @throws what is no damage */
  async answered<Answer>(question: string, asking: Promise<Answer>): Promise<Answer | undefined> {
    try {
      return await asking;
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#note({ name: question, damage: error.message });
      return undefined;
    }
  }

  #note(difference: Difference): void {
    this.differing += 1;
    if (this.differences.length < MOST_DIFFERENCES) this.differences.push(difference);
  }
}

/**
 * The numbers of a counter, and of the cameras that are active in it.
 *
 * @param activeCameras their ids, or how many they are
 */
export const numbersOf = (
  counter: string,
  { events, reviewed, annotated, categories }: Tally,
  activeCameras: Iterable<string> | number,
): Numbers => {
  const numbers = new Map<string, number>();
  const add = (name: string, value: number): void => {
    if (value !== 0) numbers.set(`${counter}: ${name}`, value);
  };
  add('total_events', events);
  add('reviewed_total_events', reviewed);
  add('annotated_total_events', annotated);
  if (typeof activeCameras === 'number') add('active_cameras', activeCameras);
  else for (const id of activeCameras) add(`active camera ${id}`, 1);
  for (const [category, counts] of categories) {
    add(`counts_per_category.${category}`, counts.detections);
    add(`reviewed_counts_per_category.${category}`, counts.reviewed);
    add(`annotated_counts_per_category.${category}`, counts.annotations);
    if (!isOfDay(counts)) continue;
    add(`flagged.${category}`, counts.flagged);
    add(`confirmed.${category}`, counts.confirmed);
  }
  return numbers;
};

const isOfDay = (counts: CategoryTally): counts is CategoryDayTally => 'flagged' in counts;

/** The numbers of several counters. */
export const numbersOfAll = (all: Iterable<Numbers>): Numbers => new Map([...all].flatMap((numbers) => [...numbers]));
