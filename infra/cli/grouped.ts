/** A count with its thousands apart: 1,200. */
export const grouped = (count: number): string => count.toLocaleString('en-GB');
