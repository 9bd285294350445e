/**
 * Plays seeds of counting's world, in as many threads as there are processors: 10,000 seeds, at most a minute, if nothing else is said.
 * Of one seed it prints the story.
 *
 *     node --import tsx test/worlds/counting/soak.ts
 *     node --import tsx test/worlds/counting/soak.ts --seed 438
 *     node --import tsx test/worlds/counting/soak.ts --seed 1 --seeds 50000 --seconds 600
 */
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

import { play, type Seen, sumOfSeen } from './history.ts';
import { interfere, scenarios } from './interference.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    seconds: { type: 'string', default: '60' },
    /** Stops at the first seed that is broken. */
    first: { type: 'boolean', default: false },
    /** Plays this scenario of interference.ts in place of seeds. */
    scenario: { type: 'string' },
  },
});
const first = Number(values.seed ?? 1);
const seeds = Number(values.seeds ?? (values.seed === undefined ? 10_000 : 1));
const threads = availableParallelism();

/** What one thread played. */
interface Share {
  readonly seen: readonly Seen[];
  readonly broken: readonly string[];
}

/** Plays every seed of a share: one in `of`. */
const playShare = async (share: number, of: number): Promise<Share> => {
  const until = performance.now() + Number(values.seconds) * 1_000;
  const broken: string[] = [];
  const seen: Seen[] = [];
  for (let seed = first + share; seed < first + seeds && performance.now() < until; seed += of) {
    const played = await play(seed);
    seen.push({ histories: 1, ...played.seen });
    if (played.broken.length > 0) broken.push(`seed ${seed}: ${played.broken[0]?.split('\n')[0]}`);
    if (values.first && broken.length > 0) break;
  }
  return { seen: [sumOfSeen(seen)], broken };
};

const shareOfThread = async (share: number): Promise<Share> => {
  // A history makes much garbage that lives for a moment.
  const options = { workerData: share, argv: process.argv.slice(2), resourceLimits: { maxYoungGenerationSizeMb: 64 } };
  const [told] = await once(new Worker(new URL(import.meta.url), options), 'message');
  // oxlint-disable-next-line no-unsafe-type-assertion -- it is what the same file posts
  return told as Share;
};

if (!isMainThread) {
  // oxlint-disable-next-line require-post-message-target-origin -- a thread is no window
  parentPort?.postMessage(await playShare(Number(workerData), threads));
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
  const shares = values.first
    ? [await playShare(0, 1)]
    : await Promise.all(Array.from({ length: threads }, async (_, share) => shareOfThread(share)));
  const broken = shares.flatMap((share) => share.broken);
  for (const line of broken) console.log(line);
  const { histories, ...counts } = sumOfSeen(shares.flatMap(({ seen }) => seen));
  console.log(`${histories} histories of counting, ${broken.length} broken`, counts);
  process.exitCode = broken.length === 0 ? 0 : 1;
}
