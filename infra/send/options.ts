import { z } from 'zod';

import { MAX_EVENTS } from '../../src/http/event-batch.ts';
import { type Command, numberOption, textOption } from '../command-line.ts';

/** What stands for standard input on the command line. */
export const STDIN = '-';

/** The exit codes. */
export const EXIT = { recorded: 0, rejected: 1, usage: 2, stopped: 3, insisted: 130 } as const;

/** What `npm run send` was asked for. */
export interface SendOptions {
  /** Paths, or `-`; at least one. */
  readonly files: readonly string[];
  readonly url: string;
  /** Where the function key is; undefined: in the environment, if anywhere. */
  readonly keyFile: string | undefined;
  /** Where rejected events go; undefined: beside each file. */
  readonly rejected: string | undefined;
  /** True: the events are looked at and not sent. */
  readonly checks: boolean;
  /** How long one request may fail in a row. */
  readonly giveUpAfterMs: number;
  /** Most events in a request. */
  readonly batchSize: number;
  /** Most requests in flight. */
  readonly requests: number;
}

const MOST_REQUESTS = 32;
const MOST_GIVE_UP_SECONDS = 7 * 86_400;

/** The command line of `npm run send`. */
export const SEND: Command<SendOptions> = {
  help: `npm run send -- FILE… [options]
  Sends camera events to POST /api/events of the service. Sending anything again is safe: it changes nothing.

  FILE                    CloudEvents as NDJSON or as a JSON array; dead letters of Event Grid as they are; gzip as well;
                          - for standard input
  --url URL               the service; http://localhost:7071 by default
  --key-file FILE         holds the function key; without it the environment variable FUNCTION_KEY is used, if it is set
  --check                 sends nothing: says which events the service would refuse
  --rejected FILE         where events go that the service refuses; FILE.rejected.ndjson by default
  --give-up-after SECONDS how long a request may fail before the sending stops; 600 by default
  --batch N               most events in a request, 1 to ${MAX_EVENTS}; 1000 by default
  --requests N            most requests in flight, 1 to ${MOST_REQUESTS}; 4 by default
  --help                  prints this

Ctrl-C finishes what is in flight and stops; the same command goes on from there. A second Ctrl-C stops at once.
Exit code 0: everything is recorded. 1: events were rejected. 2: the command cannot be carried out as it is written. 3: it was
stopped, or the service could not be reached, before the end. 130: a second Ctrl-C.`,
  options: {
    url: { type: 'string', default: 'http://localhost:7071' },
    'key-file': { type: 'string' },
    check: { type: 'boolean', default: false },
    rejected: { type: 'string' },
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
      check: z.boolean(),
      rejected: textOption('--rejected needs a file of its own.'),
      'give-up-after': numberOption('give-up-after', 1, MOST_GIVE_UP_SECONDS),
      batch: numberOption('batch', 1, MAX_EVENTS),
      requests: numberOption('requests', 1, MOST_REQUESTS),
    })
    .superRefine(({ positionals: files, rejected }, context) => {
      if (rejected === undefined) return;
      if (files.length > 1) context.addIssue('--rejected is for one FILE only.');
      if (files.includes(rejected)) context.addIssue('--rejected needs a file of its own.');
    })
    .transform((values) => ({
      files: values.positionals,
      url: values.url,
      keyFile: values['key-file'],
      rejected: values.rejected,
      checks: values.check,
      giveUpAfterMs: values['give-up-after'] * 1_000,
      batchSize: values.batch,
      requests: values.requests,
    })),
};

/** Where rejected events of an input go. */
export const rejectedPath = (name: string, { rejected }: Pick<SendOptions, 'rejected'>): string =>
  rejected ?? `${name === STDIN ? 'stdin' : name}.rejected.ndjson`;
