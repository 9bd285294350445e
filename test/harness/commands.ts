import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

const INFRA = fileURLToPath(new URL('../../infra/', import.meta.url));

/** Packages that are CommonJS ask for Node's modules by `require`. */
const WITH_REQUIRE =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);";

/** The scripts that many tests start, in infra. */
const COMMANDS = {
  send: 'send.ts',
  export: 'export.ts',
  audit: 'local/audit.ts',
  host: 'local/functions-host/main.ts',
} as const;

/** The path of each as one file. */
export type BuiltCommands = Readonly<Record<keyof typeof COMMANDS, string>>;

/**
 * Builds each script into one file: a start of it takes a third of the processor time that it takes with tsx, which compiles each time. That they
 * run with tsx as well is tested by `npm start` and `npm run screenshot`.
 */
export const buildCommands = async (directory: string): Promise<BuiltCommands> => {
  await build({
    entryPoints: Object.entries(COMMANDS).map(([out, path]) => ({ in: join(INFRA, path), out })),
    outdir: directory,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    banner: { js: WITH_REQUIRE },
    logLevel: 'warning',
  });
  const built = (name: keyof typeof COMMANDS): string => join(directory, `${name}.mjs`);
  return { send: built('send'), export: built('export'), audit: built('audit'), host: built('host') };
};
