import type { Counts, Facet, Facets } from './camera-event.ts';

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
 * The facets of an event after a message: of each facet the newest `time` wins, an older or repeated one changes nothing. So messages may
 * come in any order, and as often as they like.
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
