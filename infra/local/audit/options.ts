import { parseArgs } from 'node:util';

import { isDay, type Day } from '../../../src/analytics/model/day.ts';

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

/** An error whose message is printed without a stack. */
export class AuditError extends Error {
  override readonly name = 'AuditError';
}

/** Printed for `--help` and with every complaint about an option. */
export const AUDIT_HELP = `npm run audit -- --date YYYY-MM-DD [--repair [--yes]] [--port N] [--settings FILE]
  --date YYYY-MM-DD  the UTC day whose counters are compared with its event rows
  --repair           puts right what differs: prints what it will do, and asks before
  --yes              with --repair: does not ask
  --port N           the local run whose storage is read where no settings name a storage; 7071 by default
  --settings FILE    a settings file; local.settings.json by default, where it exists
  --help             prints this

Reads only, except with --repair. Exit code 0: every counter is right. 1: some differ. 2: the day could not be audited or
repaired.`;

/**
 * Reads the options of `npm run audit`.
 *
 * @param args what follows `--` on the command line
 * @throws {AuditError} that names the wrong option, with the help
 */
export const readAuditOptions = (args: readonly string[]): AuditOptions | 'help' => {
  const { date, port, settings, repair, yes, help } = parsed(args);
  if (help) return 'help';
  if (date === undefined) throw new AuditError(`--date is missing.\n${AUDIT_HELP}`);
  if (!isDay(date)) throw new AuditError(`${date} is not a day that exists, written YYYY-MM-DD.\n${AUDIT_HELP}`);
  if (!/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535)
    throw new AuditError(`${port} is not a port.\n${AUDIT_HELP}`);
  if (settings === '') throw new AuditError(`--settings needs a file.\n${AUDIT_HELP}`);
  if (yes && !repair) throw new AuditError(`--yes goes with --repair.\n${AUDIT_HELP}`);
  return { day: date, port: Number(port), settingsFile: settings, repair, yes };
};

const OPTIONS = {
  date: { type: 'string' },
  port: { type: 'string', default: '7071' },
  settings: { type: 'string' },
  repair: { type: 'boolean', default: false },
  yes: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

const parsed = (args: readonly string[]) => {
  try {
    return parseArgs({ args: [...args], options: OPTIONS }).values;
  } catch (error) {
    throw new AuditError(`${error instanceof Error ? error.message : String(error)}\n${AUDIT_HELP}`, { cause: error });
  }
};
