import { NO_COUNT, type Tally } from './tally.ts';

/**
 * A tally in which every known category is present, with zeros if nothing of it was counted, beside those that were. Sorted.
 *
 * @example withKnownCategories(EMPTY_TALLY, ['fire', 'smoke']) // fire and smoke, with zeros
 */
export const withKnownCategories = (tally: Tally, known: Iterable<string>): Tally => ({
  ...tally,
  categories: new Map(
    [...new Set([...known, ...tally.categories.keys()])]
      .sort()
      .map((category) => [category, tally.categories.get(category) ?? NO_COUNT]),
  ),
});
