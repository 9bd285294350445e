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

export const NO_COUNT: CategoryTally = { detections: 0, reviewed: 0, annotations: 0, flagged: 0, confirmed: 0 };

export const EMPTY_TALLY: Tally = { events: 0, reviewed: 0, annotated: 0, categories: new Map() };

/** The counts of a category, in the order in which rows have them. */
export const COUNTS = ['detections', 'reviewed', 'annotations', 'flagged', 'confirmed'] as const;

/** By name: a loop over {@link COUNTS} is slower, and every event and every step of a series is added here. */
const added = (own: CategoryTally, more: CategoryTally, sign: 1 | -1): CategoryTally => ({
  detections: own.detections + sign * more.detections,
  reviewed: own.reviewed + sign * more.reviewed,
  annotations: own.annotations + sign * more.annotations,
  flagged: own.flagged + sign * more.flagged,
  confirmed: own.confirmed + sign * more.confirmed,
});

/** A sum that grows in place: of many tallies with many categories, {@link plus} would copy the sum each time. */
export class GrowingTally implements Tally {
  events: number;
  reviewed: number;
  annotated: number;
  readonly categories: Map<string, CategoryTally>;

  constructor({ events, reviewed, annotated, categories }: Tally = EMPTY_TALLY) {
    this.events = events;
    this.reviewed = reviewed;
    this.annotated = annotated;
    this.categories = new Map(categories);
  }

  /** Adds a tally, or takes it away; its new categories come last. */
  add(tally: Tally, sign: 1 | -1 = 1): this {
    this.events += sign * tally.events;
    this.reviewed += sign * tally.reviewed;
    this.annotated += sign * tally.annotated;
    for (const [category, more] of tally.categories) {
      this.categories.set(category, added(this.categories.get(category) ?? NO_COUNT, more, sign));
    }
    return this;
  }
}

/** The sum. Its categories are the categories of `left` in their order, then the new ones of `right`. */
export const plus = (left: Tally, right: Tally): Tally => new GrowingTally(left).add(right);

/** The difference `left - right`; counts may be negative. */
export const minus = (left: Tally, right: Tally): Tally => new GrowingTally(left).add(right, -1);

export const sumOf = (tallies: Iterable<Tally>): Tally => {
  const sum = new GrowingTally();
  for (const tally of tallies) sum.add(tally);
  return sum;
};
