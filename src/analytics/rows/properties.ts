import { DecodeError } from '../../storage/errors.ts';
import type { Properties } from '../../storage/row.ts';
import { twoDigits } from './keys.ts';

// How rows keep more than one property can hold. Reading throws a DecodeError where a property has the wrong type.

/** The name of a numbered property: `h07`. */
export const numberedName = (prefix: string, number: number): string => `${prefix}${twoDigits(number)}`;

/** Binary properties numbered with two digits (`s00`, `s01`, …), to write. Numbers without bytes are left out. */
export const numberedBytes = (
  prefix: string,
  numbers: Iterable<number>,
  bytesOf: (number: number) => Uint8Array | undefined,
): Record<string, Uint8Array> => {
  const properties: Record<string, Uint8Array> = {};
  for (const number of numbers) {
    const bytes = bytesOf(number);
    if (bytes !== undefined) properties[numberedName(prefix, number)] = bytes;
  }
  return properties;
};

/** Reads binary properties numbered from 0 to less than a count. */
export const readNumberedBytes = (
  prefix: string,
  count: number,
  properties: Properties,
): ReadonlyMap<number, Uint8Array> => {
  const found = new Map<number, Uint8Array>();
  for (let number = 0; number < count; number += 1) {
    const name = numberedName(prefix, number);
    const bytes = properties[name];
    if (bytes === undefined) continue;
    if (!(bytes instanceof Uint8Array)) throw new DecodeError(`${name} is not binary`);
    found.set(number, bytes);
  }
  return found;
};

/** The name of the property with text `index` of a list of texts: `cameras`, `cameras_1`, `cameras_2`, … */
export const textName = (name: string, index: number): string => (index === 0 ? name : `${name}_${index}`);

/** Reads a list of texts. */
export const readTexts = (name: string, properties: Properties): readonly string[] => {
  const texts: string[] = [];
  for (;;) {
    const text = properties[textName(name, texts.length)];
    if (text === undefined) return texts;
    if (typeof text !== 'string') throw new DecodeError(`${textName(name, texts.length)} is not text`);
    texts.push(text);
  }
};

/** Decodes the text of a JSON object. */
export const readObject = (value: unknown): Properties => {
  try {
    const parsed: unknown = typeof value === 'string' ? JSON.parse(value) : undefined;
    if (isObject(parsed)) return parsed;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new DecodeError('a property is not the text of a JSON object');
};

/** Whether a value is an object and not an array. */
export const isObject = (value: unknown): value is Properties =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
