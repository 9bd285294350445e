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
export const orderedCategories = (counts: readonly Pick<Activity, CategoryMap>[]): readonly string[] => {
  const names = new Set<string>();
  for (const each of counts) {
    for (const map of CATEGORY_MAPS) for (const name of Object.keys(each[map])) names.add(name);
  }
  return [...names].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
};

/** A colour on a light and on a dark panel. */
export interface Colour {
  readonly light: string;
  readonly dark: string;
}

/** Fire, smoke, structure, then nine more: any two of them differ, and all from the panel by 3:1; the tests work both out. */
const COLOURS: readonly Colour[] = [
  { light: '#d9480f', dark: '#ff7a3d' },
  { light: '#7a8794', dark: '#b4bfca' },
  { light: '#0b5cad', dark: '#3f9bff' },
  { light: '#27a164', dark: '#a4f886' },
  { light: '#e44df3', dark: '#e3b6ff' },
  { light: '#6c411a', dark: '#ca9971' },
  { light: '#6d06fd', dark: '#873dfd' },
  { light: '#a97ec3', dark: '#deeb12' },
  { light: '#f42c51', dark: '#c44068' },
  { light: '#00088f', dark: '#bfedbd' },
  { light: '#6d0f76', dark: '#9050a3' },
  { light: '#55092c', dark: '#df022a' },
];

/** Nobody tells more colours apart: further categories have one of them again, with one of so many patterns. */
const PATTERNS = 6;

/** What has no category: frames, cameras, several categories together. */
export const PLAIN_COLOUR: Colour = { light: '#4a5a6a', dark: '#8fa3b5' };

/** How a category is painted: a colour, and a pattern from 0 (none). */
export interface Paint {
  readonly colour: Colour;
  readonly pattern: number;
}

/** How each category is painted. */
export type Palette = ReadonlyMap<string, Paint>;

/** How much of a category there is, in all three maps. */
export const amountOf = (counts: Pick<Activity, CategoryMap>, category: string): number =>
  CATEGORY_MAPS.reduce((sum, map) => sum + countOf(counts[map], category), 0);

/**
 * How the categories of some counts are painted, by their rank: those that every deployment starts with have their own colours, then come
 * those of which there is most, by name, and then the others: a count that grows rarely gives a category another colour.
 */
export const paletteOf = (counts: Pick<Activity, CategoryMap> | undefined): Palette => {
  const others = (counts === undefined ? [] : orderedCategories([counts])).filter(
    (name) => !FIRST_CATEGORIES.includes(name),
  );
  const amounts = new Map(others.map((name) => [name, counts === undefined ? 0 : amountOf(counts, name)]));
  const most = new Set(
    [...others]
      .sort((a, b) => (amounts.get(b) ?? 0) - (amounts.get(a) ?? 0))
      .slice(0, COLOURS.length - FIRST_CATEGORIES.length),
  );
  const ranked = FIRST_CATEGORIES.concat(
    others.filter((name) => most.has(name)),
    others.filter((name) => !most.has(name)),
  );
  return new Map(
    ranked.map((name, index) => [
      name,
      {
        colour: COLOURS[index % COLOURS.length] ?? PLAIN_COLOUR,
        pattern: Math.floor(index / COLOURS.length) % PATTERNS,
      },
    ]),
  );
};

/** What is not in the palette has no category. */
export const paintOf = (palette: Palette, category: string): Paint =>
  palette.get(category) ?? { colour: PLAIN_COLOUR, pattern: 0 };

/** As CSS has it: light or dark as the reader's system prefers. */
export const cssColour = ({ light, dark }: Colour): string => `light-dark(${light}, ${dark})`;
