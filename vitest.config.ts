import { defineConfig } from 'vitest/config';

/** They replace modules of Node's (timers, random numbers), and so need modules of their own. They need neither a bundle nor Azurite. */
const WORLDS = ['test/worlds/**/*.test.ts'];

/** The page's words and rules, in a DOM of Node's. They need neither a bundle nor Azurite. */
const PAGE = ['test/dashboard/page/**/*.test.ts'];

export default defineConfig({
  test: {
    projects: [
      { extends: true, test: { name: 'worlds', include: WORLDS } },
      {
        extends: true,
        test: { name: 'page', include: PAGE, environment: 'happy-dom', setupFiles: ['test/harness/fixed-examples.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'tests',
          include: ['test/**/*.test.ts'],
          exclude: [...WORLDS, ...PAGE, '**/node_modules/**'],
          globalSetup: ['test/harness/global-setup.ts'],
          setupFiles: ['test/harness/fixed-examples.ts'],
          // Files share what they import: it is loaded once per worker, which saves two fifths of the processor time of small tests.
          isolate: false,
        },
      },
    ],
    // On two cores: while some wait for a process or a page, others go on.
    maxWorkers: 3,
    // They end what hangs. The longest test takes 20 s on a quiet machine, and several times that on a slow or busy one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 60_000,
    // What a test replaces is put back after it: another file may run next in the same process.
    restoreMocks: true,
    unstubEnvs: true,
    // The default of a second is too short for a process, and for a page.
    expect: { poll: { timeout: 60_000 } },
  },
});
