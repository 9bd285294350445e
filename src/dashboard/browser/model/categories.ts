import type { Activity, CountsPerCategory } from './answers.ts';

/** The three maps of some counts. */
export const CATEGORY_MAPS = [
  'counts_per_category',
  'reviewed_counts_per_category',
  'annotated_counts_per_category',
] as const;

/** One of the three maps. */
export type CategoryMap = (typeof CATEGORY_MAPS)[number];

/** What is counted in each map, in words: marks, or frames in which somebody confirmed the category. */
export const MAP_NAMES: Readonly<Record<CategoryMap, string>> = {
  counts_per_category: 'AI detections',
  reviewed_counts_per_category: 'Confirmed in reviewed frames',
  annotated_counts_per_category: 'Annotations',
};

/** A category's count, 0 if there is none: a category may be called `constructor`. */
export const countOf = (counts: CountsPerCategory, category: string): number =>
  Object.hasOwn(counts, category) ? (counts[category] ?? 0) : 0;

/** The categories that every deployment starts with come first, the most urgent one first of all. */
export const FIRST_CATEGORIES: readonly string[] = ['fire', 'smoke', 'structure'];

const rank = (category: string): number => {
  const index = FIRST_CATEGORIES.indexOf(category);
  return index < 0 ? FIRST_CATEGORIES.length : index;
};

/** Names of categories in their order: fire, smoke, structure if they are there, then the others by name. */
export const ordered = (names: Iterable<string>): readonly string[] =>
  [...new Set(names)].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));

/** Every category of some counts, in their order. */
export const orderedCategories = (counts: readonly Pick<Activity, CategoryMap>[]): readonly string[] =>
  ordered(counts.flatMap((each) => CATEGORY_MAPS.flatMap((map) => Object.keys(each[map]))));

/** A color on a light and on a dark panel. */
export interface Color {
  readonly light: string;
  readonly dark: string;
}

/** Fire, smoke, structure, then four more: any two of them differ, and all from the panel by 3:1. The tests compute both. */
export const COLORS: readonly Color[] = [
  { light: '#d9480f', dark: '#ff7a3d' },
  { light: '#7a8794', dark: '#b4bfca' },
  { light: '#0b5cad', dark: '#3f9bff' },
  { light: '#27a164', dark: '#a4f886' },
  { light: '#e44df3', dark: '#e3b6ff' },
  { light: '#6c411a', dark: '#ca9971' },
  { light: '#6d06fd', dark: '#873dfd' },
];

/** Frames, cameras, and all categories without a color of their own. */
export const PLAIN_COLOR: Color = { light: '#4a5a6a', dark: '#8fa3b5' };

/** The color of each category that has one. More colors than these cannot be told apart: the other categories share {@link PLAIN_COLOR}. */
export type Palette = ReadonlyMap<string, Color>;

/** How much of a category there is, in all three maps. */
const amountOf = (counts: Pick<Activity, CategoryMap>, category: string): number =>
  CATEGORY_MAPS.reduce((sum, map) => sum + countOf(counts[map], category), 0);

/** Gives fire, smoke and structure their own colors, and the other colors to the categories of which there is most, by name. */
export const paletteOf = (counts: Pick<Activity, CategoryMap> | undefined): Palette => {
  const others =
    counts === undefined ? [] : orderedCategories([counts]).filter((name) => rank(name) === FIRST_CATEGORIES.length);
  const amounts = new Map(others.map((name) => [name, counts === undefined ? 0 : amountOf(counts, name)]));
  const most = others.toSorted((a, b) => (amounts.get(b) ?? 0) - (amounts.get(a) ?? 0)).slice(0, COLORS.length - 3);
  const names = [...FIRST_CATEGORIES, ...ordered(most)];
  return new Map(
    COLORS.flatMap((color, index) => (names[index] === undefined ? [] : [[names[index], color] as const])),
  );
};

/** The color of a category as CSS has it: light or dark as the reader's system prefers. */
export const cssColor = (palette: Palette, category: string): string => {
  const { light, dark } = palette.get(category) ?? PLAIN_COLOR;
  return `light-dark(${light}, ${dark})`;
};
