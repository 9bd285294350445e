import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { TestProject } from 'vitest/node';

import { bundle } from '../../infra/bundle.ts';
import { startAzurite } from '../../infra/local/azurite.ts';
import { demandCleanLogs } from './app-logs.ts';

declare module 'vitest' {
  /** What every test of a run shares; `inject('bundles').debug` and so on. */
  export interface ProvidedContext {
    /** This run's Azurite. A test is alone in it with a TABLES_PREFIX of its own. */
    readonly tablesConnectionString: string;
    /** Where everything that any app of the run prints is kept until the end of the run. */
    readonly appLogs: string;
    /** The paths of this run's bundles. */
    readonly bundles: { readonly debug: string; readonly release: string };
  }
}

/** Once a run: both bundles, in a directory of the run, and one Azurite; at its end, a look into the logs of every app. */
export const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  const directory = await mkdtemp(join(tmpdir(), 'wildfire-camera-activity-'));
  const bundles = { debug: join(directory, 'debug', 'main.cjs'), release: join(directory, 'release', 'main.cjs') };
  await Promise.all([
    bundle({ outfile: bundles.debug, debug: true }),
    bundle({ outfile: bundles.release, debug: false }),
  ]);
  const appLogs = join(directory, 'app-logs');
  await mkdir(appLogs);
  const azurite = await startAzurite();
  project.provide('appLogs', appLogs);
  project.provide('bundles', bundles);
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
