/** The counts of one category. */
export interface CategoryTally {
  /** Times the AI flagged it. */
  readonly detections: number;
  /** Reviewed events with at least one annotation of it. */
  readonly reviewed: number;
  /** Annotations of it. */
  readonly annotations: number;
}

/** The counts of one category in an event, or in all events of a day: they also tell how often the AI was right. */
export interface CategoryDayTally extends CategoryTally {
  /** Reviewed events in which the AI flagged it. */
  readonly flagged: number;
  /** Of those, the events with at least one annotation of it. */
  readonly confirmed: number;
}

/** The counts of one category, with or without the figures of accuracy. */
export type AnyCategory = CategoryTally & Partial<CategoryDayTally>;

/**
 * The counters of a minute, an hour or a longer period, of all cameras or one. A category that was counted once stays in a stored tally, with
 * zeros when its counts are taken back.
 */
export interface Tally<Category extends CategoryTally = CategoryTally> {
  readonly events: number;
  readonly reviewed: number;
  readonly annotated: number;
  readonly categories: ReadonlyMap<string, Category>;
}

/** The counters of an event, or of a whole day of all cameras or one. */
export type DayTally = Tally<CategoryDayTally>;

export const EMPTY_TALLY: DayTally = { events: 0, reviewed: 0, annotated: 0, categories: new Map() };

/** A sum that grows in place: to add one tally after another would copy all categories each time. New categories come last. */
export interface GrowingTally<Category extends CategoryTally = CategoryTally> extends Tally<Category> {
  add(tally: Tally<Category>, sign?: 1 | -1): this;
}

/** A sum of any tallies. It adds up the figures of accuracy as well; they say something only if each of the tallies has them. */
class Sum implements GrowingTally<AnyCategory> {
  events = 0;
  reviewed = 0;
  annotated = 0;
  readonly categories = new Map<string, CategoryDayTally>();

  add(tally: Tally<AnyCategory>, sign: 1 | -1 = 1): this {
    this.events += sign * tally.events;
    this.reviewed += sign * tally.reviewed;
    this.annotated += sign * tally.annotated;
    for (const [category, more] of tally.categories) {
      const sum = this.categories.get(category);
      // Each count by its name: a loop over the names is slower, and this runs for every event and every step of a series.
      this.categories.set(category, {
        detections: (sum?.detections ?? 0) + sign * more.detections,
        reviewed: (sum?.reviewed ?? 0) + sign * more.reviewed,
        annotations: (sum?.annotations ?? 0) + sign * more.annotations,
        flagged: (sum?.flagged ?? 0) + sign * (more.flagged ?? 0),
        confirmed: (sum?.confirmed ?? 0) + sign * (more.confirmed ?? 0),
      });
    }
    return this;
  }
}

/** A growing sum of periods. */
export const growingTally = (): GrowingTally => new Sum();

/** A growing sum of events or whole days, with the figures of accuracy. */
export const growingDayTally = (): GrowingTally<CategoryDayTally> => new Sum();

/**
 * The sum; of tallies of events or whole days, with the figures of accuracy. Its categories are in the order of the first tally; new categories of
 * the next tallies come last.
 */
export const sumOf: {
  (tallies: Iterable<DayTally>): DayTally;
  (tallies: Iterable<Tally>): Tally;
} = (tallies: Iterable<Tally<AnyCategory>>): DayTally => {
  const sum = new Sum();
  for (const tally of tallies) sum.add(tally);
  return sum;
};

const isNothing = ({ detections, reviewed, annotations, flagged, confirmed }: CategoryDayTally): boolean =>
  detections === 0 && reviewed === 0 && annotations === 0 && flagged === 0 && confirmed === 0;

/** The difference `after - before`; counts may be negative. Categories without a difference are left out. */
export const differenceOf = (after: DayTally, before: DayTally): DayTally => {
  const difference = new Sum().add(after).add(before, -1);
  for (const [category, counts] of difference.categories) {
    if (isNothing(counts)) difference.categories.delete(category);
  }
  return difference;
};
