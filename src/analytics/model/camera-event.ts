import { visibleFault } from '../../visible-text.ts';
import type { Instant } from './instant.ts';
import { type CategoryDayTally, type DayTally, EMPTY_TALLY } from './tally.ts';

export const CAMERA_EVENT_TYPE = 'CameraEvent.Changed';

/** Category → count. */
export type Counts = ReadonlyMap<string, number>;

/** The counts of a frame without flags. Most frames are like this: they share one map, to save memory. */
export const NO_COUNTS: Counts = new Map();

export const MAX_CAMERA_CATEGORIES = 64;

/** The maximum number of characters (UTF-16 units) of an event's or a camera's id. */
export const MAX_ID_LENGTH = 128;

/** The fault of an id, in words; undefined if it is valid: 1 to 128 characters of visible text. Keys in storage depend on the rule. */
export const idProblem = (id: string): string | undefined => {
  if (id.length === 0) return 'is empty';
  if (id.length > MAX_ID_LENGTH) return `is longer than ${MAX_ID_LENGTH} characters`;
  return visibleFault(id);
};

/** The maximum count of a category in a facet. */
export const MAX_COUNT = 10_000;

export const CATEGORY_FORM = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** The complete value of one facet of an event as of `time`. */
export interface Facet<Value> {
  readonly value: Value;
  readonly time: Instant;
}

/** The newest value of each facet of an event that any message has had so far. */
export interface Facets {
  readonly detections?: Facet<Counts> | undefined;
  readonly reviewed?: Facet<boolean> | undefined;
  readonly annotations?: Facet<Counts> | undefined;
  /** True: the event contributes nothing, such as a test frame. Its other facets are kept. */
  readonly removed?: Facet<boolean> | undefined;
}

/** A message about an event. Without facets it says only that the event exists. */
export interface EventMessage {
  // These three identify the event, and never change.
  readonly eventId: string;
  readonly cameraId: string;
  readonly ts: Instant;
  readonly facets: Facets;
}

/** The contribution of an event with these facets to every tally that it is counted in. Categories with 0 are left out. */
export const contributionOf = ({ detections, reviewed, annotations, removed }: Facets): DayTally => {
  if (removed?.value === true) return EMPTY_TALLY;
  const isReviewed = reviewed?.value === true;
  const categories = new Map<string, CategoryDayTally>();
  for (const [category, count] of detections?.value ?? NO_COUNTS) {
    if (count > 0) categories.set(category, categoryOf(count, annotations?.value.get(category) ?? 0, isReviewed));
  }
  let isAnnotated = false;
  for (const [category, count] of annotations?.value ?? NO_COUNTS) {
    if (count === 0) continue;
    isAnnotated = true;
    if (!categories.has(category)) categories.set(category, categoryOf(0, count, isReviewed));
  }
  return { events: 1, reviewed: isReviewed ? 1 : 0, annotated: isAnnotated ? 1 : 0, categories };
};

const categoryOf = (detections: number, annotations: number, isReviewed: boolean): CategoryDayTally => {
  const isFlagged = isReviewed && detections > 0;
  return {
    detections,
    reviewed: isReviewed && annotations > 0 ? 1 : 0,
    annotations,
    flagged: isFlagged ? 1 : 0,
    confirmed: isFlagged && annotations > 0 ? 1 : 0,
  };
};
