import { setImmediate } from 'node:timers/promises';

/**
 * Maps a long list a part at a time: between two parts the process does what else is waiting. Events must not wait for a large answer.
 *
 * @param size of a part
 */
export const mapInTurns = async <Item, Result>(
  items: readonly Item[],
  size: number,
  map: (item: Item) => Result,
): Promise<readonly Result[]> => {
  const results: Result[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % size === 0) await setImmediate();
    results.push(map(item));
  }
  return results;
};
