import { z } from 'zod';

import { MAX_SHARDS } from '../../../src/analytics/model/shard.ts';
import { dayOption, numberOption, portOption, textOption } from '../command-line.ts';

/** The command line of `npm run audit`. */
export const AUDIT = {
  help: `npm run audit -- --date YYYY-MM-DD [--rewrite [--shards N] [--without-unreadable] [--yes]] [--port N] [--settings FILE]
  --date YYYY-MM-DD     the UTC day whose answers are compared with its event rows
  --rewrite             counts the day anew from its event rows: shows which answers change, and asks before
  --shards N            with --rewrite: the day gets N shards, 1 to ${MAX_SHARDS}; as many as it has by default
  --without-unreadable  with --rewrite: leaves out event rows that cannot be decoded, and keeps a copy of each
  --yes                 with --rewrite: does not ask
  --port N              the local run whose storage is read where no settings name a storage; 7071 by default
  --settings FILE       a settings file; local.settings.json by default, where it exists

Reads only, except with --rewrite. Exit code 0: every answer is right. 1: some differ. 2: the day could not be audited or
rewritten, or some answers could not be compared because their events changed all the time.`,
  options: {
    date: { type: 'string' },
    port: { type: 'string', default: '7071' },
    settings: { type: 'string' },
    rewrite: { type: 'boolean', default: false },
    shards: { type: 'string' },
    'without-unreadable': { type: 'boolean', default: false },
    yes: { type: 'boolean', default: false },
  },
  values: z
    .object({
      date: z.string('--date is missing.').pipe(dayOption),
      port: portOption,
      settings: textOption('--settings needs a file.'),
      rewrite: z.boolean(),
      shards: numberOption('shards', 1, MAX_SHARDS).optional(),
      'without-unreadable': z.boolean(),
      yes: z.boolean(),
    })
    .refine(
      ({ rewrite, yes, shards, 'without-unreadable': without }) => rewrite || !(yes || without || shards !== undefined),
      '--yes, --shards and --without-unreadable go with --rewrite.',
    ),
} as const;

/** The options of `npm run audit`; its help says what each of them means. */
export type AuditOptions = z.infer<typeof AUDIT.values>;
