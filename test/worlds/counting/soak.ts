/**
 * Plays seeds of counting's world, in as many processes as there are processors: 10,000 seeds, at most a minute, if nothing else is said.
 * Of one seed it prints the story.
 *
 *     node --import tsx test/worlds/counting/soak.ts
 *     node --import tsx test/worlds/counting/soak.ts --seed 438
 *     node --import tsx test/worlds/counting/soak.ts --seed 1 --seeds 50000 --seconds 600
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { isDamaged, play, type Seen } from './history.ts';

/** What one process played. */
interface Share {
  readonly played: number;
  readonly broken: readonly (readonly [seed: number, line: string])[];
  readonly seen: Readonly<Record<string, number>>;
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    seconds: { type: 'string', default: '60' },
    processes: { type: 'string', default: String(availableParallelism()) },
    /** Each so many seeds only: the others are for other processes. */
    every: { type: 'string', default: '1' },
    /** Only seeds in which rows are damaged and repaired, or no damage in any. */
    damaged: { type: 'boolean', default: false },
    undamaged: { type: 'boolean', default: false },
    /** Stops at the first seed that is broken. */
    first: { type: 'boolean', default: false },
  },
});
const options = { damages: !values.undamaged };
const first = Number(values.seed ?? 1);
const seeds = Number(values.seeds ?? (values.seed === undefined ? 10_000 : 1));
const every = Number(values.every);

const playShare = async (): Promise<Share> => {
  const until = performance.now() + Number(values.seconds) * 1_000;
  const broken: [number, string][] = [];
  const sums: Record<string, number> = {};
  let played = 0;
  for (let seed = first; seed < first + seeds && performance.now() < until; seed += every) {
    if (values.damaged && !isDamaged(seed)) continue;
    const { broken: lines, seen } = await play(seed, options);
    played += 1;
    addTo(sums, seen);
    const [line] = lines;
    if (line !== undefined) broken.push([seed, line]);
    if (line !== undefined && values.first) break;
  }
  return { played, broken, seen: sums };
};

const addTo = (sums: Record<string, number>, more: Readonly<Record<string, number>> | Seen): void => {
  for (const [name, count] of Object.entries(more)) sums[name] = (sums[name] ?? 0) + count;
};

const shareOf = async (process: number, processes: number): Promise<Share> => {
  const child = fork(
    fileURLToPath(import.meta.url),
    [
      '--seed',
      `${first + process}`,
      '--seeds',
      `${seeds - process}`,
      '--seconds',
      values.seconds,
      '--every',
      `${processes}`,
      '--processes',
      '1',
      ...(values.damaged ? ['--damaged'] : []),
      ...(values.undamaged ? ['--undamaged'] : []),
      ...(values.first ? ['--first'] : []),
    ],
    { execArgv: ['--import', import.meta.resolve('tsx')] },
  );
  const told = once(child, 'message');
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`a process of the world ended with ${String(code)}`);
  });
  const [share] = await Promise.race([told, ended]);
  ended.catch(() => undefined);
  // oxlint-disable-next-line no-unsafe-type-assertion -- it is what the same file sends
  return share as Share;
};

if (process.send !== undefined) {
  process.send(await playShare());
} else if (seeds === 1) {
  const { broken, story } = await play(first, { ...options, isTold: true });
  console.log(story);
  for (const line of broken) console.log(`seed ${first}: ${line}`);
  process.exitCode = broken.length === 0 ? 0 : 1;
} else {
  const started = performance.now();
  const processes = Number(values.processes);
  const shares = await Promise.all(Array.from({ length: processes }, async (_, index) => shareOf(index, processes)));
  const broken = shares.flatMap((share) => share.broken).sort(([one], [other]) => one - other);
  for (const [seed, line] of broken) {
    console.log(
      `seed ${seed}: ${line.split('\n')[0]}\n  node --import tsx test/worlds/counting/soak.ts --seed ${seed}${values.undamaged ? ' --undamaged' : ''}`,
    );
  }
  const seen: Record<string, number> = {};
  for (const share of shares) addTo(seen, share.seen);
  const played = shares.reduce((sum, share) => sum + share.played, 0);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  console.log(`${played} histories of counting in ${seconds} s, ${broken.length} broken`);
  console.log(
    Object.entries(seen)
      .map(([name, count]) => `${name} ${count}`)
      .join(', '),
  );
  process.exitCode = broken.length === 0 ? 0 : 1;
}
