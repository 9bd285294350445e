import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/harness/global-setup.ts'],
    // Most tests wait for Azurite and for apps in processes of their own. On two cores three workers take three quarters of the time of two.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
    // A condition that is polled comes true late on a busy machine; the default of a second is too short for a page.
    expect: { poll: { timeout: 15_000 } },
  },
});
