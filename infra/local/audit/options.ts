import { parseArgs } from 'node:util';

import { isDay, type Day } from '../../../src/analytics/model/day.ts';

/** What `npm run audit` was asked for. */
export interface AuditOptions {
  /** The UTC day to audit. */
  readonly day: Day;
  /** The port of the local run whose storage is read where no settings name another. */
  readonly port: number;
  /** A file like local.settings.json; undefined: the repository's own, if there is one. */
  readonly settingsFile: string | undefined;
}

/** Something to tell the person who runs the audit; its stack would not help. */
export class AuditError extends Error {
  override readonly name = 'AuditError';
}

const USAGE = `npm run audit -- --date YYYY-MM-DD [--port N] [--settings FILE]
  --date YYYY-MM-DD  the UTC day whose counters are compared with its event rows
  --port N           reads the storage of the local run on this port where no settings name one; 7071 by default
  --settings FILE    settings as in local.settings.json, which is the default where it exists`;

/**
 * The options of `npm run audit`.
 *
 * @param args what follows `--` on the command line
 * @throws {AuditError} that names what is wrong and says what there is
 */
export const readAuditOptions = (args: readonly string[]): AuditOptions => {
  const { date, port, settings } = parsed(args);
  if (date === undefined) throw new AuditError(`--date is missing.\n${USAGE}`);
  if (!isDay(date)) throw new AuditError(`${date} is not a day that exists, written YYYY-MM-DD.\n${USAGE}`);
  if (!/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535) throw new AuditError(`${port} is not a port.\n${USAGE}`);
  if (settings === '') throw new AuditError(`--settings needs a file.\n${USAGE}`);
  return { day: date, port: Number(port), settingsFile: settings };
};

const OPTIONS = {
  date: { type: 'string' },
  port: { type: 'string', default: '7071' },
  settings: { type: 'string' },
} as const;

const parsed = (args: readonly string[]) => {
  try {
    return parseArgs({ args: [...args], options: OPTIONS }).values;
  } catch (error) {
    throw new AuditError(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`, { cause: error });
  }
};
