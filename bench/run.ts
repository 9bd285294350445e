import { z } from 'zod';

import { numberOption, runCommand } from '../infra/cli/command-line.ts';
import type { InstancesOptions } from './instances.ts';
import { Stage } from './stage.ts';

/** The benchmarks by name; what one starts on its stage ends with it. */
const BENCHES: Readonly<Record<string, (stage: Stage, options: InstancesOptions) => Promise<void>>> = {
  recording: async (stage) => (await import('./recording.ts')).recordingBench(stage),
  reading: async (stage) => (await import('./reading.ts')).readingBench(stage),
  http: async (stage) => (await import('./http.ts')).httpBench(stage),
  flood: async (stage, { seconds }) => (await import('./flood.ts')).floodBench(stage, seconds),
  cost: async (stage) => (await import('./cost.ts')).costBench(stage),
  memory: async (stage) => void (await (await import('./memory.ts')).memoryBench(stage)),
  instances: async (_, options) => (await import('./instances.ts')).instancesBench(options),
  'commit-bytes': async (stage) => (await import('./commit-bytes.ts')).commitBytesBench(stage),
  callbacks: async (stage) => (await import('./calls.ts')).callbacksBench(stage),
  'call-requests': async (stage) => (await import('./calls.ts')).callRequestsBench(stage),
  startup: async () => (await import('./startup.ts')).startupBench(),
  series: async (stage) => (await import('./series.ts')).seriesBench(stage),
  ranges: async (stage) => (await import('./ranges.ts')).rangesBench(stage),
};

const NAMES = Object.keys(BENCHES);

/** Few enough for one machine. */
const MOST_INSTANCES = 8;

const instancesOption = z
  .string()
  .regex(new RegExp(`^[1-${MOST_INSTANCES}](,[1-${MOST_INSTANCES}])*$`), {
    error: `--instances takes numbers from 1 to ${MOST_INSTANCES} with commas between them, such as 2,8.`,
  })
  .transform((text) => text.split(',').map(Number));

const BENCH = {
  help: `npm run bench -- [NAME ...] [--full] [--seconds N] [--instances N,...] [--cameras N]
  Runs the benchmarks of these names, all of them by default. Each prints ratios to a baseline of the same run.
  NAME               ${NAMES.join(', ')}
  Of the benchmark instances:
  --full             1, 2, 4 and 8 instances, 0 and 10 ms, 25 and 210 events/s, 1 and 10 a request; a selection by default
  --seconds N        how long each load lasts; 15 by default; of flood as well
  --instances N,...  only the loads of so many instances
  --cameras N        how many cameras send the events; 200 by default`,
  options: {
    full: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '15' },
    instances: { type: 'string' },
    cameras: { type: 'string', default: '200' },
  },
  takesPositionals: true,
  values: z
    .object({
      positionals: z.array(z.enum(NAMES, { error: ({ input }) => `There is no benchmark ${String(input)}.` })),
      full: z.boolean(),
      seconds: numberOption('seconds', 1, 9_999),
      instances: instancesOption.optional(),
      cameras: numberOption('cameras', 1, 9_999),
    })
    .transform(({ positionals, full, seconds, instances, cameras }) => ({
      names: positionals,
      options: { isFull: full, seconds, cameras, ...(instances === undefined ? {} : { instances }) },
    })),
} as const;

await runCommand(
  BENCH,
  async ({ names, options }) => {
    for (const [name, bench] of Object.entries(BENCHES)) {
      if (names.length > 0 && !names.includes(name)) continue;
      await Stage.run(async (stage) => bench(stage, options));
    }
  },
  { exitCode: 2 },
);
