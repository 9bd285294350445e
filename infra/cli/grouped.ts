/** @example grouped(1_200) // '1,200' */
export const grouped = (count: number): string => count.toLocaleString('en-GB');
