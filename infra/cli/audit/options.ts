import { z } from 'zod';

import { MAX_SHARDS } from '../../../src/analytics/model/shard.ts';
import { dayOption, flagOption, numberOption, portOption, textOption } from '../command-line.ts';

export const AUDIT = {
  help: `npm run audit -- --date YYYY-MM-DD [--rewrite [--shards N] [--without-unreadable] [--yes]] [--port N] [--settings FILE]
  --date YYYY-MM-DD     the UTC day to audit
  --rewrite             shows the changes, asks, then recounts the day from its event rows
  --shards N            with --rewrite: the day gets N shards, 1 to ${MAX_SHARDS}; by default it keeps its number
  --without-unreadable  with --rewrite: leaves out event rows that cannot be decoded, and keeps a copy of each
  --yes                 with --rewrite: does not ask
  --port N              the port of a local run, whose storage is read if no settings name a storage; 7071 by default
  --settings FILE       a settings file; local.settings.json by default, if it exists

Reads only, except with --rewrite. Exit code 0: every answer is right. 1: some differ. 2: the day could not be audited or
rewritten, or some answers could not be compared because events kept arriving.`,
  values: z
    .object({
      date: z.string('--date is missing.').pipe(dayOption),
      port: portOption,
      settings: textOption('--settings needs a file.'),
      rewrite: flagOption,
      shards: numberOption('shards', 1, MAX_SHARDS).optional(),
      'without-unreadable': flagOption,
      yes: flagOption,
    })
    .refine(
      ({ rewrite, yes, shards, 'without-unreadable': without }) => rewrite || !(yes || without || shards !== undefined),
      '--yes, --shards and --without-unreadable go with --rewrite.',
    ),
} as const;

export type AuditOptions = z.infer<typeof AUDIT.values>;
