import { isDamage } from '../../storage/errors.ts';
import type { CategoryDayTally, CategoryTally, Tally } from '../model/tally.ts';

/** A number of an answer that differs from the count, or an answer that a damaged row prevents. */
export type Difference =
  | { readonly name: string; readonly answered: number; readonly counted: number }
  | { readonly name: string; readonly damage: string };

/** More differences are only counted: a damaged day may have millions. */
const MOST_DIFFERENCES = 1_000;

/** Counts of counters by their names, such as `ridge-04, minute 08:15`. */
export class Counts {
  readonly #counts = new Map<string, { readonly numbers: Map<string, number>; readonly cameras: Set<string> }>();

  /** Adds a tally of a camera to a counter. */
  add(counter: string, cameraId: string, tally: Tally): void {
    const count = this.#counts.get(counter) ?? { numbers: new Map<string, number>(), cameras: new Set() };
    this.#counts.set(counter, count);
    count.cameras.add(cameraId);
    for (const [name, value] of numbersOf(tally)) count.numbers.set(name, (count.numbers.get(name) ?? 0) + value);
  }

  /** Takes the count of a counter out. */
  take(counter: string): {
    readonly numbers: Iterable<readonly [string, number]>;
    readonly cameras: ReadonlySet<string>;
  } {
    const count = this.#counts.get(counter) ?? { numbers: [], cameras: new Set() };
    this.#counts.delete(counter);
    return count;
  }

  /** The counters that were not taken out. */
  names(): readonly string[] {
    return [...this.#counts.keys()];
  }
}

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

  /**
   * Compares the answer about a counter with its count, which is taken out of `counts`.
   *
   * @param cameras the active cameras in the answer: their ids, or the number of cameras; undefined: it does not have them
   */
  compare(counts: Counts, counter: string, tally: Tally, cameras?: readonly string[] | number): void {
    const { numbers, cameras: active } = counts.take(counter);
    const counted = new Map([
      ...numbers,
      ...activeNumbers(typeof cameras === 'number' ? active.size : cameras && [...active]),
    ]);
    const answered = new Map([...numbersOf(tally), ...activeNumbers(cameras)]);
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

const activeNumbers = (cameras: readonly string[] | number = []): readonly (readonly [string, number])[] =>
  typeof cameras === 'number' ? [['active_cameras', cameras]] : cameras.map((id) => [`active camera ${id}`, 1]);

/** The numbers of a tally, as answers name them. */
function* numbersOf({ events, reviewed, annotated, categories }: Tally): Generator<readonly [string, number]> {
  yield ['total_events', events];
  yield ['reviewed_total_events', reviewed];
  yield ['annotated_total_events', annotated];
  for (const [category, counts] of categories) {
    yield [`counts_per_category.${category}`, counts.detections];
    yield [`reviewed_counts_per_category.${category}`, counts.reviewed];
    yield [`annotated_counts_per_category.${category}`, counts.annotations];
    if (!isOfDay(counts)) continue;
    yield [`flagged.${category}`, counts.flagged];
    yield [`confirmed.${category}`, counts.confirmed];
  }
}

const isOfDay = (counts: CategoryTally): counts is CategoryDayTally => 'flagged' in counts;
