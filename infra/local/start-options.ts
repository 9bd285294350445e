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
}

/** The command `npm start`. */
export const START: Command<StartOptions> = {
  help: `npm start -- [--port N] [--data DIR] [--settings FILE]
  Runs the whole service on this machine. Ctrl-C stops everything.
  --port N         the port that serves the functions, 1 to 65535; 7071 by default
  --data DIR       keeps the tables there between runs; in memory by default
  --settings FILE  settings as in local.settings.json, which is the default where it exists`,
  options: { port: { type: 'string', default: '7071' }, data: { type: 'string' }, settings: { type: 'string' } },
  values: z
    .object({
      port: portOption,
      data: textOption('--data needs a directory.'),
      settings: textOption('--settings needs a file.'),
    })
    .transform(({ port, data, settings }) => ({ port, dataDir: data, settingsFile: settings })),
};
