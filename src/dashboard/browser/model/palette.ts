import { FRAMES_COLOUR } from './plot-data.ts';

/** Light or dark, as the reader's system prefers. */
export type Theme = 'light' | 'dark';

/**
 * The colours of the categories, in the order of `orderedCategories`. Any two of the first three differ for every kind of
 * colour vision, all of them from the panel by 3:1; the tests work both out.
 */
export const CATEGORY_COLOURS: Readonly<Record<Theme, readonly string[]>> = {
  light: ['#d9480f', '#7a8794', '#0b5cad', '#8a3ffc', '#00795c', '#a8005c', '#8a6a00', '#20262c'],
  dark: ['#ff7a3d', '#b4bfca', '#3f9bff', '#c39bff', '#22b894', '#ff6fae', '#d9b300', '#7d8a97'],
};

/** The colour of camera frames. */
const FRAMES: Readonly<Record<Theme, string>> = { light: '#4a5a6a', dark: '#8fa3b5' };

/** What plots are drawn on, and with what besides the lines. */
export const PLOT_COLOURS: Readonly<Record<Theme, { surface: string; axis: string; grid: string }>> = {
  light: { surface: '#ffffff', axis: '#4b5764', grid: '#e3e8ed' },
  dark: { surface: '#161d25', axis: '#a9b6c3', grid: '#26313c' },
};

/** A line's colour, `#rrggbb`. */
export const colourOf = (colour: number, theme: Theme): string => {
  if (colour === FRAMES_COLOUR) return FRAMES[theme];
  const colours = CATEGORY_COLOURS[theme];
  return colours[colour % colours.length] ?? FRAMES[theme];
};
