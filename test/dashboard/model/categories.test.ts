import { describe, expect, it } from 'vitest';

import {
  categoryColour,
  countOf,
  FIRST_CATEGORIES,
  orderedCategories,
  PLAIN_COLOUR,
} from '../../../src/dashboard/browser/model/categories.ts';
import { contrast, difference, VISIONS } from './colour-vision.ts';

const SURFACE = { light: '#ffffff', dark: '#161d25' } as const;
const further = Array.from({ length: 400 }, (_, index) => `category-${index}`);

describe.each(['light', 'dark'] as const)('the %s colours', (theme) => {
  const first = FIRST_CATEGORIES.map((category) => categoryColour(category)[theme]);

  it.each(VISIONS)('tell fire, smoke and structure apart, for %s', (vision) => {
    for (const [index, one] of first.entries()) {
      for (const other of first.slice(index + 1)) {
        expect(difference(one, other, vision), `${one} ${other}`).toBeGreaterThan(25);
      }
    }
  });

  it('of all categories stand out from what they are drawn on, and from fire', () => {
    for (const colour of [...FIRST_CATEGORIES, ...further]
      .map((category) => categoryColour(category)[theme])
      .concat(PLAIN_COLOUR[theme])) {
      expect(contrast(colour, SURFACE[theme]), colour).toBeGreaterThanOrEqual(3);
    }
    for (const category of further) {
      const colour = categoryColour(category)[theme];
      expect(difference(colour, first[0] ?? '', 'usual'), colour).toBeGreaterThan(20);
    }
  });
});

describe('categories', () => {
  it('have a colour by their names, and many different ones', () => {
    expect(categoryColour('fog')).toEqual(categoryColour('fog'));
    expect(new Set(further.map((category) => categoryColour(category).light)).size).toBeGreaterThanOrEqual(40);
  });

  it('are fire, smoke, structure, then the others by name', () => {
    const counts = { reviewed_counts_per_category: {}, annotated_counts_per_category: { bear: 1 } };

    expect(
      orderedCategories([{ ...counts, counts_per_category: { zebra: 1, structure: 0, smoke: 1, fire: 0 } }]),
    ).toEqual(['fire', 'smoke', 'structure', 'bear', 'zebra']);
  });

  it('are counted 0 where they are not there, whatever they are called', () => {
    expect(countOf({ fire: 3 }, 'fire')).toBe(3);
    expect(countOf({}, 'constructor')).toBe(0);
  });
});
