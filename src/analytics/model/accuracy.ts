import type { CategoryTally } from './tally.ts';

/** How right the AI was about one category, as far as operators reviewed its events. */
export interface Accuracy {
  /** Reviewed events in which the AI flagged the category. */
  readonly flagged: number;
  /** Of those, the events with an annotation of the category. */
  readonly confirmed: number;
  /** Reviewed events with an annotation of the category that the AI had not flagged. */
  readonly missed: number;
}

/** The accuracy that the tally of a day says: no other tally counts `flagged` and `confirmed`. */
export const accuracyOf = ({ reviewed, flagged = 0, confirmed = 0 }: CategoryTally): Accuracy => ({
  flagged,
  confirmed,
  missed: reviewed - confirmed,
});

/** The share of flagged events that were confirmed, 0 to 1; undefined: nothing was flagged. */
export const precisionOf = ({ flagged, confirmed }: Accuracy): number | undefined =>
  flagged === 0 ? undefined : confirmed / flagged;

/** The share of events with an annotation that the AI had flagged, 0 to 1; undefined: there are no such events. */
export const recallOf = ({ confirmed, missed }: Accuracy): number | undefined =>
  confirmed + missed === 0 ? undefined : confirmed / (confirmed + missed);
