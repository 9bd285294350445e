import { z } from 'zod';

import { type Command, portOption, textOption } from '../command-line.ts';

/** What `npm start` was asked for. */
export interface StartOptions {
  /** The port that serves the functions. */
  readonly port: number;
  /** The directory that keeps the tables between runs; undefined: they are in memory. */
  readonly dataDir: string | undefined;
  /** A file like local.settings.json; undefined: the repository's own, if there is one. */
  readonly settingsFile: string | undefined;
  /** How many calls the simulated phone takes at a time. */
  readonly lines: number;
  /** True where the service accepts a callback only with the simulator's token. */
  readonly verifiesCallbacks: boolean;
}

/** ACS gives a new number two calls at a time. */
const LINES = '2';

const linesOption = z
  .string()
  .regex(/^[1-9]\d{0,3}$/, { error: ({ input }) => `${String(input)} is not a number of lines.` })
  .transform(Number);

/** The command `npm start`. */
export const START: Command<StartOptions> = {
  help: `npm start -- [--port N] [--data DIR] [--settings FILE] [--lines N] [--verify-callbacks]
  Runs the whole service on this machine. Ctrl-C stops everything.
  --port N            the port that serves the functions, 1 to 65535; 7071 by default
  --data DIR          keeps the tables there between runs; in memory by default
  --settings FILE     settings as in local.settings.json, which is the default where it exists
  --lines N           how many calls the simulated phone takes at a time, 1 to 9999; ${LINES} by default
  --verify-callbacks  accepts callbacks only with the simulator's token; without it, anybody may post them`,
  options: {
    port: { type: 'string', default: '7071' },
    data: { type: 'string' },
    settings: { type: 'string' },
    lines: { type: 'string', default: LINES },
    'verify-callbacks': { type: 'boolean', default: false },
  },
  values: z
    .object({
      port: portOption,
      data: textOption('--data needs a directory.'),
      settings: textOption('--settings needs a file.'),
      lines: linesOption,
      'verify-callbacks': z.boolean(),
    })
    .transform(({ port, data, settings, lines, 'verify-callbacks': verifiesCallbacks }) => ({
      port,
      dataDir: data,
      settingsFile: settings,
      lines,
      verifiesCallbacks,
    })),
};
