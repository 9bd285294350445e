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

// Each count by its name: a loop over the names is slower, and this runs for every event and every step of a series.
const added = (sum: CategoryTally | undefined, more: CategoryTally, sign: 1 | -1): CategoryTally => ({
  detections: (sum?.detections ?? 0) + sign * more.detections,
  reviewed: (sum?.reviewed ?? 0) + sign * more.reviewed,
  annotations: (sum?.annotations ?? 0) + sign * more.annotations,
});

const addedOfDay = (sum: CategoryDayTally | undefined, more: CategoryDayTally, sign: 1 | -1): CategoryDayTally => ({
  detections: (sum?.detections ?? 0) + sign * more.detections,
  reviewed: (sum?.reviewed ?? 0) + sign * more.reviewed,
  annotations: (sum?.annotations ?? 0) + sign * more.annotations,
  flagged: (sum?.flagged ?? 0) + sign * more.flagged,
  confirmed: (sum?.confirmed ?? 0) + sign * more.confirmed,
});

/** A sum that grows in place. New categories come last. */
class Sum<Category extends CategoryTally> implements Tally<Category> {
  events = 0;
  reviewed = 0;
  annotated = 0;
  readonly categories = new Map<string, Category>();
  readonly #added: (sum: Category | undefined, more: Category, sign: 1 | -1) => Category;

  constructor(add: (sum: Category | undefined, more: Category, sign: 1 | -1) => Category) {
    this.#added = add;
  }

  add(tally: Tally<Category>, sign: 1 | -1 = 1): this {
    this.events += sign * tally.events;
    this.reviewed += sign * tally.reviewed;
    this.annotated += sign * tally.annotated;
    for (const [category, more] of tally.categories) {
      this.categories.set(category, this.#added(this.categories.get(category), more, sign));
    }
    return this;
  }
}

/** A growing sum of periods: to add one tally after another would copy all categories each time. */
export const growingTally = (): Sum<CategoryTally> => new Sum(added);

/** A growing sum of events or whole days, with the figures of accuracy. */
export const growingDayTally = (): Sum<CategoryDayTally> => new Sum(addedOfDay);

/** The sum. Its categories are in the order of the first tally; new categories of the next tallies come last. */
export const sumOf = (tallies: Iterable<Tally>): Tally => {
  const sum = growingTally();
  for (const tally of tallies) sum.add(tally);
  return sum;
};

export const sumOfDays = (tallies: Iterable<DayTally>): DayTally => {
  const sum = growingDayTally();
  for (const tally of tallies) sum.add(tally);
  return sum;
};

const isNothing = ({ detections, reviewed, annotations, flagged, confirmed }: CategoryDayTally): boolean =>
  detections === 0 && reviewed === 0 && annotations === 0 && flagged === 0 && confirmed === 0;

/** The difference `after - before`; counts may be negative. Categories without a difference are left out. */
export const differenceOf = (after: DayTally, before: DayTally): DayTally => {
  const difference = growingDayTally().add(after).add(before, -1);
  for (const [category, counts] of difference.categories) {
    if (isNothing(counts)) difference.categories.delete(category);
  }
  return difference;
};
