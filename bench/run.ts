import { z } from 'zod';

import { numberOption, runCommand } from '../infra/cli/command-line.ts';
import { callsBench } from './calls.ts';
import { instancesBench } from './instances.ts';
import { memoryBench } from './memory.ts';
import { runAll } from './movement.ts';
import { readingBench } from './reading.ts';
import { recordingBench } from './recording.ts';
import { Stage } from './stage.ts';
import { startupBench } from './startup.ts';

/** The benchmarks by name. Each ends the processes that it starts on its stage. */
const BENCHES: Readonly<Record<string, (stage: Stage, seconds: number) => Promise<void>>> = {
  recording: recordingBench,
  reading: readingBench,
  instances: instancesBench,
  calls: callsBench,
  memory: memoryBench,
  startup: startupBench,
};

const NAMES = Object.keys(BENCHES);

const BENCH = {
  help: `npm run bench -- [NAME ...] [--seconds N]
  Runs the benchmarks of these names, all of them by default. Each compares its figures with a baseline of the same run, or with a bound.
  NAME         ${NAMES.join(', ')}
  --seconds N  how long each load of instances lasts; 15 by default
Exit code 1, after the last of them: a figure is beyond its bound, a total was wrong, or nothing moved for 30 s.`,
  values: z.object({
    positionals: z.array(z.enum(NAMES, { error: ({ input }) => `There is no benchmark ${String(input)}.` })),
    seconds: numberOption('seconds', 1, 9_999).prefault('15'),
  }),
} as const;

await runCommand(BENCH, async ({ positionals: names, seconds }) => {
  const wanted = Object.entries(BENCHES).filter(([name]) => names.length === 0 || names.includes(name));
  await runAll(wanted.map(([name, bench]) => [name, async () => Stage.run(async (stage) => bench(stage, seconds))]));
});
