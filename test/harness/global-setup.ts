import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { TestProject } from 'vitest/node';

import { buildApp } from '../../infra/build/bundle.ts';
import { startAzurite } from '../../infra/emulators/azurite.ts';
import { demandCleanLogs } from './app-logs.ts';
import { buildCommands } from './built-command.ts';

declare module 'vitest' {
  /** The parts that all tests of a run share: `inject('bundles').debug` and so on. */
  export interface ProvidedContext {
    /** This run's Azurite. A TABLES_PREFIX of its own keeps a test apart from others. */
    readonly tablesConnectionString: string;
    /** The directory that holds the output of every app until the run ends. */
    readonly appLogs: string;
    /** A directory in which Node keeps what it has compiled of the app. */
    readonly compileCache: string;
    /** The paths of this run's bundles. */
    readonly bundles: { readonly debug: string; readonly release: string };
    /** The paths of the scripts that tests start. `npm start` is tested with tsx. */
    readonly commands: { readonly send: string; readonly host: string };
  }
}

/** Once per run: builds the bundles and scripts (in watch mode before each run), starts Azurite, and at the end checks the logs of all apps. */
export const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  const directory = await mkdtemp(join(tmpdir(), 'wildfire-camera-activity-'));
  const [appLogs, compileCache] = [join(directory, 'app-logs'), join(directory, 'compile-cache')];
  const bundles = { debug: join(directory, 'debug', 'main.cjs'), release: join(directory, 'release', 'main.cjs') };
  const build = async () => {
    const [built] = await Promise.all([
      buildCommands(directory, { send: 'cli/send.ts', host: 'cli/functions-host.ts' }),
      buildApp({ outfile: bundles.debug, debug: true }),
      buildApp({ outfile: bundles.release, debug: false }),
    ]);
    return { send: built('send'), host: built('host') };
  };
  await mkdir(appLogs);
  const [commands, azurite] = await Promise.all([build(), startAzurite()]);
  project.onTestsRerun(async () => void (await build()));
  project.provide('appLogs', appLogs);
  project.provide('compileCache', compileCache);
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
