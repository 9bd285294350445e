import { fileURLToPath } from 'node:url';

import { defineConfig } from 'vitest/config';

import type { Mutant } from './numbers.ts';

/** Replaces one number of the source while it is loaded. */
const changing = ({ file, start, end, value }: Mutant) => ({
  name: 'mutant',
  enforce: 'pre' as const,
  transform: (code: string, path: string) =>
    path === fileURLToPath(new URL(`../../${file}`, import.meta.url))
      ? `${code.slice(0, start)}${value}${code.slice(end)}`
      : undefined,
});

const { MUTANT } = process.env;

/** `npm run mutants`: tests of calls that need neither a bundle nor Azurite. Only the world needs its own modules. */
export default defineConfig({
  plugins: MUTANT === undefined ? [] : [changing(JSON.parse(MUTANT))],
  test: {
    setupFiles: ['test/harness/fixed-examples.ts'],
    include: ['test/calls/**/*.test.ts', 'test/settings.test.ts', 'test/worlds/calls/*.test.ts'],
    maxWorkers: 1,
    testTimeout: 180_000,
    restoreMocks: true,
    unstubEnvs: true,
  },
});
