import { z } from 'zod';

import { isDay, type Day } from '../../../src/analytics/model/day.ts';
import { type Command, portOption, textOption } from '../../command-line.ts';

/** The options of `npm run audit`. */
export interface AuditOptions {
  /** The UTC day to audit. */
  readonly day: Day;
  /** The port of the local run whose storage is read where no settings name a storage. */
  readonly port: number;
  /** A file like local.settings.json; undefined: the one of the repository, if it exists. */
  readonly settingsFile: string | undefined;
  /** Whether what differs is put right. */
  readonly repair: boolean;
  /** Whether it is put right without asking first. */
  readonly yes: boolean;
}

/** The command line of `npm run audit`. */
export const AUDIT: Command<AuditOptions> = {
  help: `npm run audit -- --date YYYY-MM-DD [--repair [--yes]] [--port N] [--settings FILE]
  --date YYYY-MM-DD  the UTC day whose counters are compared with its event rows
  --repair           puts right what differs: prints what it will do, and asks before
  --yes              with --repair: does not ask
  --port N           the local run whose storage is read where no settings name a storage; 7071 by default
  --settings FILE    a settings file; local.settings.json by default, where it exists

Reads only, except with --repair. Exit code 0: every counter is right. 1: some differ. 2: the day could not be audited or
repaired.`,
  options: {
    date: { type: 'string' },
    port: { type: 'string', default: '7071' },
    settings: { type: 'string' },
    repair: { type: 'boolean', default: false },
    yes: { type: 'boolean', default: false },
  },
  values: z
    .object({
      date: z
        .string('--date is missing.')
        .refine(isDay, { error: ({ input }) => `${String(input)} is not a day that exists, written YYYY-MM-DD.` }),
      port: portOption,
      settings: textOption('--settings needs a file.'),
      repair: z.boolean(),
      yes: z.boolean(),
    })
    .refine(({ repair, yes }) => repair || !yes, '--yes goes with --repair.')
    .transform(({ date, settings, ...others }) => ({ ...others, day: date, settingsFile: settings })),
};
