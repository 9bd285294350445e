import { styleText } from 'node:util';

import { z } from 'zod';

import { jsonIn } from '../json.ts';

const lineSchema = z.looseObject({ event: z.string() });

/** Fields that name the request of a line. They do not help a reader of the terminal. */
const IDS: ReadonlySet<string> = new Set(['invocation_id', 'trace_id']);

export const PHONE_MARK = '[phone]';

/**
 * A line of `npm start` for a person: the time, and the app's JSON as words. The words of the simulated phone stand out.
 *
 * @param isWrong whether the app logged it as a warning or an error
 */
export const readableLine = (line: string, isWrong: boolean, now: Date): string => {
  const time = styleText('dim', now.toTimeString().slice(0, 8));
  if (line.startsWith(PHONE_MARK)) return `${time} ${styleText(['bold', 'cyan'], `☎ ${line}`)}`;
  const { data } = lineSchema.safeParse(jsonIn(line));
  const text = data === undefined ? line : wordsOf(data);
  return `${time} ${isWrong ? styleText('yellow', `! ${text}`) : `  ${text}`}`;
};

/** A line of `npm start` for a program: the app's JSON, and an object for every other line. */
export const jsonLine = (line: string): string => {
  if (!line.startsWith(PHONE_MARK))
    return lineSchema.safeParse(jsonIn(line)).success ? line : JSON.stringify({ event: line });
  return JSON.stringify({ event: 'phone', text: line.slice(PHONE_MARK.length).trim() });
};

const wordsOf = ({ event, ...fields }: z.infer<typeof lineSchema>): string => {
  const shown = Object.entries(fields).filter(([name]) => !IDS.has(name));
  const words = shown.map(
    ([name, value]) => `${name.replaceAll('_', ' ')} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return words.length === 0 ? event : `${event}: ${words.join(', ')}`;
};
