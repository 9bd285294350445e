/**
 * `npm run audit -- --date YYYY-MM-DD`: compares the answers of the service about a UTC day with its event rows. Reads only, except with
 * `--rebuild`, which counts the day anew, and `--unseal`.
 */
import { createInterface } from 'node:readline/promises';

import { z } from 'zod';

import { auditDay } from '../../src/analytics/audit/audit.ts';
import { rebuildDay, unsealDay } from '../../src/analytics/audit/rebuild.ts';
import { tableOfShards } from '../../src/analytics/rows/keys.ts';
import { FORMAT } from '../../src/analytics/rows/properties.ts';
import { lazyCredential } from '../../src/azure/credential.ts';
import { azureTable } from '../../src/storage/azure-table.ts';
import { Table } from '../../src/storage/table.ts';
import { exitCodeOf, failureText, reportText } from './audit/report.ts';
import { chosenCounters } from './chosen-storage.ts';
import { CommandError, dayOption, flagOption, portOption, runCommand, textOption } from './command-line.ts';

const AUDIT = {
  help: `npm run audit -- --date YYYY-MM-DD [--rebuild [--without-unreadable] | --unseal] [--yes] [--port N] [--settings FILE]
  --date YYYY-MM-DD     the UTC day to audit
  --rebuild             shows the changes, asks, then counts the day anew from its event rows
  --without-unreadable  with --rebuild: leaves out event rows that cannot be decoded, and keeps a copy of each
  --unseal              after a rebuild was stopped: audits the day, asks, then opens it with its counters as they are
  --yes                 with --rebuild or --unseal: does not ask
  --port N              the port of a local run, whose storage is read if no settings name a storage; 7071 by default
  --settings FILE       a settings file; local.settings.json by default, if it exists

TABLES_PREFIX and COUNTER_SHARDS must be those of the service. Reads only, except with --rebuild and --unseal.
Exit code 0: every answer is right. 1: some differ. 2: the day was written meanwhile, or could not be audited or rebuilt.`,
  values: z
    .object({
      date: z.string('--date is missing.').pipe(dayOption),
      port: portOption,
      settings: textOption('--settings needs a file.'),
      rebuild: flagOption,
      unseal: flagOption,
      'without-unreadable': flagOption,
      yes: flagOption,
    })
    .refine(({ rebuild, unseal }) => !(rebuild && unseal), '--unseal does not go with --rebuild.')
    .refine(({ rebuild, unseal, yes }) => rebuild || unseal || !yes, '--yes goes with --rebuild or --unseal.')
    .refine(
      ({ rebuild, 'without-unreadable': without }) => rebuild || !without,
      '--without-unreadable goes with --rebuild.',
    ),
} as const;

/** Enough lines of each list to judge the damage before the question. */
const MOST_LINES = 20;

/** Storage may throttle a partition that is read at this speed. A request of the service has no time for this many tries. */
const READ_TRIES = 10;

let tableName = 'analytics';

const say = (line: string): void => console.log(`  ${line}`);

const agrees = async (question: string): Promise<boolean> => {
  if (!process.stdin.isTTY) {
    throw new CommandError('There is no terminal to ask at: add --yes. Nothing was changed.');
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} (y/N) `)).trim());
  } finally {
    terminal.close();
  }
};

/** Audits a day. With `--rebuild` or `--unseal` it asks, changes the day, and audits it again. @returns the exit code */
const audit = async (options: z.infer<typeof AUDIT.values>): Promise<number> => {
  const { date, port, settings, rebuild, unseal, yes, 'without-unreadable': withoutUnreadable } = options;
  const { storage, shards, tableName: name } = await chosenCounters(port, settings);
  tableName = name;
  const table = new Table(azureTable(storage, tableOfShards(shards), lazyCredential()), {
    format: FORMAT,
    isCreated: false,
    tries: READ_TRIES,
  });
  const audited = await auditDay(table, shards, date);
  console.log(reportText(audited, tableName, rebuild || unseal ? MOST_LINES : Infinity));
  if (!(rebuild || unseal) || exitCodeOf(audited) === 0) return exitCodeOf(audited);
  const question = rebuild
    ? 'Rebuild the day? Until it is done the service answers 503 to its events and questions; senders must retry.'
    : 'Open the day with these counters?';
  if (!yes && !(await agrees(question))) {
    console.log('Nothing was changed.');
    return exitCodeOf(audited);
  }
  if (rebuild) await rebuildDay(table, shards, date, { withoutUnreadable, say });
  else say(`opened ${await unsealDay(table, shards, date)} of ${shards} shards`);
  const after = await auditDay(table, shards, date);
  console.log(`\n${reportText(after, tableName, MOST_LINES)}`);
  return exitCodeOf(after);
};

await runCommand(AUDIT, audit, { exitCode: 2, describe: (error) => failureText(error, tableName) });
