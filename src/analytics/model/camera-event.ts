import type { Instant } from './instant.ts';
import type { CategoryTally, Tally } from './tally.ts';

export const CAMERA_EVENT_TYPE = 'CameraEvent.Changed';

/** Category → count. */
export type Counts = ReadonlyMap<string, number>;

/** The counts of most frames, which nothing is flagged in: they are remembered once, and not for each frame. */
export const NO_COUNTS: Counts = new Map();

export const MAX_CAMERA_CATEGORIES = 64;

/** The whole truth about one facet of an event as of `time`. */
export interface Facet<Value> {
  readonly value: Value;
  readonly time: Instant;
}

/** The newest value of each facet of an event that any message has had so far. */
export interface Facets {
  readonly detections?: Facet<Counts>;
  readonly reviewed?: Facet<boolean>;
  readonly annotations?: Facet<Counts>;
}

/** A message about an event. Without facets it says only that the event exists. */
export interface EventMessage {
  // These three identify the event, and never change.
  readonly eventId: string;
  readonly cameraId: string;
  readonly ts: Instant;
  readonly facets: Facets;
}

/** The contribution of an event with these facets to every tally that it is counted in. */
export const contributionOf = (facets: Facets): Tally => {
  const { detections, reviewed, annotations } = facets;
  const isReviewed = reviewed?.value === true;
  const categories = new Map<string, CategoryTally>();
  for (const category of categoriesOf(facets)) {
    const detected = detections?.value.get(category) ?? 0;
    const annotated = annotations?.value.get(category) ?? 0;
    const isFlagged = isReviewed && detected > 0;
    categories.set(category, {
      detections: detected,
      reviewed: isReviewed && annotated > 0 ? 1 : 0,
      annotations: annotated,
      flagged: isFlagged ? 1 : 0,
      confirmed: isFlagged && annotated > 0 ? 1 : 0,
    });
  }
  const isAnnotated = [...(annotations?.value.values() ?? [])].some((count) => count > 0);
  return { events: 1, reviewed: isReviewed ? 1 : 0, annotated: isAnnotated ? 1 : 0, categories };
};

export const categoriesOf = ({ detections, annotations }: Facets): ReadonlySet<string> =>
  new Set([...(detections?.value.keys() ?? []), ...(annotations?.value.keys() ?? [])]);
