/** The value below which a share of the measurements lies; milliseconds in, milliseconds out. */
export const percentile = (measurements: readonly number[], share: number): number => {
  const sorted = [...measurements].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
};

/** How long something takes, in milliseconds. */
export const timed = async (run: () => Promise<unknown>): Promise<number> => {
  const start = performance.now();
  await run();
  return performance.now() - start;
};

/** Two things measured in turn, so that whatever else the machine does hits both alike. Milliseconds. */
export const inTurn = async (
  times: number,
  left: () => Promise<unknown>,
  right: () => Promise<unknown>,
): Promise<{ left: number[]; right: number[] }> => {
  const measured: { left: number[]; right: number[] } = { left: [], right: [] };
  for (let round = 0; round < times; round += 1) {
    measured.left.push(await timed(left));
    measured.right.push(await timed(right));
  }
  return measured;
};

/** One line of a result table. */
export type ResultRow = Readonly<Record<string, string | number>>;

/** Prints a result table with a heading. */
export const report = (heading: string, rows: readonly ResultRow[]): void => {
  console.log(`\n${heading}`);
  console.table(rows);
};

/** A figure with at most so many digits after the point. */
export const rounded = (value: number, digits = 2): number => Number(value.toFixed(digits));
