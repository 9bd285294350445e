/**
 * Plays seeds of a world until a seed is broken, and prints its log. It always prints the log of a single seed.
 *
 *     node --import tsx test/worlds/soak.ts counting --seed 438
 *     node --import tsx test/worlds/soak.ts calls --mode 'lost events' --seeds 1000
 */
import { parseArgs } from 'node:util';

import type { PlaySeed } from './seeds.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    /** Of calls, only the modes whose name begins with this text. */
    mode: { type: 'string', default: '' },
  },
});
const [first, seeds] = [Number(values.seed), Number(values.seeds)];

/** The plays of a seed, by their names. */
type Plays = ReadonlyMap<string, PlaySeed>;

const ofCalls = async (): Promise<Plays> => {
  const [{ MODES }, { playSeed }] = await Promise.all([import('./calls/modes.ts'), import('./calls/play-seed.ts')]);
  const modes = MODES.filter(({ name }) => name.startsWith(values.mode));
  return new Map(
    modes.map((mode) => [`${mode.name}: `, async (seed, isLogged) => playSeed(seed, mode, isLogged)] as const),
  );
};
const ofCounting = async (): Promise<Plays> => new Map([['', (await import('./counting/history.ts')).play]]);

/** @returns whether no seed is broken */
const playSeeds = async (plays: Plays): Promise<boolean> => {
  for (let seed = first; seed < first + seeds; seed += 1) {
    for (const [name, play] of plays) {
      if (seeds > 1 && (await play(seed, false)).broken.length === 0) continue;
      const { broken, log } = await play(seed, true);
      console.log(log);
      for (const line of broken) console.log(`${name}seed ${seed}: ${line}`);
      return broken.length === 0;
    }
  }
  console.log(`${seeds} seeds, and none is broken`);
  return true;
};

const isWhole = await playSeeds(await (positionals[0] === 'calls' ? ofCalls() : ofCounting()));
// A broken world may still wait, and would keep the process alive.
process.stdout.write('', () => process.exit(isWhole ? 0 : 1));
