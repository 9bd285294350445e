import type { Instant } from './instant.ts';
import type { CategoryTally, Tally } from './tally.ts';

/** How many, by category. */
export type Counts = ReadonlyMap<string, number>;

/** Which event it is. These never change for an event. */
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

/** What is known of an event: of each facet the newest value, or nothing yet. */
export interface Facets {
  readonly detections?: Facet<Counts>;
  readonly reviewed?: Facet<boolean>;
  readonly annotations?: Facet<Counts>;
}

/** One message about an event. A message without facets says only that the event exists. */
export interface EventMessage extends EventIdentity {
  readonly facets: Facets;
}

/** A facet after a message: the newer one; what an older value counted stays present with 0. */
const newerCounts = (known: Facet<Counts> | undefined, said: Facet<Counts> | undefined): Facet<Counts> | undefined => {
  if (said === undefined || (known !== undefined && said.time <= known.time)) return known;
  if (known === undefined) return said;
  const value = new Map([...known.value.keys()].map((category) => [category, 0]));
  for (const [category, count] of said.value) value.set(category, count);
  return { value, time: said.time };
};

const newerFlag = (known: Facet<boolean> | undefined, said: Facet<boolean> | undefined): Facet<boolean> | undefined =>
  said === undefined || (known !== undefined && said.time <= known.time) ? known : said;

/**
 * What is known after a message: for each facet the newest `time` wins, an older or repeated one changes nothing.
 *
 * @returns `known` itself where the message changes nothing
 */
export const applyFacets = (known: Facets, said: Facets): Facets => {
  const detections = newerCounts(known.detections, said.detections);
  const reviewed = newerFlag(known.reviewed, said.reviewed);
  const annotations = newerCounts(known.annotations, said.annotations);
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

/** What an event of which this is known counts: its contribution to every tally it is part of. */
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

/** The categories that facets name, each once. */
export const categoriesOf = ({ detections, annotations }: FacetValues): ReadonlySet<string> =>
  new Set([...(detections?.value.keys() ?? []), ...(annotations?.value.keys() ?? [])]);
