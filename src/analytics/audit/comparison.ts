import { isDamage, LaterFormat } from '../../storage/errors.ts';
import type { DayTally, Tally } from '../model/tally.ts';

/** An answer as its numbers that are not 0, by name. */
export type Facts = ReadonlyMap<string, number>;

/** Answers by the counters that they tell. */
export type Answers = ReadonlyMap<string, Facts>;

/** An answer that is not what was counted. */
export interface Difference {
  /** @example ridge-04, minute 08:15:00 */
  readonly counter: string;
  readonly facts: readonly { readonly fact: string; readonly answered: number; readonly counted: number }[];
  /** Why the service cannot answer; undefined: it answers. */
  readonly damage: string | undefined;
}

/** More differences are only counted: a damaged day may have millions. */
const MOST_DIFFERENCES = 1_000;

const NO_FACTS: Facts = new Map();

/** The answers that were compared, and the differences that were found. */
export class Comparison {
  answers = 0;
  /** How many answers differ. */
  differing = 0;
  /** The first of them. */
  readonly differences: Difference[] = [];

  /**
   * Compares answers of the service with what was counted.
   *
   * @param question names the answers if the service cannot give them
   */
  async compare(question: string, counted: Answers, asking: Promise<Answers>): Promise<void> {
    const answered = await this.answered(question, asking);
    for (const counter of new Set([...counted.keys(), ...(answered?.keys() ?? [])])) {
      if (answered === undefined) break;
      this.answers += 1;
      const [is, should] = [answered.get(counter) ?? NO_FACTS, counted.get(counter) ?? NO_FACTS];
      const facts = [...new Set([...should.keys(), ...is.keys()])]
        .map((fact) => ({ fact, answered: is.get(fact) ?? 0, counted: should.get(fact) ?? 0 }))
        .filter((each) => each.answered !== each.counted);
      if (facts.length > 0) this.#note({ counter, facts, damage: undefined });
    }
  }

  /** The answer; undefined if a damaged row keeps the service from giving it, which is noted. @throws what is no damage */
  async answered<Answer>(question: string, asking: Promise<Answer>): Promise<Answer | undefined> {
    try {
      return await asking;
    } catch (error) {
      // The audit meets event rows of a later format first: so this is a counter row, whose format is damaged.
      if (!isDamage(error) && !(error instanceof LaterFormat)) throw error;
      this.answers += 1;
      this.#note({ counter: question, facts: [], damage: error.message });
      return undefined;
    }
  }

  #note(difference: Difference): void {
    this.differing += 1;
    if (this.differences.length < MOST_DIFFERENCES) this.differences.push(difference);
  }
}

/** The numbers of a tally, and its active cameras: by their ids, or how many there are. */
export const factsOf = (
  { events, reviewed, annotated, categories }: Tally,
  activeCameras: Iterable<string> | number,
): Facts => {
  const facts: [string, number][] = [
    ['total_events', events],
    ['reviewed_total_events', reviewed],
    ['annotated_total_events', annotated],
  ];
  if (typeof activeCameras === 'number') facts.push(['active_cameras', activeCameras]);
  else for (const id of activeCameras) facts.push([`active camera ${id}`, 1]);
  for (const [category, counts] of categories) {
    facts.push([`counts_per_category.${category}`, counts.detections]);
    facts.push([`reviewed_counts_per_category.${category}`, counts.reviewed]);
    facts.push([`annotated_counts_per_category.${category}`, counts.annotations]);
  }
  return without0(facts);
};

/** How often the AI was right, as a tally says it. */
export const accuracyFactsOf = ({ categories }: DayTally): Facts =>
  without0(
    [...categories].flatMap(([category, { flagged, confirmed }]): [string, number][] => [
      [`flagged.${category}`, flagged],
      [`confirmed.${category}`, confirmed],
    ]),
  );

const without0 = (facts: Iterable<readonly [string, number]>): Facts =>
  new Map([...facts].filter(([, value]) => value !== 0));
