import { defineConfig } from 'vitest/config';

/** `npm run mutants`: tests of calls that need neither a bundle nor Azurite. Only the world needs its own modules. */
export default defineConfig({
  test: {
    setupFiles: ['test/harness/fixed-examples.ts'],
    include: ['test/calls/**/*.test.ts', 'test/settings.test.ts', 'test/worlds/calls/*.test.ts'],
    maxWorkers: 1,
    testTimeout: 180_000,
    restoreMocks: true,
    unstubEnvs: true,
  },
});
