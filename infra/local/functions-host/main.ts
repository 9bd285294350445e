/**
 * The functions host as a process:
 * `node --import tsx infra/local/functions-host/main.ts --bundle PATH --host-json PATH --port N [--function-key KEY]`.
 *
 * Prints a line with its URL when it serves. Stops in good order on SIGTERM and SIGINT, and when the process that
 * started it with an IPC channel is gone. Ends with code 1 where the app cannot be loaded.
 */
import { inspect, parseArgs } from 'node:util';

import { startFunctionsHost } from '../functions-host.ts';

const { values } = parseArgs({
  options: {
    bundle: { type: 'string', default: 'dist/main.cjs' },
    'host-json': { type: 'string', default: 'host.json' },
    port: { type: 'string', default: '7071' },
    'function-key': { type: 'string' },
  },
});

// Wrong settings are for a person to mend: the names and reasons are all that helps there.
const describeLoadError = (error: unknown): string =>
  error instanceof Error && error.name === 'SettingsError' ? error.message : inspect(error);

const serve = async (): Promise<void> => {
  // The real worker is started with this on as well: a stack names the sources.
  process.setSourceMapsEnabled(true);
  const functionKey = values['function-key'];
  const host = await startFunctionsHost({
    bundle: values.bundle,
    hostJson: values['host-json'],
    port: Number(values.port),
    ...(functionKey === undefined ? {} : { functionKey }),
  });

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

serve().catch((error: unknown) => {
  console.error(describeLoadError(error));
  process.exit(1);
});
