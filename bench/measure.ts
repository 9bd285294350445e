import { CommandError } from '../infra/cli/command-line.ts';
import { moved } from './movement.ts';

/**
 * The size of a measurement: whole, or tiny if a benchmark only has to show that it still works (`BENCH_TINY=1`, which its test sets). Figures of a
 * tiny run do not count as a measurement.
 */
export const sized = (whole: number, tiny: number): number => (process.env['BENCH_TINY'] === '1' ? tiny : whole);

/** The value below which a share of the measurements lies; milliseconds in, milliseconds out. */
export const percentile = (measurements: readonly number[], share: number): number => {
  const sorted = [...measurements].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
};

/** How long something takes, in milliseconds. */
export const timed = async (run: () => Promise<unknown>): Promise<number> => {
  const start = performance.now();
  await run();
  moved();
  return performance.now() - start;
};

/** Several things measured in turn, so that other load on the machine hits all alike. Milliseconds of each, in their order. */
export const inTurn = async (times: number, ...runs: readonly (() => Promise<unknown>)[]): Promise<number[][]> => {
  const measured = runs.map((): number[] => []);
  for (let round = 0; round < times; round += 1) {
    for (const [index, run] of runs.entries()) measured[index]?.push(await timed(run));
  }
  return measured;
};

/** A figure with at most this number of digits after the point. */
export const rounded = (value: number, digits = 2): number => Number(value.toFixed(digits));

/** The median of some milliseconds, as it is printed. */
export const p50 = (measurements: readonly number[]): number => rounded(percentile(measurements, 0.5));

/** The ratio of two medians. */
export const ratio = (measurements: readonly number[], baseline: readonly number[]): number =>
  rounded(percentile(measurements, 0.5) / percentile(baseline, 0.5));

/** One line of a result table. */
export type ResultRow = Readonly<Record<string, string | number>>;

/** Prints a result table with a heading. */
export const report = (heading: string, rows: readonly ResultRow[]): void => {
  console.log(`\n${heading}`);
  console.table(rows);
};

/** A figure, and the most that it may be. */
export type Bound = readonly [what: string, figure: number, most: number];

/** @throws {CommandError} that names every figure beyond its bound; a tiny run has no bounds */
export const demandAtMost = (...bounds: readonly Bound[]): void => {
  const beyond = bounds.flatMap(([what, figure, most]) => {
    const text = `${what}: ${figure}, at most ${most}`;
    console.log(text);
    return sized(figure, 0) <= most ? [] : [`Beyond its bound. ${text}`];
  });
  if (beyond.length > 0) throw new CommandError(beyond.join('\n'));
};
