/**
 * The functions host as a process. Prints a line with its URL when it serves. Stops gracefully on SIGTERM and SIGINT, and
 * when the process that started it with an IPC channel has ended. Ends with code 1 if the app cannot be loaded.
 */
import { inspect } from 'node:util';

import { z } from 'zod';

import { flagOption, portOption, runCommand } from './command-line.ts';
import { ScheduleError } from '../emulators/functions-host/timers.ts';
import { type FunctionsHostOptions, startFunctionsHost } from '../emulators/functions-host/functions-host.ts';

const HOST = {
  help: `node --import tsx infra/cli/functions-host.ts [--bundle FILE] [--host-json FILE] [--port N] [--function-key KEY]
         [--master-key KEY] [--no-schedules]
  Serves a bundle by the rules of the Azure Functions host.
  --bundle FILE       the CommonJS bundle that registers the functions; dist/main.cjs by default
  --host-json FILE    the app's host.json; host.json by default
  --port N            the port of 127.0.0.1 to serve on; 7071 by default
  --function-key KEY  functions of level "function" need this key, as in Azure, and admin paths the master key; by default
                      no key is needed
  --master-key KEY    with --function-key: opens the functions and the admin paths
  --no-schedules      timer functions run only when POST /admin/functions/NAME starts them`,
  values: z.object({
    bundle: z.string().default('dist/main.cjs'),
    'host-json': z.string().default('host.json'),
    port: portOption,
    'function-key': z.string().optional(),
    'master-key': z.string().optional(),
    'no-schedules': flagOption,
  }),
} as const;

const serve = async (options: FunctionsHostOptions): Promise<void> => {
  // As in the real worker: a stack names the sources.
  process.setSourceMapsEnabled(true);
  const host = await startFunctionsHost(options);

  let stopping: Promise<void> | undefined;
  const stop = (): void => {
    stopping ??= host.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error('The app did not stop cleanly:', error);
        process.exit(1);
      },
    );
  };
  for (const event of ['SIGINT', 'SIGTERM', 'disconnect']) process.on(event, stop);
  console.log(`Functions host ready on ${host.url}`);
};

await runCommand(HOST, serve, {
  // The operator corrects wrong settings, and needs only their names and the reasons.
  describe: (error) =>
    error instanceof ScheduleError || (error instanceof Error && error.name === 'SettingsError')
      ? error.message
      : inspect(error),
});
// An app that failed to load may keep the process alive.
if (process.exitCode !== 0) process.exit();
