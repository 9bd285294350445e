import { DecodeError } from '../../storage/errors.ts';
import type { NewProperties, Properties } from '../../storage/row.ts';
import type { DayTally } from '../model/tally.ts';
import { twoDigits } from './keys.ts';
import { indexesOf } from './bitset.ts';
import { ByteReader, encoded, readTallyBytes, writeTally } from './tally-bytes.ts';

// The values in the properties of rows, and the split of values that are too large for one property. Reading throws a DecodeError if a property is
// anything else.

/** The name of a numbered property: `tally_07`. */
export const numberedName = (prefix: string, number: number): string => `${prefix}${twoDigits(number)}`;

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

// The tally of the day, which every row of a day or a camera has.

/** The maximum number of categories in a tally: the row of an hour stays below 1 MiB. */
export const MAX_TALLY_CATEGORIES = 750;

// Room for 250 more: for configured categories, and for categories whose counts the stripe only takes away.
const LONGEST_NAME = 64;
const [TALLY, CATEGORIES] = ['tally', 'categories'];

/** The properties of the tally of the day. */
export const TALLY_PROPERTIES: readonly string[] = [
  TALLY,
  ...namesProperties(CATEGORIES, (MAX_TALLY_CATEGORIES + 250) * (LONGEST_NAME + 1), LONGEST_NAME + 1),
];

/** The properties of a tally, to write. Its categories are only appended, so each keeps its index: they are written if there are new ones. */
export const tallyValues = (tally: DayTally, before: DayTally | undefined): NewProperties => ({
  [TALLY]: encoded((writer) => writeTally(writer, tally, indexesOf(tally.categories.keys()))),
  ...(before?.categories.size !== tally.categories.size && namesValues(CATEGORIES, tally.categories.keys())),
});

export const readTally = (properties: Properties): DayTally => {
  const bytes = readBytes(TALLY, properties);
  if (bytes === undefined) throw new DecodeError('the tally of the day is missing');
  const categories = readNames(CATEGORIES, properties);
  const tally = readTallyBytes(new ByteReader(bytes), categories);
  if (tally === undefined) throw new DecodeError('its tally has a category that its list lacks');
  return tally;
};
