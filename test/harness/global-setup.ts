import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build as bundle } from 'esbuild';
import type { TestProject } from 'vitest/node';

import { buildApp } from '../../infra/build/bundle.ts';
import { startAzurite } from '../../infra/emulators/azurite.ts';
import { demandCleanLogs } from './app-logs.ts';

const INFRA = fileURLToPath(new URL('../../infra/', import.meta.url));

/** Packages that are CommonJS ask for Node's modules by `require`. */
const WITH_REQUIRE =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);";

/** The scripts that many tests start, in infra. */
const COMMANDS = {
  send: 'cli/send.ts',
  export: 'cli/export.ts',
  audit: 'cli/audit.ts',
  host: 'cli/functions-host.ts',
} as const;

/** The path of each as one file. */
type BuiltCommands = Readonly<Record<keyof typeof COMMANDS, string>>;

/**
 * Builds each script into one file: a start of it takes a third of the processor time that it takes with tsx, which compiles each time. That they
 * run with tsx as well is tested by `npm start` and `npm run screenshot`.
 */
const buildCommands = async (directory: string): Promise<BuiltCommands> => {
  await bundle({
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

declare module 'vitest' {
  /** What all tests of a run share: `inject('bundles').debug` and so on. */
  export interface ProvidedContext {
    /** This run's Azurite. A TABLES_PREFIX of its own keeps a test apart from others. */
    readonly tablesConnectionString: string;
    /** The directory that holds the output of every app until the run ends. */
    readonly appLogs: string;
    /** The paths of this run's bundles. */
    readonly bundles: { readonly debug: string; readonly release: string };
    /** The paths of the scripts that tests start. */
    readonly commands: BuiltCommands;
  }
}

/**
 * Once per run: builds both bundles and the scripts that tests start, and starts one Azurite. In watch mode all of them are built anew before each
 * run. After the run: checks the logs of every app.
 */
export const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  const directory = await mkdtemp(join(tmpdir(), 'wildfire-camera-activity-'));
  const bundles = { debug: join(directory, 'debug', 'main.cjs'), release: join(directory, 'release', 'main.cjs') };
  const build = async (): Promise<BuiltCommands> => {
    const [commands] = await Promise.all([
      buildCommands(directory),
      buildApp({ outfile: bundles.debug, debug: true }),
      buildApp({ outfile: bundles.release, debug: false }),
    ]);
    return commands;
  };
  const appLogs = join(directory, 'app-logs');
  await mkdir(appLogs);
  const [commands, azurite] = await Promise.all([build(), startAzurite()]);
  project.onTestsRerun(async () => void (await build()));
  project.provide('appLogs', appLogs);
  project.provide('bundles', bundles);
  project.provide('commands', commands);
  project.provide('tablesConnectionString', azurite.connectionString);
  return async () => {
    await azurite.stop();
    try {
      demandCleanLogs(appLogs);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  };
};
