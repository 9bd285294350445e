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

/** Any two of these differ for every kind of colour vision, and from the panel by 3:1; the tests work both out. */
const FIRST_COLOURS: readonly Colour[] = [
  { light: '#d9480f', dark: '#ff7a3d' },
  { light: '#7a8794', dark: '#b4bfca' },
  { light: '#0b5cad', dark: '#3f9bff' },
];

/** What has no category: frames, cameras, several categories together. */
export const PLAIN_COLOUR: Colour = { light: '#4a5a6a', dark: '#8fa3b5' };

/** The hues (degrees) that are far from fire and from structure. */
const HUES = Array.from({ length: 24 }, (_, index) => (index < 16 ? 75 + index * 10 : (290 + (index - 16) * 12) % 360));

/** A category's colour: by its name alone, so that it is the same in every view, every browser and every year. */
export const categoryColour = (category: string): Colour => {
  const first = FIRST_COLOURS[FIRST_CATEGORIES.indexOf(category)];
  if (first !== undefined) return first;
  let hash = 0x811c9dc5;
  for (const sign of category) hash = Math.imul(hash ^ (sign.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  const hue = HUES[(hash >>> 4) % HUES.length] ?? 0;
  const pale = hash % 2;
  return { light: `oklch(${pale ? 0.62 : 0.47} 0.14 ${hue})`, dark: `oklch(${pale ? 0.83 : 0.66} 0.13 ${hue})` };
};

/** As CSS has it: light or dark as the reader's system prefers. */
export const cssColour = ({ light, dark }: Colour): string => `light-dark(${light}, ${dark})`;
