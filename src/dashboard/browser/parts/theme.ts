import { useEffect, useState } from 'preact/hooks';

import type { Theme } from '../model/palette.ts';

const dark = window.matchMedia('(prefers-color-scheme: dark)');

const current = (): Theme => (dark.matches ? 'dark' : 'light');

/** Light or dark, as the reader's system prefers now: what is drawn on a canvas has to know. */
export const useTheme = (): Theme => {
  const [theme, setTheme] = useState(current);
  useEffect(() => {
    const change = (): void => setTheme(current());
    dark.addEventListener('change', change);
    return () => dark.removeEventListener('change', change);
  }, []);
  return theme;
};
