/** Numbers as the reader's language groups them. */
export interface NumberTexts {
  /** `12,345` */
  count(value: number): string;
  /** Short, for an axis: `12K` */
  short(value: number): string;
  /** `12.3%` of a whole; a dash where the whole is 0. */
  share(part: number, whole: number): string;
}

/** @param locale the reader's own where it is not given */
export const numberTexts = (locale?: string): NumberTexts => {
  const count = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
  const short = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 });
  const share = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });
  return {
    count: (value) => count.format(value),
    short: (value) => short.format(value),
    share: (part, whole) => (whole === 0 ? '–' : share.format(part / whole)),
  };
};
