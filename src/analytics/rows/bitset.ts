// A set of places in a list, in bits: place 0 is the lowest bit of the first byte.

/** The set with places added. */
export const withPlaces = (set: Uint8Array, places: Iterable<number>): Uint8Array => {
  const more = [...places];
  const result = new Uint8Array(more.reduce((most, place) => Math.max(most, (place >> 3) + 1), set.length));
  result.set(set);
  for (const place of more) result[place >> 3] = (result[place >> 3] ?? 0) | (1 << (place & 7));
  return result;
};

/** The places that are in one of two sets. */
export const unionOfPlaces = (left: Uint8Array, right: Uint8Array): Uint8Array => {
  const [longer, shorter] = left.length < right.length ? [right, left] : [left, right];
  const result = Uint8Array.from(longer);
  for (let at = 0; at < shorter.length; at += 1) result[at] = (result[at] ?? 0) | (shorter[at] ?? 0);
  return result;
};

/** The places in the set, ascending. */
export const placesIn = (set: Uint8Array): readonly number[] => {
  const places: number[] = [];
  for (let at = 0; at < set.length; at += 1) {
    const byte = set[at] ?? 0;
    for (let bit = 0; bit < 8; bit += 1) if ((byte & (1 << bit)) !== 0) places.push(at * 8 + bit);
  }
  return places;
};
