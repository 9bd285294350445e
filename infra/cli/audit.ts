/**
 * `npm run audit -- --date YYYY-MM-DD`: compares the answers of the service about a UTC day with its event rows. Reads only, except with
 * `--rewrite`, which recounts the day. Exit code 0: every answer is right; 1: some differ; 2: the day could not be audited or rewritten.
 */
import { createInterface } from 'node:readline/promises';

import { z } from 'zod';

import { auditDay } from '../../src/analytics/audit/audit.ts';
import { rewriteDay } from '../../src/analytics/audit/rewrite.ts';
import { MAX_SHARDS } from '../../src/analytics/model/shard.ts';
import { FORMAT } from '../../src/analytics/rows/format.ts';
import { lazyCredential } from '../../src/azure/credential.ts';
import { azureTable } from '../../src/storage/azure-table.ts';
import { Table } from '../../src/storage/table.ts';
import { exitCodeOf, failureText, reportText } from './audit/report.ts';
import { chosenStorage } from './chosen-storage.ts';
import {
  CommandError,
  dayOption,
  flagOption,
  numberOption,
  portOption,
  runCommand,
  textOption,
} from './command-line.ts';

const AUDIT = {
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

/** Enough lines of each list to judge the damage before the question. Without `--rewrite` all lines are printed. */
const MOST_LINES = 20;

/** Storage may throttle a partition that is read at this speed. A request of the service has no time for this many tries. */
const READ_TRIES = 10;

let tableName = 'analytics';

const agrees = async (question: string): Promise<boolean> => {
  if (!process.stdin.isTTY) {
    throw new CommandError('There is no terminal to ask at: add --yes to rewrite without asking. Nothing was changed.');
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
};

/** Audits a day. With `--rewrite` it shows the changes, asks, rewrites the day, and audits it again. @returns the exit code */
const audit = async ({
  date,
  port,
  settings,
  rewrite,
  shards,
  yes,
  'without-unreadable': withoutUnreadable,
}: z.infer<typeof AUDIT.values>): Promise<number> => {
  const storage = await chosenStorage(port, settings);
  tableName = `${storage.prefix}analytics`;
  const table = new Table(azureTable(storage, 'analytics', lazyCredential()), {
    format: FORMAT,
    isCreated: false,
    tries: READ_TRIES,
  });
  const audited = await auditDay(table, date);
  console.log(reportText(audited, tableName, rewrite ? MOST_LINES : Infinity));
  const isResharded = shards !== undefined && shards !== audited.row?.shards;
  if (!rewrite || (exitCodeOf(audited) === 0 && !isResharded)) return exitCodeOf(audited);
  const question =
    'Rewrite the day? For some seconds the service answers 503 to its events; senders must retry. Answers stay available. (y/N) ';
  if (!yes && !(await agrees(question))) {
    console.log('Nothing was changed.');
    return exitCodeOf(audited);
  }
  await rewriteDay(table, date, { shards, withoutUnreadable, say: (line) => console.log(`  ${line}`) });
  const after = await auditDay(table, date);
  console.log(`\n${reportText(after, tableName, MOST_LINES)}`);
  return exitCodeOf(after);
};

await runCommand(AUDIT, audit, { exitCode: 2, describe: (error) => failureText(error, tableName) });
