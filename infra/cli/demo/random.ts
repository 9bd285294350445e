/** Numbers that look random and are the same in every run with the same seed: 0 ≤ x < 1. */
export type Random = () => number;

/** The mulberry32 generator; its seed is a hash (FNV-1a) of the text. */
export const randomFrom = (seed: string): Random => {
  let state = 0x811c9dc5;
  for (const character of seed) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** An integer from `least` to `most`, both included. */
export const integerBetween = (random: Random, least: number, most: number): number =>
  least + Math.floor(random() * (most - least + 1));
