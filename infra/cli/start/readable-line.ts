import { styleText } from 'node:util';

import { z } from 'zod';

import { jsonIn } from '../json.ts';

const lineSchema = z.looseObject({ event: z.string() });

/** Fields that name the request of a line. They do not help a reader of the terminal. */
const IDS: ReadonlySet<string> = new Set(['invocation_id', 'trace_id']);

export const PHONE_MARK = '[phone]';

/** The library warns of lines that background work logs after the end of its request. These lines are right, and the operator cannot avoid them. */
const OF_THE_LIBRARY = /^Warning: Unexpected call to 'log' on the context object/;

/**
 * A line of `npm start` for a person: the time, and the app's JSON as words. The words of the simulated phone stand out.
 *
 * @param isWrong whether the app logged it as a warning or an error
 * @returns undefined for a line without information
 */
export const readableLine = (line: string, isWrong: boolean, now: Date): string | undefined => {
  if (OF_THE_LIBRARY.test(line)) return undefined;
  const time = styleText('dim', now.toTimeString().slice(0, 8));
  if (line.startsWith(PHONE_MARK)) return `${time} ${styleText(['bold', 'cyan'], `☎ ${line}`)}`;
  const { data } = lineSchema.safeParse(jsonIn(line));
  const text = data === undefined ? line : wordsOf(data);
  return `${time} ${isWrong ? styleText('yellow', `! ${text}`) : `  ${text}`}`;
};

/** A line of `npm start` for a program: the app's JSON, and an object for every other line. @returns undefined as above */
export const jsonLine = (line: string): string | undefined => {
  if (OF_THE_LIBRARY.test(line)) return undefined;
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
