import { expect, it } from 'vitest';

import { Chance } from '../chance.ts';

// A model of the stripes of one shard: writers and readers, interleaved at each storage request. It is a model, not the code: small enough
// to read, to change and to break. Rows and protocol: `src/analytics/README.md`.

/** The rules of the protocol. A broken model leaves one out. */
const RULES = ['the row of the day is read last', 'a new stripe writes the number of stripes'] as const;
type Rule = (typeof RULES)[number];

/** A counter in one stripe. Rows are never changed, only replaced: the object is its own ETag. */
interface Row {
  readonly count: number;
  /** Only in the first stripe of the day: how many stripes there are. */
  readonly stripes?: number;
}
/** A process gives way to the others before each request. */
type Steps<Result = void> = Generator<undefined, Result, undefined>;

const CAMERAS = [0, 1];
/** What an event of each writer counts: a sum tells whose events are in it. */
const SUMMANDS = [1, 1_000, 1_000_000];
const MOST_STRIPES = 3;
const inStripe = (key: string, stripe: number): string => (stripe === 0 ? key : `${key} ${stripe}`);

class StripesModel {
  readonly #chance: Chance;
  readonly #leftOut: Rule | undefined;
  readonly #rows = new Map<string, Row>();
  /** What the committed events of each camera count, after each commit. */
  readonly #truth: (readonly number[])[] = [[0, 0]];
  broken: string | undefined;

  /** Plays one schedule. */
  constructor(seed: number, leftOut?: Rule) {
    this.#chance = new Chance(`stripes, ${seed}`);
    this.#leftOut = leftOut;
    const processes = new Set([...SUMMANDS.map((one) => this.#writer(one)), this.#reader(), this.#reader()]);
    while (processes.size > 0) {
      const process = this.#chance.oneOf([...processes]);
      if (process.next().done === true) processes.delete(process);
    }
  }

  *#get(key: string): Steps<Row | undefined> {
    yield;
    return this.#rows.get(key);
  }

  /** A counter in all stripes. */
  *#page(key: string): Steps<readonly Row[]> {
    yield;
    return [...this.#rows].filter(([rowKey]) => rowKey.startsWith(key)).map(([, row]) => row);
  }

  /** Counts five events. After a conflict it continues in another stripe, which may be new. */
  *#writer(summand: number): Steps {
    let stripe = 0;
    for (let left = 5; left > 0;) {
      const camera = this.#chance.oneOf(CAMERAS);
      const [dayKey, cameraKey] = [inStripe('day', stripe), inStripe(`camera|${camera}`, stripe)];
      const day = yield* this.#get(dayKey);
      const counter = yield* this.#get(cameraKey);
      yield;
      if (this.#rows.get(dayKey) === day && this.#rows.get(cameraKey) === counter) {
        this.#rows.set(dayKey, { ...day, count: (day?.count ?? 0) + summand });
        this.#rows.set(cameraKey, { count: (counter?.count ?? 0) + summand });
        if (stripe > 0 && day === undefined && this.#leftOut !== 'a new stripe writes the number of stripes')
          this.#rows.set('day', { count: 0, ...this.#rows.get('day'), stripes: stripe + 1 });
        this.#truth.push(CAMERAS.map((one) => (this.#truth.at(-1)?.[one] ?? 0) + (one === camera ? summand : 0)));
        left -= 1;
      } else {
        const stripes = yield* this.#page('day');
        stripe = this.#chance.wholeBetween(0, Math.min(stripes.length, MOST_STRIPES - 1));
      }
    }
  }

  *#reader(): Steps {
    for (let left = 12; left > 0; left -= 1) {
      const since = this.#truth.length - 1;
      const camera = this.#chance.oneOf(CAMERAS);
      const key = this.#chance.oneOf(['day', `camera|${camera}`]);
      const early = this.#leftOut === 'the row of the day is read last' ? yield* this.#get('day') : undefined;
      const counter = key === 'day' ? undefined : yield* this.#get(key);
      const day = early ?? (yield* this.#get('day'));
      const rows = (day?.stripes ?? 1) > 1 ? yield* this.#page(key) : [key === 'day' ? day : counter];
      const sum = rows.reduce((all, row) => all + (row?.count ?? 0), 0);
      // The sum is right if the events counted it at a moment since the question.
      const right = this.#truth
        .slice(since)
        .map((counts) => (key === 'day' ? counts.reduce((all, count) => all + count) : counts[camera]));
      if (!right.includes(sum)) this.broken ??= `${key} counts ${sum}, not ${right.join(' or ')}`;
    }
  }
}

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);

it('readers and writers agree in every order of their requests', () => {
  for (const seed of numbers(60_000)) expect(new StripesModel(seed).broken, `seed ${seed}`).toBeUndefined();
});

it.each(RULES)('the protocol needs the rule: %s', (rule) => {
  expect(numbers(20_000).find((seed) => new StripesModel(seed, rule).broken !== undefined)).toBeDefined();
});
