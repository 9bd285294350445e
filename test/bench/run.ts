import { z } from 'zod';

import { numberOption, runCommand } from '../../infra/command-line.ts';
import type { InstancesOptions } from './instances.ts';
import { Stage } from './stage.ts';

/** The benchmarks by name; what one starts on its stage ends with it. */
const BENCHES: Readonly<Record<string, (stage: Stage, options: InstancesOptions) => Promise<void>>> = {
  recording: async (stage) => (await import('./recording.ts')).recordingBench(stage),
  reading: async (stage) => (await import('./reading.ts')).readingBench(stage),
  http: async (stage, { seconds }) => (await import('./http.ts')).httpBench(stage, seconds),
  instances: async (_, options) => (await import('./instances.ts')).instancesBench(options),
  'commit-bytes': async (stage) => (await import('./commit-bytes.ts')).commitBytesBench(stage),
  callbacks: async (stage) => (await import('./callbacks.ts')).callbacksBench(stage),
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
  help: `npm run bench -- [NAME ...] [--seconds N] [--instances N,...] [--cameras N]
  Runs the benchmarks of these names, all of them by default. Each prints ratios to a baseline of the same run.
  NAME               ${NAMES.join(', ')}
  --seconds N        how long each load of instances lasts, and each steady one of http; 15 by default
  --instances N,...  of instances: only the loads of so many
  --cameras N        of instances: how many cameras send the events; 200 by default`,
  options: {
    seconds: { type: 'string', default: '15' },
    instances: { type: 'string' },
    cameras: { type: 'string', default: '200' },
  },
  takesPositionals: true,
  values: z
    .object({
      positionals: z.array(z.enum(NAMES, { error: ({ input }) => `There is no benchmark ${String(input)}.` })),
      seconds: numberOption('seconds', 1, 9_999),
      instances: instancesOption.optional(),
      cameras: numberOption('cameras', 1, 9_999),
    })
    .transform(({ positionals, ...options }) => ({ names: positionals, options })),
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
