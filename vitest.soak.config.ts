import { defineConfig } from 'vitest/config';

/** `npm run soak`: the worlds, with many more seeds than `npm test` plays. They need neither a bundle nor Azurite. */
export default defineConfig({
  test: {
    include: ['test/worlds/**/*.test.ts'],
    env: { WORLD_SEEDS: process.env['WORLD_SEEDS'] ?? (process.env['WORLD_SEED'] === undefined ? '200' : '1') },
    maxWorkers: 2,
    testTimeout: 3_600_000,
  },
});
