import type { Counts, CountsPerCategory } from './answers.ts';

/** The three maps of some counts. */
export const CATEGORY_MAPS = [
  'counts_per_category',
  'reviewed_counts_per_category',
  'annotated_counts_per_category',
] as const;

/** One of the three maps. */
export type CategoryMap = (typeof CATEGORY_MAPS)[number];

/** One category's row of the figures. */
export interface CategoryRow {
  readonly category: string;
  readonly detections: number;
  readonly reviewed: number;
  readonly annotations: number;
}

/** A category's counts, one row each, in the order of {@link orderedCategories}. */
export const categoryRows = (counts: Counts): readonly CategoryRow[] =>
  orderedCategories([counts]).map((category) => ({
    category,
    detections: countOf(counts.counts_per_category, category),
    reviewed: countOf(counts.reviewed_counts_per_category, category),
    annotations: countOf(counts.annotated_counts_per_category, category),
  }));

/** A category's count, 0 where there is none: a category may be called `constructor`. */
export const countOf = (counts: CountsPerCategory, category: string): number =>
  Object.hasOwn(counts, category) ? (counts[category] ?? 0) : 0;

/** The categories that every deployment starts with come first, the most urgent one first of all. */
export const FIRST_CATEGORIES: readonly string[] = ['fire', 'smoke', 'structure'];

const rank = (category: string): number => {
  const index = FIRST_CATEGORIES.indexOf(category);
  return index < 0 ? FIRST_CATEGORIES.length : index;
};

/** Every category of some counts: fire, smoke, structure where they are there, then the others by name. */
export const orderedCategories = (counts: readonly Pick<Counts, CategoryMap>[]): readonly string[] => {
  const names = new Set<string>();
  for (const each of counts) {
    for (const map of CATEGORY_MAPS) for (const name of Object.keys(each[map])) names.add(name);
  }
  return [...names].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
};
