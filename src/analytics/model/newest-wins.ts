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
