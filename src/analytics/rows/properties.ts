import { DecodeError, type Properties } from '../../storage/row.ts';

/**
 * The format of the analytics rows that this version writes and knows. Raise it with every change of what a row holds: a version that does
 * not know a row's format refuses the row.
 */
export const FORMAT = 4;

// The values in the properties of rows, and the split of values that are too large for one property. Reading throws a DecodeError if a property is
// anything else.

/** The bytes of a binary property; undefined: the row does not have it. */
export const readBytes = (name: string, properties: Properties): Uint8Array | undefined => {
  const bytes = properties[name];
  if (bytes === undefined || bytes instanceof Uint8Array) return bytes;
  throw new DecodeError(`${name} is not binary`);
};

// Lists of names: one per line, in texts of at most 32,000 UTF-16 units, as a string property holds 32K. No name has a control character.

const MAX_TEXT = 32_000;

const textName = (name: string, index: number): string => (index === 0 ? name : `${name}_${index}`);

/** The properties that may hold a list with this number of UTF-16 units: `cameras`, `cameras_1`, `cameras_2`, … */
export const namesProperties = (name: string, units: number, longest: number): readonly string[] =>
  Array.from({ length: Math.ceil(units / (MAX_TEXT - longest)) }, (_, index) => textName(name, index));

export const namesValues = (name: string, names: Iterable<string>): Record<string, string> => {
  const texts: string[] = [];
  for (const each of names) {
    const last = texts.at(-1);
    if (last !== undefined && last.length + 1 + each.length <= MAX_TEXT) texts[texts.length - 1] = `${last}\n${each}`;
    else texts.push(each);
  }
  return Object.fromEntries(texts.map((text, index) => [textName(name, index), text]));
};

export const readNames = (name: string, properties: Properties): readonly string[] => {
  const names: string[] = [];
  for (let index = 0; ; index += 1) {
    const text = properties[textName(name, index)];
    if (text === undefined) return names;
    if (typeof text !== 'string') throw new DecodeError(`${textName(name, index)} is not text`);
    names.push(...text.split('\n'));
  }
};
