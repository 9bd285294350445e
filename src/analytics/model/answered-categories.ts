import type { CategoryTally, Tally } from './tally.ts';

/**
 * The names of the categories in an answer, sorted: the configured categories, and each category with a number that is not 0. All three maps of an answer
 * have the same names. Zeros of stored tallies do not count: they depend on the order in which messages came.
 *
 * @param configured the categories of `DETECTION_CATEGORIES`
 * @example answeredCategories(EMPTY_TALLY, ['smoke', 'fire']) // ['fire', 'smoke']
 */
export const answeredCategories = ({ categories }: Tally, configured: Iterable<string>): readonly string[] => {
  const names = new Set(configured);
  for (const [category, counts] of categories) if (isCounted(counts)) names.add(category);
  return [...names].sort();
};

const isCounted = ({ detections, reviewed, annotations }: CategoryTally): boolean =>
  detections !== 0 || reviewed !== 0 || annotations !== 0;
