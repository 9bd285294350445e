import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';
import { inject } from 'vitest';

const INFRA = fileURLToPath(new URL('../../infra/', import.meta.url));

/** Packages that are CommonJS ask for Node's modules by `require`. */
const WITH_REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/**
 * Builds what an npm script runs, `send` for `infra/send.ts`, into one file: many starts of it take less than with tsx, which compiles at
 * each. That the script runs with tsx as well is tested once for all, by its `--help`.
 *
 * @returns its path, among this run's bundles
 */
export const buildCommand = async (name: 'send' | 'export'): Promise<string> => {
  const outfile = join(dirname(inject('bundles').release), `${name}-${randomBytes(4).toString('hex')}.mjs`);
  await build({
    entryPoints: [join(INFRA, `${name}.ts`)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    banner: { js: WITH_REQUIRE },
    logLevel: 'warning',
  });
  return outfile;
};
