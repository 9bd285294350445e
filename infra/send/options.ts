import { parseArgs } from 'node:util';

import { STDIN } from './input.ts';
import { MAX_REQUEST_EVENTS } from './limits.ts';
import { UsageError } from './send-error.ts';

/** What `npm run send` was asked for. */
export interface SendOptions {
  /** Paths, or `-`; at least one. */
  readonly files: readonly string[];
  readonly url: string;
  /** Where the function key is; undefined: in the environment, if anywhere. */
  readonly keyFile: string | undefined;
  /** Where rejected events go; undefined: beside each file. */
  readonly rejected: string | undefined;
  /** Where progress is kept; undefined: beside each file. */
  readonly state: string | undefined;
  readonly isFromStart: boolean;
  /** How long one request may fail in a row. */
  readonly giveUpAfterMs: number;
  /** Most events in a request. */
  readonly batchSize: number;
  /** Most requests in flight. */
  readonly requests: number;
}

/** How to use it, for a person. */
export const USAGE = `npm run send -- FILE… [options]
Sends camera events to POST /api/events of the service. Sending anything again is safe: it changes nothing.

  FILE                    NDJSON, JSON arrays or single objects of CloudEvents; dead letters of Event Grid as they are;
                          gzip as well; - for standard input
  --url URL               the service; http://localhost:7071 by default
  --key-file FILE         holds the function key; without it the environment variable FUNCTION_KEY is used, where it is set
  --rejected FILE         where events go that the service refuses; FILE.rejected.ndjson by default
  --state FILE            where it is kept how far the sending has come; FILE.progress.json by default
  --from-start            sends everything again, whatever an earlier run has done
  --give-up-after SECONDS how long a request may fail before the sending stops; 600 by default
  --batch N               most events in a request, 1 to ${MAX_REQUEST_EVENTS}; 1000 by default
  --requests N            most requests in flight, 1 to 32; 4 by default
  --help                  prints this

Ctrl-C finishes what is in flight and stops; the same command goes on from there. A second Ctrl-C stops at once.
Ends with 0 where everything is recorded, 1 where events were rejected, 2 where the command cannot be carried out as
it is written, 3 where it was stopped, or the service could not be reached, before the end.`;

const OPTIONS = {
  url: { type: 'string', default: 'http://localhost:7071' },
  'key-file': { type: 'string' },
  rejected: { type: 'string' },
  state: { type: 'string' },
  'from-start': { type: 'boolean', default: false },
  'give-up-after': { type: 'string', default: '600' },
  batch: { type: 'string', default: '1000' },
  requests: { type: 'string', default: '4' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const MOST_REQUESTS = 32;
const MOST_GIVE_UP_SECONDS = 7 * 86_400;

/**
 * The options of `npm run send`.
 *
 * @param args what follows `--` on the command line
 * @returns `'help'` where that is asked for
 * @throws {UsageError} that names what is wrong
 */
export const readSendOptions = (args: readonly string[]): SendOptions | 'help' => {
  const { values, positionals } = parsed(args);
  if (values.help) return 'help';
  if (positionals.length === 0) throw wrong('FILE is missing.');
  if (new Set(positionals).size < positionals.length) throw wrong('A FILE is named twice.');
  for (const name of ['rejected', 'state'] as const) {
    const value = values[name];
    if (value === undefined) continue;
    if (positionals.length > 1) throw wrong(`--${name} is for one FILE only.`);
    if (value === '' || positionals.includes(value)) throw wrong(`--${name} needs a file of its own.`);
  }
  if (values.state !== undefined && values.state === values.rejected) throw wrong('--state needs a file of its own.');
  return {
    files: positionals,
    url: values.url,
    keyFile: values['key-file'],
    rejected: values.rejected,
    state: values.state,
    isFromStart: values['from-start'],
    giveUpAfterMs: wholeNumber('give-up-after', values['give-up-after'], MOST_GIVE_UP_SECONDS) * 1_000,
    batchSize: wholeNumber('batch', values.batch, MAX_REQUEST_EVENTS),
    requests: wholeNumber('requests', values.requests, MOST_REQUESTS),
  };
};

/** Where rejected events of an input go. */
export const rejectedPath = (name: string, { rejected }: SendOptions): string =>
  rejected ?? `${name === STDIN ? 'stdin' : name}.rejected.ndjson`;

/** Where the progress of an input is kept; undefined: nowhere, because standard input cannot be read again. */
export const statePath = (name: string, { state }: SendOptions): string | undefined =>
  state ?? (name === STDIN ? undefined : `${name}.progress.json`);

const wrong = (what: string): UsageError => new UsageError(`${what}\n\n${USAGE}`);

const wholeNumber = (name: string, text: string, most: number): number => {
  const value = Number(text);
  if (/^\d{1,9}$/.test(text) && value >= 1 && value <= most) return value;
  throw wrong(`--${name} must be a whole number from 1 to ${most}.`);
};

const parsed = (args: readonly string[]) => {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw wrong(error instanceof Error ? error.message : String(error));
  }
};
