import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/harness/global-setup.ts'],
    // On two cores a third worker saves a quarter of the time, but tests with deadlines in real seconds then miss some of them.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
    // A condition that is polled comes true late on a busy machine; the default of a second is too short for a page.
    expect: { poll: { timeout: 15_000 } },
  },
});
