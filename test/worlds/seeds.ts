/** The result of playing a seed. */
export interface Played {
  /** The broken promises, a line each. */
  readonly broken: readonly string[];
  /** The events; empty unless they are wanted. */
  readonly log: string;
}

/** Plays a seed. @param isLogged whether its log is wanted */
export type PlaySeed<Result extends Played = Played> = (seed: number, isLogged: boolean) => Promise<Result>;

const { WORLD_SEED: seed, WORLD_SEEDS: seeds } = process.env;

const whole = (name: string, value: string): number => {
  if (!/^[1-9]\d*$/.test(value)) throw new RangeError(`${name} is not a whole number from 1`);
  return Number(value);
};

/**
 * Plays seeds until one is broken: the seeds of `WORLD_SEED` and `WORLD_SEEDS`, or a few.
 *
 * @param again the command that plays a seed again
 * @param each how many small seeds stand for one
 * @returns the results, and the broken promises and the log of the last seed
 */
export const playSeeds = async <Result extends Played>(
  few: number,
  play: PlaySeed<Result>,
  again: (seed: number) => string,
  each = 1,
): Promise<Played & { readonly results: readonly Result[] }> => {
  const first = whole('WORLD_SEED', seed ?? '1');
  const one = seed === undefined ? undefined : 1;
  const count = seeds === undefined ? (one ?? few) : each * whole('WORLD_SEEDS', seeds);
  const results: Result[] = [];
  for (let next = first; next < first + count; next += 1) {
    const result = await play(next, false);
    results.push(result);
    if (result.broken.length === 0) continue;
    const { log } = await play(next, true);
    return { results, broken: result.broken, log: `${log}\nseed ${next} is not as promised; again: ${again(next)}` };
  }
  return { results, broken: [], log: '' };
};
