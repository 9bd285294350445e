import type { Counts } from './answers.ts';
import { CATEGORY_MAPS, type CategoryMap, countOf, FIRST_CATEGORIES, orderedCategories } from './category-rows.ts';

/** More colours than this cannot be told apart. */
const MOST_COLOURS = 8;

/** The last colour: where there are more categories than colours, the rarest ones share it. */
export const SHARED_COLOUR = MOST_COLOURS - 1;

/**
 * The colour of every category of some counts, an index of the palette, in the order of `orderedCategories`. The first
 * categories have theirs always; of more categories than colours, those with the highest counts have one alone.
 */
export const categoryColours = (counts: readonly Pick<Counts, CategoryMap>[]): ReadonlyMap<string, number> => {
  const categories = orderedCategories(counts);
  const further = categories.filter((category) => !FIRST_CATEGORIES.includes(category));
  const free = MOST_COLOURS - FIRST_CATEGORIES.length;
  const alone = new Set(further.length <= free ? further : highest(further, counts).slice(0, free - 1));
  let next = FIRST_CATEGORIES.length;
  return new Map(
    categories.map((category) => {
      const first = FIRST_CATEGORIES.indexOf(category);
      if (first >= 0) return [category, first];
      if (!alone.has(category)) return [category, SHARED_COLOUR];
      next += 1;
      return [category, next - 1];
    }),
  );
};

const highest = (categories: readonly string[], counts: readonly Pick<Counts, CategoryMap>[]): readonly string[] => {
  const sumOf = (category: string): number =>
    counts.reduce((sum, each) => CATEGORY_MAPS.reduce((added, map) => added + countOf(each[map], category), sum), 0);
  const sums = new Map(categories.map((category) => [category, sumOf(category)]));
  return [...categories].sort((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0) || (a < b ? -1 : 1));
};
