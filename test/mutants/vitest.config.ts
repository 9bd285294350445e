import { defineConfig } from 'vitest/config';

/** `npm run mutants`: the tests of the rules about calls, without the bundles and Azurite that others need. */
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
