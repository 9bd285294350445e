import { z } from 'zod';

import { type Command, textOption } from '../command-line.ts';
import { STDIN } from './input.ts';
import { MAX_REQUEST_EVENTS } from './limits.ts';

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

const MOST_REQUESTS = 32;
const MOST_GIVE_UP_SECONDS = 7 * 86_400;

const wholeNumber = (name: string, most: number) =>
  z
    .string()
    .refine((text) => /^\d{1,9}$/.test(text) && Number(text) >= 1 && Number(text) <= most, {
      error: `--${name} must be a whole number from 1 to ${most}.`,
    })
    .transform(Number);

const ownFile = (name: string) => textOption(`--${name} needs a file of its own.`);

/** The command line of `npm run send`. */
export const SEND: Command<SendOptions> = {
  help: `npm run send -- FILE… [options]
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
  --requests N            most requests in flight, 1 to ${MOST_REQUESTS}; 4 by default
  --help                  prints this

Ctrl-C finishes what is in flight and stops; the same command goes on from there. A second Ctrl-C stops at once.
Exit code 0: everything is recorded. 1: events were rejected. 2: the command cannot be carried out as it is written. 3: it was
stopped, or the service could not be reached, before the end. 130: a second Ctrl-C.`,
  options: {
    url: { type: 'string', default: 'http://localhost:7071' },
    'key-file': { type: 'string' },
    rejected: { type: 'string' },
    state: { type: 'string' },
    'from-start': { type: 'boolean', default: false },
    'give-up-after': { type: 'string', default: '600' },
    batch: { type: 'string', default: '1000' },
    requests: { type: 'string', default: '4' },
  },
  takesPositionals: true,
  values: z
    .object({
      positionals: z
        .array(z.string())
        .min(1, 'FILE is missing.')
        .refine((files) => new Set(files).size === files.length, 'A FILE is named twice.'),
      url: z.string(),
      'key-file': z.string().optional(),
      rejected: ownFile('rejected'),
      state: ownFile('state'),
      'from-start': z.boolean(),
      'give-up-after': wholeNumber('give-up-after', MOST_GIVE_UP_SECONDS),
      batch: wholeNumber('batch', MAX_REQUEST_EVENTS),
      requests: wholeNumber('requests', MOST_REQUESTS),
    })
    .superRefine(({ positionals: files, rejected, state }, context) => {
      for (const [name, path] of Object.entries({ rejected, state })) {
        if (path === undefined) continue;
        if (files.length > 1) context.addIssue(`--${name} is for one FILE only.`);
        if (files.includes(path)) context.addIssue(`--${name} needs a file of its own.`);
      }
      if (state !== undefined && state === rejected) context.addIssue('--state needs a file of its own.');
    })
    .transform((values) => ({
      files: values.positionals,
      url: values.url,
      keyFile: values['key-file'],
      rejected: values.rejected,
      state: values.state,
      isFromStart: values['from-start'],
      giveUpAfterMs: values['give-up-after'] * 1_000,
      batchSize: values.batch,
      requests: values.requests,
    })),
};

/** Where rejected events of an input go. */
export const rejectedPath = (name: string, { rejected }: SendOptions): string =>
  rejected ?? `${name === STDIN ? 'stdin' : name}.rejected.ndjson`;

/** Where the progress of an input is kept; undefined: nowhere, because standard input cannot be read again. */
export const statePath = (name: string, { state }: SendOptions): string | undefined =>
  state ?? (name === STDIN ? undefined : `${name}.progress.json`);
