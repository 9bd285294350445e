/** The counts of one category. */
export interface CategoryTally {
  /** Times the AI flagged it. */
  readonly detections: number;
  /** Reviewed events with at least one annotation of it. */
  readonly reviewed: number;
  /** Annotations of it. */
  readonly annotations: number;
  /** Reviewed events in which the AI flagged it. Only tallies of whole days have it; in hours and minutes it is 0. */
  readonly flagged: number;
  /** Of the flagged events, the events with at least one annotation of it. Only in tallies of whole days, like `flagged`. */
  readonly confirmed: number;
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
}

/** A category without counts. */
export const NO_COUNT: CategoryTally = { detections: 0, reviewed: 0, annotations: 0, flagged: 0, confirmed: 0 };

/** The empty tally. */
export const EMPTY_TALLY: Tally = { events: 0, reviewed: 0, annotated: 0, categories: new Map() };

const combine = (left: Tally, right: Tally, sign: 1 | -1): Tally => {
  const categories = new Map(left.categories);
  for (const [category, more] of right.categories) {
    const own = categories.get(category) ?? NO_COUNT;
    categories.set(category, {
      detections: own.detections + sign * more.detections,
      reviewed: own.reviewed + sign * more.reviewed,
      annotations: own.annotations + sign * more.annotations,
      flagged: own.flagged + sign * more.flagged,
      confirmed: own.confirmed + sign * more.confirmed,
    });
  }
  return {
    events: left.events + sign * right.events,
    reviewed: left.reviewed + sign * right.reviewed,
    annotated: left.annotated + sign * right.annotated,
    categories,
  };
};

/** The sum. Its categories are the categories of `left` in their order, then the new ones of `right`. */
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
      own.flagged += more.flagged;
      own.confirmed += more.confirmed;
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
