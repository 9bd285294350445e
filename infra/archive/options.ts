import { z } from 'zod';

import { type Day, isDay } from '../../src/analytics/model/day.ts';
import { type Command, portOption, textOption } from '../command-line.ts';

const dayOption = z.string().refine(isDay, {
  error: ({ input }) => `${String(input)} is not a day that exists, written YYYY-MM-DD.`,
});

const storage = {
  port: portOption.default(7071),
  settings: textOption('--settings needs a file.'),
};

const STORAGE_OPTIONS = {
  port: { type: 'string' },
  settings: { type: 'string' },
} as const;

const STORAGE_HELP = `  --port N           the local run whose storage is meant where no settings name a storage; 7071 by default
  --settings FILE    a settings file; local.settings.json by default, where it exists
  --help             prints this`;

const MOST_DAYS = 3_660;
const DAY_MS = 86_400_000;

/** The options of `npm run export`. */
export interface ExportOptions {
  /** The first and the last UTC day. */
  readonly date: Day;
  readonly to?: Day | undefined;
  readonly out: string;
  /** How long to wait for a pause in the writes to a partition, in minutes. */
  readonly patience: number;
  readonly port: number;
  readonly settings?: string | undefined;
}

export const EXPORT: Command<ExportOptions> = {
  help: `npm run export -- --date YYYY-MM-DD [--to YYYY-MM-DD] --out DIR [--patience MINUTES] [--port N] [--settings FILE]
  --date YYYY-MM-DD  the UTC day whose rows are exported
  --to YYYY-MM-DD    the last day, where more than one is
  --out DIR          the directory; each day gets a directory of its own in it
  --patience MINUTES how long to wait for a pause in the writes to a partition; 10 by default
${STORAGE_HELP}

Reads only. The same command goes on where it was stopped. Exit code 0: every day is exported. 1: a day is written to without a
pause. 2: something failed.`,
  options: {
    ...STORAGE_OPTIONS,
    date: { type: 'string' },
    to: { type: 'string' },
    out: { type: 'string' },
    patience: { type: 'string' },
  },
  values: z
    .object({
      ...storage,
      date: z.string('--date is missing.').pipe(dayOption),
      to: dayOption.optional(),
      out: z.string('--out is missing.').min(1, '--out needs a directory.'),
      patience: z
        .string()
        .default('10')
        .refine((text) => /^\d{1,4}(\.\d+)?$/.test(text), '--patience needs a number of minutes.')
        .transform(Number),
    })
    .refine(({ date, to = date }) => date <= to, '--to is before --date.')
    .refine(
      ({ date, to = date }) => Date.parse(to) - Date.parse(date) < MOST_DAYS * DAY_MS,
      `At most ${MOST_DAYS} days.`,
    ),
};

/** The days from the first to the last, both included. */
export const daysFrom = (first: Day, last: Day): readonly Day[] =>
  Array.from({ length: (Date.parse(last) - Date.parse(first)) / DAY_MS + 1 }, (_, index) =>
    new Date(Date.parse(first) + index * DAY_MS).toISOString().slice(0, 10),
  ).filter(isDay);

/** The options of `npm run import`. */
export interface ImportOptions {
  readonly in: string;
  readonly port: number;
  readonly settings?: string | undefined;
}

export const IMPORT: Command<ImportOptions> = {
  help: `npm run import -- --in DIR [--port N] [--settings FILE]
  --in DIR           the directory that npm run export has written, with its days
${STORAGE_HELP}

Writes the rows that are missing and never over a row. The same command goes on where it was stopped. Exit code 0: every day is there,
row by row. 1: the storage has other rows of a day, or a file is damaged; of that day nothing was written. 2: something failed.`,
  options: { ...STORAGE_OPTIONS, in: { type: 'string' } },
  values: z.object({ ...storage, in: z.string('--in is missing.').min(1, '--in needs a directory.') }),
};
