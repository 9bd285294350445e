import type { Activity, CameraCounts, CountsPerCategory } from './answers.ts';

export const CATEGORY_MAPS = [
  'counts_per_category',
  'reviewed_counts_per_category',
  'annotated_counts_per_category',
] as const;

export type CategoryMap = (typeof CATEGORY_MAPS)[number];

export const MAP_NAMES: Readonly<Record<CategoryMap, string>> = {
  counts_per_category: 'AI detections',
  reviewed_counts_per_category: 'Reviewed frames with it',
  annotated_counts_per_category: 'Annotations',
};

/** A category may be called `constructor`. */
export const countOf = (counts: CountsPerCategory, category: string): number =>
  Object.hasOwn(counts, category) ? (counts[category] ?? 0) : 0;

/** The default categories, the most urgent first. */
const FIRST_CATEGORIES: readonly string[] = ['fire', 'smoke', 'structure'];

const rank = (category: string): number => {
  const index = FIRST_CATEGORIES.indexOf(category);
  return index < 0 ? FIRST_CATEGORIES.length : index;
};

/** Fire, smoke, structure, then the others by name. */
const ordered = (names: Iterable<string>): readonly string[] =>
  [...new Set(names)].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));

export const orderedCategories = (counts: readonly Pick<Activity, CategoryMap>[]): readonly string[] =>
  ordered(counts.flatMap((each) => CATEGORY_MAPS.flatMap((map) => Object.keys(each[map]))));

export interface Color {
  readonly light: string;
  readonly dark: string;
}

/** Fire, smoke, structure, then four more: any two of them can be told apart, and each has a contrast of 3:1 to the panel. The tests compute both. */
export const COLORS: readonly Color[] = [
  { light: '#d9480f', dark: '#ff7a3d' },
  { light: '#7a8794', dark: '#b4bfca' },
  { light: '#0b5cad', dark: '#3f9bff' },
  { light: '#27a164', dark: '#a4f886' },
  { light: '#e44df3', dark: '#e3b6ff' },
  { light: '#6c411a', dark: '#ca9971' },
  { light: '#6d06fd', dark: '#873dfd' },
];

/** The color of frames, cameras, and further categories. */
export const PLAIN_COLOR: Color = { light: '#4a5a6a', dark: '#8fa3b5' };

/** More colors than these look alike: further categories share {@link PLAIN_COLOR}. */
export type Palette = ReadonlyMap<string, Color>;

/** Fire, smoke and structure have fixed colors. The other colors go to the most frequent categories, by name. */
export const paletteOf = (counts: Pick<Activity, CategoryMap> | undefined): Palette => {
  const all = counts === undefined ? [] : orderedCategories([counts]);
  const amountOf = (category: string): number =>
    CATEGORY_MAPS.reduce((sum, map) => sum + countOf(counts?.[map] ?? {}, category), 0);
  const most = all
    .filter((category) => !FIRST_CATEGORIES.includes(category))
    .sort((a, b) => amountOf(b) - amountOf(a))
    .slice(0, COLORS.length - FIRST_CATEGORIES.length);
  return new Map([...FIRST_CATEGORIES, ...ordered(most)].map((name, index) => [name, COLORS[index] ?? PLAIN_COLOR]));
};

export const cssColor = (palette: Palette, category: string): string => {
  const { light, dark } = palette.get(category) ?? PLAIN_COLOR;
  return `light-dark(${light}, ${dark})`;
};

export const totalOf = (counts: CountsPerCategory): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** Flags of the AI with which no reviewer agreed: false alarms. */
export const falseAlarms = ({ flagged, confirmed }: CameraCounts): number => totalOf(flagged) - totalOf(confirmed);
