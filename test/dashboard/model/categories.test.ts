import { expect, it } from 'vitest';

import {
  COLORS,
  countOf,
  orderedCategories,
  paletteOf,
  PLAIN_COLOR,
} from '../../../src/dashboard/browser/model/categories.ts';

const SURFACE = { light: '#ffffff', dark: '#161d25' } as const;

/** Relative luminance (WCAG 2), 0 to 1. */
const luminance = (color: string): number => {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((from) => {
    const value = Number.parseInt(color.slice(from, from + 2), 16) / 255;
    return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

it.each(['light', 'dark'] as const)('the %s colors have a contrast of 3:1, and all differ', (theme) => {
  const colors = [...COLORS, PLAIN_COLOR].map((each) => each[theme]);
  for (const color of colors) {
    const [dark = 0, bright = 0] = [luminance(color) + 0.05, luminance(SURFACE[theme]) + 0.05].sort((a, b) => a - b);
    expect(bright / dark, color).toBeGreaterThanOrEqual(3);
  }
  expect(new Set(colors).size).toBe(8);
});

const NONE = { counts_per_category: {}, reviewed_counts_per_category: {}, annotated_counts_per_category: {} };
const withCounts = (counts: Readonly<Record<string, number>>) => ({ ...NONE, counts_per_category: counts });

it('fire, smoke, structure and the four most frequent categories have colors, whatever else grows', () => {
  const names = Array.from({ length: 57 }, (_, index) => `category-${index}`);
  const palette = paletteOf(withCounts(Object.fromEntries(names.map((name, index) => [name, index]))));
  expect([...palette.keys()]).toEqual(['fire', 'smoke', 'structure', ...names.slice(-4)]);
  expect([...palette.values()]).toEqual(COLORS);
  expect(paletteOf(withCounts({ fog: 1, cloud: 5 }))).toEqual(paletteOf(withCounts({ fog: 100, cloud: 5 })));
  expect(paletteOf(undefined).get('fire')).toEqual(palette.get('fire'));
});

it('categories are fire, smoke, structure, then the others by name; a count of constructor is 0', () => {
  const counts = {
    ...withCounts({ zebra: 1, structure: 0, smoke: 1, fire: 0 }),
    annotated_counts_per_category: { bear: 1 },
  };
  expect(orderedCategories([counts])).toEqual(['fire', 'smoke', 'structure', 'bear', 'zebra']);
  expect([countOf({ fire: 3 }, 'fire'), countOf({}, 'constructor')]).toEqual([3, 0]);
});
