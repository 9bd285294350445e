/** What was counted of one category. */
export interface CategoryTally {
  /** Times the AI flagged it. */
  readonly detections: number;
  /** Reviewed events with at least one annotation of it. */
  readonly reviewed: number;
  /** Annotations of it. */
  readonly annotations: number;
  /** What a later version counts, as it was read. */
  readonly rest?: readonly unknown[];
}

/**
 * The counters of an event, a minute, an hour, a day or a camera. A category that was ever counted stays in `categories`,
 * with zeros when its counts are taken back.
 */
export interface Tally {
  readonly events: number;
  readonly reviewed: number;
  readonly annotated: number;
  readonly categories: ReadonlyMap<string, CategoryTally>;
  /** What a later version counts, as it was read. */
  readonly rest?: Readonly<Record<string, unknown>>;
}

const NOTHING: CategoryTally = { detections: 0, reviewed: 0, annotations: 0 };

/** The tally of no events. */
export const EMPTY_TALLY: Tally = { events: 0, reviewed: 0, annotated: 0, categories: new Map() };

const combine = (left: Tally, right: Tally, sign: 1 | -1): Tally => {
  const categories = new Map(left.categories);
  for (const [category, more] of right.categories) {
    const own = categories.get(category) ?? NOTHING;
    categories.set(category, {
      detections: own.detections + sign * more.detections,
      reviewed: own.reviewed + sign * more.reviewed,
      annotations: own.annotations + sign * more.annotations,
      ...(own.rest && { rest: own.rest }),
    });
  }
  return {
    events: left.events + sign * right.events,
    reviewed: left.reviewed + sign * right.reviewed,
    annotated: left.annotated + sign * right.annotated,
    categories,
    ...(left.rest && { rest: left.rest }),
  };
};

/** The sum. Its categories are those of `left` in their order, then the new ones of `right`. */
export const plus = (left: Tally, right: Tally): Tally => combine(left, right, 1);

/** The difference `left - right`; counts may be negative. */
export const minus = (left: Tally, right: Tally): Tally => combine(left, right, -1);

/** A sum that grows in place: of many tallies with many categories, {@link plus} would copy the sum each time. */
export class GrowingTally implements Tally {
  events = 0;
  reviewed = 0;
  annotated = 0;
  readonly categories = new Map<string, { -readonly [Count in keyof CategoryTally]: CategoryTally[Count] }>();

  /** Adds a tally; its new categories come last. */
  add(tally: Tally): void {
    this.events += tally.events;
    this.reviewed += tally.reviewed;
    this.annotated += tally.annotated;
    for (const [category, more] of tally.categories) {
      const own = this.categories.get(category);
      if (own === undefined) {
        this.categories.set(category, { ...more });
        continue;
      }
      own.detections += more.detections;
      own.reviewed += more.reviewed;
      own.annotations += more.annotations;
    }
  }
}

/** The sum of any number of tallies. */
export const sumOf = (tallies: Iterable<Tally>): Tally => {
  const sum = new GrowingTally();
  for (const tally of tallies) sum.add(tally);
  return sum;
};

/** Adds a tally to the sum under a key. */
export const addTo = <Key>(sums: Map<Key, Tally>, key: Key, tally: Tally): void => {
  const sum = sums.get(key);
  sums.set(key, sum === undefined ? tally : plus(sum, tally));
};
