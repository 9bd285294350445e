import { type Random, randomFrom } from '../../infra/cli/demo/random.ts';

/** Random choices that are the same in every run with the same seed. */
export class Chance {
  /** Numbers from 0 to 1, without 1. */
  readonly next: Random;

  constructor(seed: string) {
    this.next = randomFrom(seed);
  }

  /** Any number from `least` to `most`. */
  between(least: number, most: number): number {
    return least + this.next() * (most - least);
  }

  /** A whole number from `least` to `most`, both included. */
  wholeBetween(least: number, most: number): number {
    return Math.floor(this.between(least, most + 1));
  }

  /** True with this probability. */
  happens(probability: number): boolean {
    return this.next() < probability;
  }

  /** Any item; undefined if the list is empty. */
  anyOf<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.next() * items.length)];
  }

  /** Any item of a list that is not empty. */
  oneOf<Item>(items: readonly Item[]): Item {
    const item = this.anyOf(items);
    if (item === undefined) throw new Error('there is nothing to choose from');
    return item;
  }

  /** One item by its probability; undefined for the rest up to 1. */
  byProbability<const Item>(items: readonly (readonly [probability: number, item: Item])[]): Item | undefined {
    let left = this.next();
    for (const [probability, item] of items) {
      if (left < probability) return item;
      left -= probability;
    }
    return undefined;
  }

  /** The items in another order. */
  shuffled<Item>(items: readonly Item[]): Item[] {
    return items
      .map((item) => ({ item, rank: this.next() }))
      .sort((left, right) => left.rank - right.rank)
      .map(({ item }) => item);
  }
}
