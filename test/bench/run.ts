import { z } from 'zod';

import { numberOption, runCommand } from '../../infra/command-line.ts';
import type { InstancesOptions } from './instances.ts';

/** The benchmarks by name. */
const BENCHES: Readonly<Record<string, (options: InstancesOptions) => Promise<unknown>>> = {
  recording: async () => (await import('./recording.ts')).recordingBench(),
  reading: async () => (await import('./reading.ts')).readingBench(),
  http: async () => (await import('./http.ts')).httpBench(),
  flood: async ({ seconds }) => (await import('./flood.ts')).floodBench(seconds),
  cost: async () => (await import('./cost.ts')).costBench(),
  instances: async (options) => (await import('./instances.ts')).instancesBench(options),
  'commit-bytes': async () => (await import('./commit-bytes.ts')).commitBytesBench(),
  callbacks: async () => (await import('./calls.ts')).callbacksBench(),
  'call-requests': async () => (await import('./calls.ts')).callRequestsBench(),
  startup: async () => (await import('./startup.ts')).startupBench(),
  series: async () => (await import('./series.ts')).seriesBench(),
  ranges: async () => (await import('./ranges.ts')).rangesBench(),
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
      if (names.length === 0 || names.includes(name)) await bench(options);
    }
  },
  { exitCode: 2 },
);
