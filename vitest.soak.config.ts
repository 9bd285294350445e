import { defineConfig } from 'vitest/config';

/** `npm run soak`: whatever is random and long. The worlds with many more seeds than `npm test` plays, rules broken on purpose, benchmarks. */
export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          // They need neither a bundle nor Azurite.
          name: 'worlds',
          include: [
            'test/worlds/**/*.test.ts',
            'test/worlds/**/*.soak.ts',
            'test/http/**/*.soak.ts',
            'bench/**/*.soak.ts',
          ],
        },
      },
      {
        extends: true,
        test: {
          // They start the app.
          name: 'app',
          include: ['test/**/*.soak.ts'],
          exclude: ['test/worlds/**', 'test/http/**'],
          globalSetup: ['test/harness/global-setup.ts'],
        },
      },
    ],
    env: { WORLD_SEEDS: process.env['WORLD_SEEDS'] ?? (process.env['WORLD_SEED'] === undefined ? '1000' : '1') },
    maxWorkers: 2,
    testTimeout: 3_600_000,
    hookTimeout: 180_000,
    // As for `npm test`.
    restoreMocks: true,
    expect: { poll: { timeout: 60_000 } },
  },
});
