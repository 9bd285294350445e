/**
 * `npm start`: the whole service on one machine. It starts Azurite, the simulator of a telephone service and the functions host; a setting that
 * names real storage or a real telephone service replaces one of the first two. Ctrl-C stops everything.
 */
import { z } from 'zod';

import { type Command, flagOption, numberOption, portOption, runCommand, textOption } from './command-line.ts';
import { announcement } from './start/announcement.ts';
import { type LocalRun, type LocalRunOptions, startLocalRun } from './start/local-run.ts';
import { jsonLine, readableLine } from './start/readable-line.ts';
import { watchForStop } from './stop-request.ts';

/** The limit of a new number of ACS. */
const LINES = '2';

const START: Command<LocalRunOptions & { readonly json: boolean }> = {
  help: `npm start -- [--port N] [--data DIR] [--settings FILE] [--phone acs|twilio]
    [--lines N] [--verify-callbacks] [--json]
  Runs the whole service on this machine. Ctrl-C stops everything.
  --port N            the port that serves the functions, 1 to 65535; 7071 by default
  --data DIR          keeps the tables in DIR between runs; default: in memory. Holds about 100,000 events: use a
                      storage account for a year of events (TABLES_CONNECTION_STRING)
  --settings FILE     a settings file; local.settings.json by default, if it exists
  --phone PROVIDER    the simulated telephone service: acs, the default, or twilio
  --lines N           how many calls the simulated phone accepts at once, 1 to 9999; ${LINES} by default
  --verify-callbacks  accepts callbacks only with the simulator's token; otherwise every sender may post them
  --json              prints the log of the service as JSON, one object on each line`,
  values: z.object({
    port: portOption,
    data: textOption('--data needs a directory.'),
    settings: textOption('--settings needs a file.'),
    phone: z.enum(['acs', 'twilio'], '--phone needs acs or twilio.').default('acs'),
    lines: numberOption('lines', 1, 9_999).prefault(LINES),
    'verify-callbacks': flagOption,
    json: flagOption,
  }),
};

const start = async ({ json, ...options }: LocalRunOptions & { readonly json: boolean }): Promise<number> => {
  const stop = watchForStop();
  let run: LocalRun | undefined;
  // Processes that were started end with their parent.
  void stop.insisted.then(() => {
    run?.kill();
    process.exit(130);
  });

  console.log('Starting …');
  run = await startLocalRun(options, process.env, (line, isWrong = false) => {
    const printed = json ? jsonLine(line) : readableLine(line, isWrong, new Date());
    if (printed !== undefined) console.log(printed);
  });
  console.log(announcement(run, options, process.uptime()));

  const reason = await Promise.race([stop.asked, run.partLost]);
  console.log(reason === 'asked' ? 'Stopping …' : `${reason}. Stopping all other processes …`);
  await run.stop();
  console.log('Everything has stopped.');
  return reason === 'asked' ? 0 : 1;
};

// A closed terminal loses the output, which is no reason to leave a process running.
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);

await runCommand(START, start, { describe: (error) => (error instanceof Error ? error.message : undefined) });
// After a failed start a part may keep the process alive.
process.exit();
