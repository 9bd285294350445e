import { describe, expect, it } from 'vitest';

import { CATEGORY_COLOURS, colourOf, PLOT_COLOURS, type Theme } from '../../../src/dashboard/browser/model/palette.ts';
import { FRAMES_COLOUR } from '../../../src/dashboard/browser/model/plot-data.ts';
import { contrast, difference, VISIONS } from './colour-vision.ts';

const THEMES: readonly Theme[] = ['light', 'dark'];

const pairs = (colours: readonly string[]): readonly (readonly [string, string])[] =>
  colours.flatMap((one, index) => colours.slice(index + 1).map((other) => [one, other] as const));

describe.each(THEMES)('the %s colours', (theme) => {
  const colours = CATEGORY_COLOURS[theme];

  it.each(VISIONS)('tell fire, smoke and structure apart, for %s', (vision) => {
    for (const [one, other] of pairs(colours.slice(0, 3))) {
      expect(difference(one, other, vision), `${one} ${other}`).toBeGreaterThan(25);
    }
  });

  it('are all different', () => {
    for (const [one, other] of pairs(colours)) {
      expect(difference(one, other, 'usual'), `${one} ${other}`).toBeGreaterThan(20);
    }
  });

  it('stand out from what they are drawn on', () => {
    const { surface, axis } = PLOT_COLOURS[theme];
    for (const colour of [...colours, colourOf(FRAMES_COLOUR, theme)]) {
      expect(contrast(colour, surface), colour).toBeGreaterThanOrEqual(3);
    }
    expect(contrast(axis, surface)).toBeGreaterThanOrEqual(4.5);
  });
});
