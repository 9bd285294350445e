/**
 * The size of a measurement: all of it, or next to nothing if a benchmark only has to show that it still works (`BENCH_TINY=1`, which its
 * test sets). Figures of a tiny run mean nothing.
 */
export const sized = (whole: number, tiny: number): number => (process.env['BENCH_TINY'] === '1' ? tiny : whole);
