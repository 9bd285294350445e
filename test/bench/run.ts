import { z } from 'zod';

import { runCommand } from '../../infra/command-line.ts';

/** The benchmarks by name. */
const BENCHES: Readonly<Record<string, () => Promise<unknown>>> = {
  recording: async () => (await import('./recording.ts')).recordingBench(),
  reading: async () => (await import('./reading.ts')).readingBench(),
  http: async () => (await import('./http.ts')).httpBench(),
  callbacks: async () => import('./callback-latency.ts'),
  startup: async () => import('./startup.ts'),
  ranges: async () => (await import('./ranges.ts')).rangesBench(),
};

const NAMES = Object.keys(BENCHES);

const BENCH = {
  help: `npm run bench -- [NAME ...]
  Runs the benchmarks of these names, all of them by default. Each prints ratios to a baseline of the same run.
  NAME  ${NAMES.join(', ')}`,
  options: {},
  takesPositionals: true,
  values: z.object({
    positionals: z.array(z.enum(NAMES, { error: ({ input }) => `There is no benchmark ${String(input)}.` })),
  }),
} as const;

await runCommand(
  BENCH,
  async ({ positionals }) => {
    for (const [name, bench] of Object.entries(BENCHES)) {
      if (positionals.length === 0 || positionals.includes(name)) await bench();
    }
  },
  { exitCode: 2 },
);
