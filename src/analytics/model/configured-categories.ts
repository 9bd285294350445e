import { NO_COUNT, type Tally } from './tally.ts';

/**
 * A tally in which every category of `DETECTION_CATEGORIES` is present, with zeros if it has no counts, and all counted categories. Sorted.
 *
 * @example withConfiguredCategories(EMPTY_TALLY, ['fire', 'smoke']) // fire and smoke, with zeros
 */
export const withConfiguredCategories = (tally: Tally, configured: Iterable<string>): Tally => ({
  ...tally,
  categories: new Map(
    [...new Set([...configured, ...tally.categories.keys()])]
      .sort()
      .map((category) => [category, tally.categories.get(category) ?? NO_COUNT]),
  ),
});
