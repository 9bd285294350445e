import type { CategoryDayTally } from './tally.ts';

/** How often the AI was right about one category, among the reviewed events. */
export interface Accuracy {
  /** Reviewed events in which the AI flagged the category at least once. */
  readonly flagged: number;
  /** Of those, the events with at least one annotation of the category. */
  readonly confirmed: number;
  /** Reviewed events with an annotation of the category that the AI had not flagged. */
  readonly missed: number;
  /** `confirmed` ÷ `flagged`; undefined if nothing was flagged. */
  readonly precision: number | undefined;
  /** `confirmed` ÷ (`confirmed` + `missed`); undefined if no reviewed event has an annotation of the category. */
  readonly recall: number | undefined;
}

/** The accuracy of the AI for a category, by the category's tally of whole days. */
export const accuracyOf = ({ flagged, confirmed, reviewed }: CategoryDayTally): Accuracy => ({
  flagged,
  confirmed,
  missed: reviewed - confirmed,
  precision: flagged === 0 ? undefined : confirmed / flagged,
  recall: reviewed === 0 ? undefined : confirmed / reviewed,
});
