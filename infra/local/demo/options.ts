import { z } from 'zod';

import type { Command } from '../../command-line.ts';

/** What `npm run demo` was asked for. */
export interface DemoOptions {
  /** Of the running service, without `/api`. */
  readonly url: URL;
  /** The UTC day to fill, `YYYY-MM-DD`; today or before. */
  readonly date: string;
}

const DAY_MILLISECONDS = 86_400_000;

/**
 * The command `npm run demo`. Without a date it fills yesterday, which is a whole day.
 *
 * @param now in milliseconds since 1970
 */
export const demoCommand = (now: number): Command<DemoOptions> => ({
  help: `npm run demo -- [--url URL] [--date YYYY-MM-DD]
  Sends a day of 20 cameras to a running service, phones people in waves, and prints what the service makes of both.
  --url URL          the service, without /api; http://localhost:7071 by default
  --date YYYY-MM-DD  the UTC day to fill, 2000-01-01 to today; yesterday by default`,
  options: {
    url: { type: 'string', default: 'http://localhost:7071' },
    date: { type: 'string', default: isoDay(now - DAY_MILLISECONDS) },
  },
  values: z.object({
    url: z
      .url({ protocol: /^https?$/, error: ({ input }) => `${String(input)} is not a URL.` })
      .transform((text) => new URL(text)),
    date: z.iso
      .date({ error: ({ input }) => `${String(input)} is not a date.`, abort: true })
      .refine((date) => date >= '2000-01-01' && date <= isoDay(now), {
        error: ({ input }) => `${String(input)} is outside 2000-01-01 to today.`,
      }),
  }),
});

const isoDay = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 10);
