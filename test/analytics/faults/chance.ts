import type { Random } from '../../../infra/local/demo/random.ts';

/** One of several by their chances; undefined for what is left of 1. */
export const oneOf = <Item>(
  random: Random,
  items: readonly (readonly [chance: number, item: Item])[],
): Item | undefined => {
  let left = random();
  for (const [chance, item] of items) {
    if (left < chance) return item;
    left -= chance;
  }
  return undefined;
};

/** The items in another order. */
export const shuffled = <Item>(random: Random, items: readonly Item[]): readonly Item[] =>
  items
    .map((item) => ({ item, place: random() }))
    .sort((left, right) => left.place - right.place)
    .map(({ item }) => item);
