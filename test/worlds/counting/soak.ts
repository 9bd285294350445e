/** `node --import tsx test/worlds/counting/soak.ts [--seed N] [--seeds N] [--seconds N]`: plays seeds of counting's world. */
import { parseArgs } from 'node:util';

import { play } from './history.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string' },
    seconds: { type: 'string' },
    all: { type: 'boolean', default: false },
    undamaged: { type: 'boolean', default: false },
    brief: { type: 'boolean', default: false },
  },
});
const first = Number(values.seed);
const seeds = Number(values.seeds ?? (process.argv.includes('--seed') ? 1 : 10_000));
const until = performance.now() + Number(values.seconds ?? 3_600) * 1_000;
const started = performance.now();
const sums: Record<string, number> = {};
let [played, failed] = [0, 0];
for (let seed = first; seed < first + seeds && performance.now() < until; seed += 1) {
  const { broken, seen } = await play(seed, { damages: !values.undamaged });
  played += 1;
  for (const [name, count] of Object.entries(seen)) sums[name] = (sums[name] ?? 0) + count;
  sums['striped'] = (sums['striped'] ?? 0) + (seen.stripes > 1 ? 1 : 0);
  if (broken.length === 0) continue;
  failed += 1;
  console.log(`seed ${seed}: ${broken[0]}`);
  if (!values.all) {
    if (!values.brief) console.log((await play(seed, { isTold: true, damages: !values.undamaged })).story);
    break;
  }
}
console.log(`${played} histories, ${failed} broken, ${((performance.now() - started) / 1_000).toFixed(1)} s`, sums);
process.exitCode = failed === 0 ? 0 : 1;
