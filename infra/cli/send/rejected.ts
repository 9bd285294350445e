import { existsSync } from 'node:fs';
import { appendFile, rename } from 'node:fs/promises';
import { format, parse } from 'node:path';

import { jsonIn } from '../json.ts';
import type { Outcome } from './deliver.ts';
import type { Item } from './items.ts';

/** Gives the rejected events of an earlier run another name. @returns that name; undefined if there is no such file */
export const setAsideRejected = async (path: string): Promise<string | undefined> => {
  if (!existsSync(path)) return undefined;
  const { dir, name, ext } = parse(path);
  for (let number = 1; ; number += 1) {
    const free = format({ dir, name: `${name}.${number}`, ext });
    if (existsSync(free)) continue;
    await rename(path, free);
    return free;
  }
};

/** Appends the rejected events, each with its reason and its place in the source. @returns how many */
export const appendRejected = async (
  path: string,
  source: string,
  items: readonly Item[],
  { refused }: Outcome,
): Promise<number> => {
  const lines = items.flatMap((item) => {
    const reason = item.fault ?? refused.get(item);
    return reason === undefined ? [] : [`${lineOf(source, item, reason)}\n`];
  });
  if (lines.length > 0) await appendFile(path, lines.join(''), { flush: true });
  return lines.length;
};

/** Has the event as it came, because numbers of a parsed event lose digits; as a text if it is not JSON. */
const lineOf = (file: string, { line, index, text }: Item, reason: string): string => {
  const where = JSON.stringify({ reason, file, line, index }).slice(0, -1);
  // JSON has line breaks only between its tokens, where a space means the same.
  const isJson = jsonIn(text) !== undefined;
  return `${where},${isJson ? `"event":${text.replaceAll(/[\r\n]/g, ' ')}` : `"text":${JSON.stringify(text)}`}}`;
};
