// A bitset is a set of indexes in a list: index 0 is the lowest bit of the first byte.

/** The maximum number of cameras of one stripe and day: the bitsets of an hour's row stay below its 1 MiB. */
export const MAX_CAMERAS_PER_STRIPE = 32_000;

const setBit = (set: Uint8Array, index: number): void => {
  set[index >> 3] = (set[index >> 3] ?? 0) | (1 << (index & 7));
};

export const hasIndex = (set: Uint8Array, index: number): boolean =>
  ((set[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;

export const withIndexes = (set: Uint8Array, indexes: Iterable<number>): Uint8Array => {
  const added = [...indexes];
  const result = new Uint8Array(added.reduce((length, index) => Math.max(length, (index >> 3) + 1), set.length));
  result.set(set);
  for (const index of added) setBit(result, index);
  return result;
};

export const unionOf = (left: Uint8Array, right: Uint8Array): Uint8Array => {
  const [longer, shorter] = left.length < right.length ? [right, left] : [left, right];
  const result = Uint8Array.from(longer);
  for (const [byte, bits] of shorter.entries()) result[byte] = (result[byte] ?? 0) | bits;
  return result;
};

/** The indexes in a bitset, ascending. */
export const indexesIn = (set: Uint8Array): readonly number[] => {
  const indexes: number[] = [];
  for (let byte = 0; byte < set.length; byte += 1) {
    const bits = set[byte] ?? 0;
    for (let bit = 0; bit < 8; bit += 1) if ((bits & (1 << bit)) !== 0) indexes.push(byte * 8 + bit);
  }
  return indexes;
};

export const indexesOf = (list: Iterable<string>): ReadonlyMap<string, number> =>
  new Map(Array.from(list, (item, index) => [item, index]));
