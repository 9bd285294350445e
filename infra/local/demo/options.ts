import { parseArgs } from 'node:util';

import { DemoError } from './service.ts';

/** What `npm run demo` was asked for. */
export interface DemoOptions {
  /** Of the running service, without `/api`. */
  readonly url: URL;
  /** The UTC day to fill, `YYYY-MM-DD`; today or before. */
  readonly date: string;
}

const USAGE = 'npm run demo -- [--url URL] [--date YYYY-MM-DD]   (http://localhost:7071 and yesterday by default)';

const DAY_MILLISECONDS = 86_400_000;

/**
 * The options of `npm run demo`. Without a date it is yesterday: a whole day.
 *
 * @param now in milliseconds since 1970
 * @throws {DemoError} that names what is wrong and says what there is
 */
export const readDemoOptions = (args: readonly string[], now: number): DemoOptions => {
  const { url, date = isoDay(now - DAY_MILLISECONDS) } = parsed(args);
  if (!URL.canParse(url) || !/^https?:/.test(url)) throw new DemoError(`${url} is not a URL.\n${USAGE}`);
  if (!isRealDay(date)) throw new DemoError(`${date} is not a date.\n${USAGE}`);
  if (date < '2000-01-01' || date > isoDay(now)) {
    throw new DemoError(`${date} is outside 2000-01-01 to today.\n${USAGE}`);
  }
  return { url: new URL(url), date };
};

const parsed = (args: readonly string[]): { readonly url: string; readonly date?: string | undefined } => {
  try {
    return parseArgs({
      args: [...args],
      options: { url: { type: 'string', default: 'http://localhost:7071' }, date: { type: 'string' } },
    }).values;
  } catch (error) {
    throw new DemoError(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`, { cause: error });
  }
};

const isoDay = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 10);

const isRealDay = (date: string): boolean => {
  const midnight = Date.parse(`${date}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(date) && !Number.isNaN(midnight) && isoDay(midnight) === date;
};
