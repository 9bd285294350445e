/*
 * uPlot asks for numbers in `navigator.language` while it loads. A browser on a machine without a language (LANG=C, as on a
 * wall screen's bare system) names one that does not exist, `en-US@posix`, and the page would stay empty. Imported before uPlot.
 */
/** Whether a text is a language tag at all. */
export const isLanguage = (tag: string): boolean => {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
};

if (!isLanguage(navigator.language)) Object.defineProperty(navigator, 'language', { value: 'en-US' });
