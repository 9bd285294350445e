const count = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const share = new Intl.NumberFormat(undefined, { style: 'percent', maximumSignificantDigits: 2 });

/** `12,345`; `12K`; `12%`, in the reader's language. */
export const numbers = {
  count: (value: number) => count.format(value),
  short: (value: number) => short.format(value),
  share: (part: number, whole: number) => share.format(part / whole),
};
