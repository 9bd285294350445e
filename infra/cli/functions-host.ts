/**
 * The functions host as a process. Prints a line with its URL when it serves. Stops in good order on SIGTERM and SIGINT, and
 * when the process that started it with an IPC channel is gone. Ends with code 1 where the app cannot be loaded.
 */
import { inspect } from 'node:util';

import { z } from 'zod';

import { portOption, runCommand } from './command-line.ts';
import { ScheduleError } from '../emulators/functions-host/timers.ts';
import { type FunctionsHostOptions, startFunctionsHost } from '../emulators/functions-host/functions-host.ts';

const HOST = {
  help: `node --import tsx infra/cli/functions-host.ts [--bundle FILE] [--host-json FILE] [--port N] [--function-key KEY]
         [--master-key KEY] [--no-schedules]
  Serves a bundle by the rules of the Azure Functions host.
  --bundle FILE       the CommonJS bundle that registers the functions; dist/main.cjs by default
  --host-json FILE    the app's host.json; host.json by default
  --port N            the port of 127.0.0.1 to serve on; 7071 by default
  --function-key KEY  functions of level "function" need this key, as in Azure, and the admin paths the master key; no key is
                      needed by default
  --master-key KEY    with --function-key: opens the functions as well as the admin paths; there is none by default
  --no-schedules      timer functions run only when POST /admin/functions/NAME starts them`,
  options: {
    bundle: { type: 'string', default: 'dist/main.cjs' },
    'host-json': { type: 'string', default: 'host.json' },
    port: { type: 'string', default: '7071' },
    'function-key': { type: 'string' },
    'master-key': { type: 'string' },
    'no-schedules': { type: 'boolean', default: false },
  },
  values: z.object({
    bundle: z.string(),
    'host-json': z.string(),
    port: portOption,
    'function-key': z.string().optional(),
    'master-key': z.string().optional(),
    'no-schedules': z.boolean(),
  }),
} as const;

const serve = async (options: FunctionsHostOptions): Promise<void> => {
  // The real worker is started with this on as well: a stack names the sources.
  process.setSourceMapsEnabled(true);
  const host = await startFunctionsHost(options);

  let stopping: Promise<void> | undefined;
  const stop = (): void => {
    stopping ??= host.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error('The app could not be stopped in good order:', error);
        process.exit(1);
      },
    );
  };
  for (const event of ['SIGINT', 'SIGTERM', 'disconnect']) process.on(event, stop);
  console.log(`Functions host ready on ${host.url}`);
};

await runCommand(HOST, serve, {
  // Wrong settings are for a person to mend: the names and reasons are all that helps there.
  describe: (error) =>
    error instanceof ScheduleError || (error instanceof Error && error.name === 'SettingsError')
      ? error.message
      : inspect(error),
});
// An app that failed to load may keep the process alive.
if (process.exitCode !== 0) process.exit();
