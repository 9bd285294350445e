import { readFile } from 'node:fs/promises';

import { z } from 'zod';

import { MAX_EVENTS } from '../../../src/http/event-batch.ts';
import { isHttpsOrLoopback } from '../../../src/settings/rules.ts';
import { type Command, CommandError, dayOption, numberOption, textOption } from '../command-line.ts';

/** What stands for standard input on the command line. */
export const STDIN = '-';

/** The exit codes. */
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
    url: z.string(),
    'key-file': z.string().optional(),
    from: z.string().optional(),
    to: dayOption.optional(),
    backup: z.boolean(),
    check: z.boolean(),
    settings: textOption('--settings needs a file.'),
    'give-up-after': numberOption('give-up-after', 1, MOST_GIVE_UP_SECONDS),
    batch: numberOption('batch', 1, MAX_EVENTS),
    requests: numberOption('requests', 1, MOST_REQUESTS),
  })
  .superRefine(({ positionals: files, backup, from, to }, context) => {
    if (backup && files.length > 0) context.addIssue('--backup takes days, and no FILE.');
    if (!backup && files.length === 0) context.addIssue('FILE is missing.');
    if (!backup && to !== undefined) context.addIssue('--to goes with --backup.');
    const position = positionIn(from);
    if (from !== undefined && position === undefined) {
      const day = dayOption.safeParse(from);
      if (!backup) context.addIssue('--from needs FILE:ITEM, as progress prints it.');
      else if (!day.success) context.addIssue('--from needs a day, YYYY-MM-DD, or BACKUP:ITEM as progress prints it.');
      else if (to !== undefined && to < from) context.addIssue('--to is before --from.');
    }
    if (position !== undefined && !backup && !files.includes(position.name)) {
      context.addIssue(`--from names ${position.name}, which is none of the files.`);
    }
  });

/** What `npm run send` was asked for; its help says what each option means. */
export type SendOptions = z.infer<typeof values>;

/** The command line of `npm run send`. */
export const SEND: Command<SendOptions> = {
  help: `npm run send -- FILE… [options]
npm run send -- --backup [--from YYYY-MM-DD] [--to YYYY-MM-DD] [options]
  Sends camera events to POST /api/events of the service. Sending anything again is safe: it changes nothing. Events that the service
  refuses go into FILE.rejected.ndjson.

  FILE                    CloudEvents as NDJSON or as a JSON array; dead letters of Event Grid as they are; gzip as well;
                          - for standard input
  --from FILE:ITEM        resumes at this item, the last one that progress printed
  --backup                sends the backups in the container that BACKUP_CONTAINER_URL names, and compares the counts
  --from, --to            with --backup: the first and the last day; all by default
  --url URL               the service; http://localhost:7071 by default
  --key-file FILE         holds the function key; without it the environment variable FUNCTION_KEY is used, if it is set
  --check                 sends nothing: says which events the service would refuse
  --settings FILE         with --backup: a settings file; local.settings.json by default, if it exists
  --give-up-after SECONDS how long a request may fail before the sending stops; 600 by default
  --batch N               most events in a request, 1 to ${MAX_EVENTS}; 1000 by default
  --requests N            most requests in flight, 1 to ${MOST_REQUESTS}; 4 by default
  --help                  prints this

Ctrl-C finishes the requests in flight, stops, and prints how to resume. A second Ctrl-C stops at once.
Exit code 0: everything is recorded. 1: events were rejected, or a count is too low. 2: the command cannot be carried out as it
is written. 3: it was stopped, or the service could not be reached, before the end. 130: a second Ctrl-C.`,
  options: {
    url: { type: 'string', default: 'http://localhost:7071' },
    'key-file': { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string' },
    backup: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    settings: { type: 'string' },
    'give-up-after': { type: 'string', default: '600' },
    batch: { type: 'string', default: '1000' },
    requests: { type: 'string', default: '4' },
  },
  takesPositionals: true,
  values,
};

/** Where to send, and with which key. */
export interface Target {
  /** Of the service, without a slash at its end and without `/api`. */
  readonly url: string;
  readonly key: string | undefined;
}

/** What fits in a header: Azure's own keys are letters, digits and a few signs. */
const KEY_FORM = /^[\u0021-\u007e]+$/;

/**
 * Where to send, and with which key. The key comes from a file or from FUNCTION_KEY and never from the command line, which every
 * process of the machine can read; it is never printed, and never sent in the clear to another machine.
 *
 * @param url of the service; one that ends in `/api/events` is taken as well
 * @throws {CommandError} that names what is wrong, and no key
 */
export const readTarget = async (
  url: string,
  keyFile: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Target> => {
  if (!URL.canParse(url)) throw new CommandError('--url is not a URL.');
  const { protocol, hostname, origin, pathname, search, hash, username, password } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new CommandError('--url must begin with https:// or http://.');
  }
  if (search !== '' || hash !== '' || username !== '' || password !== '') {
    throw new CommandError('--url must have no query and no user name: a key goes into --key-file or FUNCTION_KEY.');
  }
  const key = keyFile === undefined ? environment['FUNCTION_KEY'] : await keyIn(keyFile);
  if (key !== undefined && !KEY_FORM.test(key)) {
    throw new CommandError(`${keyFile ?? 'FUNCTION_KEY'} does not hold a function key: one word and nothing else.`);
  }
  if (key !== undefined && !isHttpsOrLoopback(url)) {
    throw new CommandError(`--url must be https: a function key is not sent in the clear to ${hostname}.`);
  }
  return { url: `${origin}${pathname.replace(/\/+$/, '').replace(/\/api(\/events)?$/, '')}`, key };
};

const keyIn = async (path: string): Promise<string> => {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CommandError(`The key file ${path} cannot be read.`, { cause: error });
  });
  // Without the byte order mark, which `trim` takes for a blank.
  return text.trim();
};
