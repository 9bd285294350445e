import { describe, expect, it } from 'vitest';

import {
  COLORS,
  countOf,
  FIRST_CATEGORIES,
  orderedCategories,
  paletteOf,
  PLAIN_COLOR,
} from '../../../src/dashboard/browser/model/categories.ts';

/** Linear red, green, blue, 0 to 1. */
type Linear = readonly [number, number, number];

/** `#rrggbb` or `oklch(l c h)` → linear light; what a screen cannot show is clipped. */
const linear = (colour: string): Linear => {
  const [, lightness, chroma, hue] = /^oklch\((\S+) (\S+) (\S+)\)$/.exec(colour) ?? [];
  if (lightness !== undefined) return fromOklch(Number(lightness), Number(chroma), (Number(hue) * Math.PI) / 180);
  const channel = (from: number): number => {
    const value = Number.parseInt(colour.slice(from, from + 2), 16) / 255;
    return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
};

const clipped = (value: number): number => Math.min(Math.max(value, 0), 1);

/** Ottosson's OKLab, 2020. */
const fromOklch = (lightness: number, chroma: number, hue: number): Linear => {
  const [a, b] = [chroma * Math.cos(hue), chroma * Math.sin(hue)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    clipped(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    clipped(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    clipped(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
};

/** How the three dichromacies see: matrices of Machado, Oliveira and Fernandes (2009), severity 1. */
const USUAL = [1, 0, 0, 0, 1, 0, 0, 0, 1] as const;
const VISIONS = [
  ['the usual vision', USUAL],
  ['protanopia', [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998]],
  ['deuteranopia', [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881]],
  ['tritanopia', [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039]],
] as const;
type Vision = (typeof VISIONS)[number][1];

const seen = ([r, g, b]: Linear, vision: Vision): Linear => {
  const [rr, rg, rb, gr, gg, gb, br, bg, bb] = vision;
  return [rr * r + rg * g + rb * b, gr * r + gg * g + gb * b, br * r + bg * g + bb * b];
};

/** CIE's lightness function. */
const lightness = (value: number): number =>
  value > 216 / 24_389 ? Math.cbrt(value) : (value * 24_389) / 27 / 116 + 16 / 116;

/** CIELAB (D65). */
const lab = ([r, g, b]: Linear): Linear => {
  const x = lightness((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047);
  const y = lightness(0.2126729 * r + 0.7151522 * g + 0.072175 * b);
  const z = lightness((0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
};

/** How different two colours look (CIE 1976); from about 20 on nobody takes one for the other. */
const difference = (one: string, other: string, vision: Vision): number => {
  const [a, b] = [lab(seen(linear(one), vision)), lab(seen(linear(other), vision))];
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
};

const luminance = ([r, g, b]: Linear): number => 0.2126 * r + 0.7152 * g + 0.0722 * b;

/** WCAG 2 contrast, 1 to 21. */
const contrast = (one: string, other: string): number => {
  const [a, b] = [luminance(linear(one)) + 0.05, luminance(linear(other)) + 0.05];
  return Math.max(a, b) / Math.min(a, b);
};

const SURFACE = { light: '#ffffff', dark: '#161d25' } as const;

const NONE = { counts_per_category: {}, reviewed_counts_per_category: {}, annotated_counts_per_category: {} };
const named = (count: number) => Array.from({ length: count }, (_, index) => `category-${index}`);
const withCounts = (counts: Readonly<Record<string, number>>) => ({ ...NONE, counts_per_category: counts });
/** Of 60 categories, the most that there are of one camera and the usual three. */
const palette = paletteOf(withCounts(Object.fromEntries(named(57).map((name, index) => [name, index]))));

describe.each(['light', 'dark'] as const)('the %s colors', (theme) => {
  const different = COLORS.map((color) => color[theme]);

  it.each(VISIONS)('tell fire, smoke and structure apart, for %s', (_, vision) => {
    const first = FIRST_CATEGORIES.map((category) => palette.get(category)?.[theme] ?? '');
    for (const [index, one] of first.entries()) {
      for (const other of first.slice(index + 1)) {
        expect(difference(one, other, vision), `${one} ${other}`).toBeGreaterThan(25);
      }
    }
  });

  it('all differ, also from the plain one, and stand out from what they are drawn on', () => {
    for (const [index, one] of [...different, PLAIN_COLOR[theme]].entries()) {
      expect(contrast(one, SURFACE[theme]), one).toBeGreaterThanOrEqual(3);
      for (const other of different.slice(index + 1)) expect(difference(one, other, USUAL)).toBeGreaterThan(30);
    }
  });
});

describe('categories', () => {
  it('have colors of their own if there is most of them; the others share one', () => {
    expect([...palette.keys()]).toEqual([...FIRST_CATEGORIES, ...named(57).slice(-4)]);
    expect(new Set(palette.values()).size).toBe(7);
  });

  it('keep their colors while counts grow that change nothing about who has the most', () => {
    expect(paletteOf(withCounts({ fog: 1, cloud: 5, rain: 3 }))).toEqual(
      paletteOf(withCounts({ fog: 100, cloud: 5, rain: 3 })),
    );
    expect(paletteOf(undefined).get('fire')).toEqual(palette.get('fire'));
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
