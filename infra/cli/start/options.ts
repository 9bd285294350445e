import { z } from 'zod';

import { flagOption, numberOption, portOption, textOption } from '../command-line.ts';

/** The limit of a new number of ACS. */
const LINES = '2';

export const START = {
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
} as const;

export type StartOptions = Omit<z.infer<typeof START.values>, 'json'>;
