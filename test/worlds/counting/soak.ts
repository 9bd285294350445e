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
import { parseArgs } from 'node:util';

import { play, type Seen, sumOfSeen } from './history.ts';
import { interfere, scenarios } from './interference.ts';

/** What one process played. */
interface Share {
  readonly played: number;
  readonly broken: readonly (readonly [seed: number, line: string])[];
  readonly seen: Seen;
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    seconds: { type: 'string', default: '60' },
    /** Stops at the first seed that is broken. */
    first: { type: 'boolean', default: false },
    /** Plays this scenario of interference.ts in place of seeds. */
    scenario: { type: 'string' },
    /** Which of the processes this is, from 0; not given: it starts them. */
    share: { type: 'string' },
  },
});
const first = Number(values.seed ?? 1);
const seeds = Number(values.seeds ?? (values.seed === undefined ? 10_000 : 1));
const processes = availableParallelism();

const playShare = async (share: number, stride = processes): Promise<Share> => {
  const until = performance.now() + Number(values.seconds) * 1_000;
  const broken: [number, string][] = [];
  let seen = sumOfSeen([]);
  let played = 0;
  for (let seed = first + share; seed < first + seeds && performance.now() < until; seed += stride) {
    const { broken: lines, seen: ofSeed } = await play(seed);
    played += 1;
    seen = sumOfSeen([seen, ofSeed]);
    broken.push(...lines.slice(0, 1).map((line) => [seed, line] as [number, string]));
    if (values.first && broken.length > 0) break;
  }
  return { played, broken, seen };
};

const shareOf = async (share: number): Promise<Share> => {
  // A history makes much garbage that lives for a moment.
  const child = fork(import.meta.filename, [...process.argv.slice(2), '--share', String(share)], {
    execArgv: [...process.execArgv, '--max-semi-space-size=64'],
  });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`a process of the world ended with ${String(code)}`);
  });
  const [told] = await Promise.race([once(child, 'message'), ended]);
  ended.catch(() => undefined);
  // oxlint-disable-next-line no-unsafe-type-assertion -- it is what the same file sends
  return told as Share;
};

if (values.share !== undefined) {
  process.send?.(await playShare(Number(values.share)));
} else if (values.scenario !== undefined) {
  for (const scenario of scenarios.filter((name) => name === values.scenario)) {
    await interfere(scenario).catch((error: unknown) => console.log(`${scenario}: ${String(error)}`));
  }
} else if (seeds === 1) {
  const { broken, story } = await play(first, true);
  console.log(story);
  for (const line of broken) console.log(`seed ${first}: ${line}`);
  process.exitCode = broken.length === 0 ? 0 : 1;
} else {
  const started = performance.now();
  const shares = values.first
    ? [await playShare(0, 1)]
    : await Promise.all(Array.from({ length: processes }, async (_, share) => shareOf(share)));
  const broken = shares.flatMap((share) => share.broken).sort(([one], [other]) => one - other);
  for (const [seed, line] of broken) {
    const again = `node --import tsx test/worlds/counting/soak.ts --seed ${seed}`;
    console.log(`seed ${seed}: ${line.split('\n')[0]}\n  ${again}`);
  }
  const seen = sumOfSeen(shares.map((share) => share.seen));
  const played = shares.reduce((sum, share) => sum + share.played, 0);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  console.log(`${played} histories of counting in ${seconds} s, ${broken.length} broken`);
  console.log(Array.from(Object.entries(seen), ([name, count]) => `${name} ${count}`).join(', '));
  process.exitCode = broken.length === 0 ? 0 : 1;
}
