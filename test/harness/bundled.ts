import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { inject } from 'vitest';
import { z } from 'zod';

import { testEnvironment } from './app.ts';

/** `node load-bundle.cjs BUNDLE` loads a bundle and prints what it registers. */
export const LOAD_BUNDLE = fileURLToPath(new URL('load-bundle.cjs', import.meta.url));

const loadedSchema = z.object({
  functions: z.array(
    z.object({
      name: z.string(),
      bindings: z.record(z.string(), z.looseObject({ type: z.string(), direction: z.string() })),
    }),
  ),
  hooks: z.array(z.string()),
  description: z.record(z.string(), z.unknown()),
});

/** What a bundle registers when the Functions worker loads it, and the description of the API that it answers. */
export type LoadedBundle = z.infer<typeof loadedSchema>;

/**
 * Loads one of this run's bundles in a process of its own.
 *
 * @throws {Error} where it does not load, or keeps its process alive by loading
 */
export const loadBundle = (bundle: 'debug' | 'release'): LoadedBundle =>
  loadedSchema.parse(
    JSON.parse(
      execFileSync(process.execPath, [LOAD_BUNDLE, inject('bundles')[bundle]], {
        env: { ...testEnvironment() },
        encoding: 'utf8',
        timeout: 120_000,
      }),
    ),
  );
