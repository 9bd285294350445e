import type { Counts, Facet, Facets } from './camera-event.ts';

const newer = <Value>(known: Facet<Value> | undefined, sent: Facet<Value> | undefined): Facet<Value> | undefined =>
  sent === undefined || (known !== undefined && sent.time <= known.time) ? known : sent;

/**
 * The facets of an event after a message: of each facet the newest `time` wins, an older or repeated message changes nothing. Messages may
 * come in any order, and repeatedly.
 *
 * @returns `known` itself if the message changes nothing
 */
export const applyFacets = (known: Facets, sent: Facets): Facets => {
  const newest = {
    detections: newer(known.detections, sent.detections),
    reviewed: newer(known.reviewed, sent.reviewed),
    annotations: newer(known.annotations, sent.annotations),
    removed: newer(known.removed, sent.removed),
  };
  const isKnown =
    newest.detections === known.detections &&
    newest.reviewed === known.reviewed &&
    newest.annotations === known.annotations &&
    newest.removed === known.removed;
  return isKnown ? known : newest;
};

/**
 * Whether a facet of a message lost against a newer value, or against another value of the same `time`. A message that was merely repeated
 * is not superseded.
 *
 * @param known the facets of its event, which the message does not change
 */
export const isSuperseded = (known: Facets, sent: Facets): boolean =>
  isReplaced(known.detections, sent.detections, areSameCounts) ||
  isReplaced(known.reviewed, sent.reviewed, Object.is) ||
  isReplaced(known.annotations, sent.annotations, areSameCounts) ||
  isReplaced(known.removed, sent.removed, Object.is);

const isReplaced = <Value>(
  known: Facet<Value> | undefined,
  sent: Facet<Value> | undefined,
  areSame: (left: Value, right: Value) => boolean,
): boolean =>
  known !== undefined &&
  sent !== undefined &&
  (sent.time < known.time || (sent.time === known.time && !areSame(sent.value, known.value)));

/** A category that is missing counts as 0. */
const areSameCounts = (left: Counts, right: Counts): boolean =>
  [...left.keys(), ...right.keys()].every((category) => (left.get(category) ?? 0) === (right.get(category) ?? 0));
