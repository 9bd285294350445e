import { readFile } from 'node:fs/promises';

import { z } from 'zod';

import { isDay } from '../../../src/analytics/model/day.ts';
import { MAX_EVENTS } from '../../../src/http/event-batch.ts';
import { isHttpsOrLoopback } from '../../../src/settings/rules.ts';
import { CommandError, dayOption, flagOption, numberOption, textOption, urlOption } from '../command-line.ts';

export const STDIN = '-';

export const EXIT = { recorded: 0, rejected: 1, usage: 2, stopped: 3, insisted: 130 } as const;

/** Sending had to stop before the end of the input. */
export const stoppedError = (reason: string, cause?: unknown): CommandError =>
  new CommandError(reason, { exitCode: EXIT.stopped, cause });

const MOST_REQUESTS = 32;
const MOST_GIVE_UP_SECONDS = 7 * 86_400;

/** An item of a source, as progress names it. */
export interface Position {
  readonly name: string;
  /** From 1. */
  readonly item: number;
}

/** @example positionIn('history.ndjson:501') // { name: 'history.ndjson', item: 501 } */
export const positionIn = (text: string | undefined): Position | undefined => {
  const [, name, item] = /^(.+):([1-9]\d{0,14})$/.exec(text ?? '') ?? [];
  return name === undefined ? undefined : { name, item: Number(item) };
};

const values = z
  .object({
    positionals: z.array(z.string()).refine((files) => new Set(files).size === files.length, 'A FILE is named twice.'),
    url: urlOption,
    'key-file': z.string().optional(),
    from: z.string().optional(),
    to: dayOption.optional(),
    backup: flagOption,
    check: flagOption,
    settings: textOption('--settings needs a file.'),
    'give-up-after': numberOption('give-up-after', 1, MOST_GIVE_UP_SECONDS).prefault('600'),
    batch: numberOption('batch', 1, MAX_EVENTS).prefault('1000'),
    requests: numberOption('requests', 1, MOST_REQUESTS).prefault('4'),
  })
  .superRefine(({ positionals: files, backup, from, to }, context) => {
    if (backup && files.length > 0) context.addIssue('--backup takes days, and no FILE.');
    if (!backup && files.length === 0) context.addIssue('FILE is missing.');
    if (!backup && to !== undefined) context.addIssue('--to goes with --backup.');
    if (from === undefined || positionIn(from) !== undefined) return;
    if (!backup) context.addIssue('--from needs FILE:ITEM, as progress prints it.');
    else if (!isDay(from)) context.addIssue('--from needs a day, YYYY-MM-DD, or BACKUP:ITEM as progress prints it.');
    else if (to !== undefined && to < from) context.addIssue('--to is before --from.');
  });

export type SendOptions = z.infer<typeof values>;

export const SEND = {
  help: `npm run send -- FILE… [options]
npm run send -- --backup [--from YYYY-MM-DD] [--to YYYY-MM-DD] [options]
  Sends camera events to POST /api/events of the service. Sending events again is safe: it changes nothing. Events that the service
  refuses go into FILE.rejected.ndjson.

  FILE                    CloudEvents as NDJSON or as a JSON array; unmodified Event Grid dead letters; each may be gzipped;
                          a folder of such files, with the folders below it; - for standard input
  --from FILE:ITEM        resumes at this item, the last one that progress printed
  --backup                sends the backups in the container that BACKUP_CONTAINER_URL names, and compares the counts
  --from, --to            with --backup: the first and the last day; all by default
  --url URL               the service; http://localhost:7071 by default
  --key-file FILE         holds the function key; the environment variable FUNCTION_KEY by default
  --check                 sends nothing: names the events that the service would refuse
  --settings FILE         with --backup: a settings file; local.settings.json by default, if it exists
  --give-up-after SECONDS the command stops after requests have failed for this time; 600 by default
  --batch N               most events in a request, 1 to ${MAX_EVENTS}; 1000 by default
  --requests N            most requests in flight, 1 to ${MOST_REQUESTS}; 4 by default
  --help                  prints this

Ctrl-C finishes the requests in flight, stops, and prints how to resume. A second Ctrl-C stops at once.
Exit code 0: all events are recorded. 1: events were rejected, a file is damaged, or a count is too low.
2: an option, a file or a setting is wrong. 3: the command was stopped, or lost the service, before the end. 130: a second Ctrl-C.`,
  values,
} as const;

export interface Target {
  /** The address of the service, without a slash at its end and without `/api`. */
  readonly url: string;
  readonly key: string | undefined;
}

/** Characters that a header can hold. Azure's own keys are letters, digits and a few signs. */
const KEY_FORM = /^[\u0021-\u007e]+$/;

/**
 * Where to send, and with which key. The key comes from a file or from FUNCTION_KEY, not from the command line, which every process of the machine
 * can read. It is never printed, and never sent in the clear to another machine.
 *
 * @param url of the service; its path may end in `/api/events`
 * @throws {CommandError} that names the fault, and no key
 */
export const readTarget = async (
  { hostname, origin, href, pathname, search, hash, username, password }: URL,
  keyFile: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Target> => {
  if (`${search}${hash}${username}${password}` !== '') {
    throw new CommandError('--url must have no query and no user name: a key goes into --key-file or FUNCTION_KEY.');
  }
  const key = keyFile === undefined ? environment['FUNCTION_KEY'] : await keyIn(keyFile);
  if (key !== undefined && !KEY_FORM.test(key)) {
    throw new CommandError(`${keyFile ?? 'FUNCTION_KEY'} does not hold a function key: one word and nothing else.`);
  }
  if (key !== undefined && !isHttpsOrLoopback(href)) {
    throw new CommandError(`--url must be https: a function key is not sent in the clear to ${hostname}.`);
  }
  return { url: `${origin}${pathname.replace(/\/+$/, '').replace(/\/api(\/events)?$/, '')}`, key };
};

const keyIn = async (path: string): Promise<string> => {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CommandError(`The key file ${path} cannot be read.`, { cause: error });
  });
  // `trim` removes a byte order mark as well.
  return text.trim();
};
