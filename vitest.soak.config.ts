import { defineConfig } from 'vitest/config';

/** `npm run soak`: the worlds, with many more seeds than `npm test` plays, and with broken rules. They need neither a bundle nor Azurite. */
export default defineConfig({
  test: {
    include: ['test/worlds/**/*.test.ts', 'test/worlds/**/*.soak.ts', 'test/http/**/*.soak.ts', 'bench/**/*.soak.ts'],
    env: { WORLD_SEEDS: process.env['WORLD_SEEDS'] ?? (process.env['WORLD_SEED'] === undefined ? '1000' : '1') },
    maxWorkers: 2,
    testTimeout: 3_600_000,
    // As for `npm test`.
    restoreMocks: true,
  },
});
