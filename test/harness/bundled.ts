import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { inject } from 'vitest';
import { z } from 'zod';

import { testEnvironment } from './app.ts';

const LOAD_BUNDLE = fileURLToPath(new URL('load-bundle.cjs', import.meta.url));

const bindingSchema = z.looseObject({ type: z.string(), direction: z.string() });
const loadedSchema = z.object({
  functions: z.array(z.object({ name: z.string(), bindings: z.record(z.string(), bindingSchema) })),
  hooks: z.array(z.string()),
  description: z.record(z.string(), z.unknown()),
});

/**
 * Loads one of this run's bundles in its own process: what it registers, and its description of the API.
 *
 * @param settings in addition to the settings of every test
 * @throws {Error} where it does not load, or keeps its process alive by loading
 */
export const loadBundle = (
  bundle: 'debug' | 'release',
  settings: Readonly<Record<string, string>> = {},
): z.infer<typeof loadedSchema> => {
  const options = { env: { ...testEnvironment(settings) }, encoding: 'utf8', timeout: 120_000 } as const;
  return loadedSchema.parse(
    JSON.parse(execFileSync(process.execPath, [LOAD_BUNDLE, inject('bundles')[bundle]], options)),
  );
};
