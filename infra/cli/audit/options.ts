import { z } from 'zod';

import { dayOption, portOption, textOption } from '../command-line.ts';

/** The command line of `npm run audit`. */
export const AUDIT = {
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
      date: z.string('--date is missing.').pipe(dayOption),
      port: portOption,
      settings: textOption('--settings needs a file.'),
      repair: z.boolean(),
      yes: z.boolean(),
    })
    .refine(({ repair, yes }) => repair || !yes, '--yes goes with --repair.'),
} as const;

/** The options of `npm run audit`; its help says what each of them means. */
export type AuditOptions = z.infer<typeof AUDIT.values>;
