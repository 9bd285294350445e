import type { Instant } from './instant.ts';
import type { CategoryTally, Tally } from './tally.ts';

/** Category → count. */
export type Counts = ReadonlyMap<string, number>;

/** Most categories of one camera in one day. */
export const MAX_CAMERA_CATEGORIES = 64;

/** What identifies an event; it never changes. */
export interface EventIdentity {
  readonly eventId: string;
  readonly cameraId: string;
  readonly ts: Instant;
}

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
export interface EventMessage extends EventIdentity {
  readonly facets: Facets;
}

/** The newer of two facets. Categories of the older value stay, with 0. */
const newerCounts = (known: Facet<Counts> | undefined, sent: Facet<Counts> | undefined): Facet<Counts> | undefined => {
  if (sent === undefined || (known !== undefined && sent.time <= known.time)) return known;
  if (known === undefined) return sent;
  const value = new Map([...known.value.keys()].map((category) => [category, 0]));
  for (const [category, count] of sent.value) value.set(category, count);
  return { value, time: sent.time };
};

const newerFlag = (known: Facet<boolean> | undefined, sent: Facet<boolean> | undefined): Facet<boolean> | undefined =>
  sent === undefined || (known !== undefined && sent.time <= known.time) ? known : sent;

/**
 * The facets of an event after a message: of each facet the newest `time` wins, an older or repeated one changes nothing.
 *
 * @returns `known` itself where the message changes nothing
 */
export const applyFacets = (known: Facets, sent: Facets): Facets => {
  const detections = newerCounts(known.detections, sent.detections);
  const reviewed = newerFlag(known.reviewed, sent.reviewed);
  const annotations = newerCounts(known.annotations, sent.annotations);
  if (detections === known.detections && reviewed === known.reviewed && annotations === known.annotations) return known;
  return {
    ...(detections === undefined ? {} : { detections }),
    ...(reviewed === undefined ? {} : { reviewed }),
    ...(annotations === undefined ? {} : { annotations }),
  };
};

/** The values of facets, whatever their times. */
export interface FacetValues {
  readonly detections?: Pick<Facet<Counts>, 'value'>;
  readonly reviewed?: Pick<Facet<boolean>, 'value'>;
  readonly annotations?: Pick<Facet<Counts>, 'value'>;
}

/** The contribution of an event with these facets to every tally that it is counted in. */
export const contributionOf = (facets: FacetValues): Tally => {
  const { detections, reviewed, annotations } = facets;
  const isReviewed = reviewed?.value === true;
  const categories = new Map<string, CategoryTally>();
  for (const category of categoriesOf(facets)) {
    const annotated = annotations?.value.get(category) ?? 0;
    categories.set(category, {
      detections: detections?.value.get(category) ?? 0,
      reviewed: isReviewed && annotated > 0 ? 1 : 0,
      annotations: annotated,
    });
  }
  const isAnnotated = [...(annotations?.value.values() ?? [])].some((count) => count > 0);
  return { events: 1, reviewed: isReviewed ? 1 : 0, annotated: isAnnotated ? 1 : 0, categories };
};

/** The categories named in facets. */
export const categoriesOf = ({ detections, annotations }: FacetValues): ReadonlySet<string> =>
  new Set([...(detections?.value.keys() ?? []), ...(annotations?.value.keys() ?? [])]);
