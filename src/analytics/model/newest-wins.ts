import type { Counts, Facet, Facets } from './camera-event.ts';

/** The newer of two facets. */
const newer = <Value>(
  known: Facet<Value> | undefined,
  sent: Facet<Value> | undefined,
  merged = (_: Value, after: Value): Value => after,
): Facet<Value> | undefined => {
  if (sent === undefined || (known !== undefined && sent.time <= known.time)) return known;
  return known === undefined ? sent : { value: merged(known.value, sent.value), time: sent.time };
};

/** Categories of the older value stay, with 0. */
const mergedCounts = (before: Counts, after: Counts): Counts =>
  new Map([...Array.from(before.keys(), (category) => [category, 0] as const), ...after]);

/**
 * The facets of an event after a message: of each facet the newest `time` wins, an older or repeated one changes nothing. So messages may
 * come in any order, and as often as they like.
 *
 * @returns `known` itself where the message changes nothing
 */
export const applyFacets = (known: Facets, sent: Facets): Facets => {
  const detections = newer(known.detections, sent.detections, mergedCounts);
  const reviewed = newer(known.reviewed, sent.reviewed);
  const annotations = newer(known.annotations, sent.annotations, mergedCounts);
  if (detections === known.detections && reviewed === known.reviewed && annotations === known.annotations) return known;
  return {
    ...(detections && { detections }),
    ...(reviewed && { reviewed }),
    ...(annotations && { annotations }),
  };
};

/**
 * Whether some facet of a message was not taken because a newer value of it is known, or another one of the same `time`. A message that
 * was merely repeated is not superseded.
 *
 * @param known the facets of its event, which the message does not change
 */
export const isSuperseded = (known: Facets, sent: Facets): boolean =>
  isReplaced(known.detections, sent.detections, areSameCounts) ||
  isReplaced(known.reviewed, sent.reviewed, (one, other) => one === other) ||
  isReplaced(known.annotations, sent.annotations, areSameCounts);

const isReplaced = <Value>(
  known: Facet<Value> | undefined,
  sent: Facet<Value> | undefined,
  areSame: (one: Value, other: Value) => boolean,
): boolean =>
  known !== undefined &&
  sent !== undefined &&
  (sent.time < known.time || (sent.time === known.time && !areSame(sent.value, known.value)));

/** A category that is missing counts as 0: categories of older values stay with that. */
const areSameCounts = (one: Counts, other: Counts): boolean =>
  [...one.keys(), ...other.keys()].every((category) => (one.get(category) ?? 0) === (other.get(category) ?? 0));
