import { expect, it } from 'vitest';

import { Chance } from '../chance.ts';

// A model of one day: writers, readers and rewrites, interleaved at each storage request. It has no clocks: a hold may expire at any moment,
// storage may carry out a request at any time after its sender gave up, and a process may stop forever at any request. It is a model, not
// the code: small enough to read, to change and to break. Rows and protocol: `src/analytics/README.md`.

/** The rules of the protocol. A broken model leaves one out. */
const RULES = [
  'day last',
  'number of stripes',
  'touch sealed',
  'seal by etag',
  'marks of stripes',
  'tombstone',
  'second pass',
  'reader heeds marks',
  'writer heeds marks',
  'own hold at the switch',
  'new number for each attempt',
] as const;
type Rule = (typeof RULES)[number];

/** The row of the day. Rows are never changed, only replaced: the object is its own ETag. */
interface Day {
  readonly generation: number;
  readonly shards: number;
  readonly attempt: number;
  /** The process that rewrites the day. */
  readonly holder?: string | undefined;
}
/** A row of a shard. */
interface Row {
  /** What an event counts, or the sum of the events of a stripe. */
  readonly count?: number;
  /** Of the row `day`: how many stripes there are. */
  readonly stripes?: number;
  /** The attempt that sealed the stripe. */
  readonly mark?: number;
}
interface Write {
  readonly key: string;
  /** The row as it was read; undefined: it must not exist; `*`: any row. */
  readonly before: Row | '*' | undefined;
  /** Merged into the row; undefined: the row is deleted. */
  readonly values: Row | undefined;
}
type Rows = ReadonlyMap<string, Row>;
/** A process gives way to the others before each request. */
type Steps<Result = void> = Generator<undefined, Result, undefined>;

const SEALED = 'day sealed';
const MOST_STRIPES = 3;
const EVENTS = 3;
const CAMERAS = [0, 1];
const cameraOf = (event: number): number => event % CAMERAS.length;
/** What another version of an event adds. A sum tells how many versions of each event are in it. */
const versionOf = (event: number): number => 1_000 ** event;
const inStripe = (key: string, stripe: number): string => (stripe === 0 ? key : `${key} ${stripe}`);
const sumOf = (rows: Rows): number => [...rows.values()].reduce((sum, { count = 0 }) => sum + count, 0);
const markOf = (rows: Iterable<Row | undefined>): number => Math.max(0, ...Array.from(rows, (row) => row?.mark ?? 0));
const shardOf = ({ generation, shards }: Day, camera: number): string => `${generation}_${camera % shards}`;
const shardsOf = (day: Day): ReadonlySet<string> => new Set(CAMERAS.map((camera) => shardOf(day, camera)));

/** Writes the counters of the day and of a camera, and the event that both count. */
const countingWrites = (keys: readonly string[], rows: readonly (Row | undefined)[], count: number): Write[] => {
  const difference = count - (rows[2]?.count ?? 0);
  return keys.map((key, index) => {
    const before = rows[index];
    const isFirstStripe = key === 'day' && before === undefined;
    return { key, before, values: { count: (before?.count ?? 0) + difference, ...(isFirstStripe && { stripes: 1 }) } };
  });
};

class DayModel {
  readonly #chance: Chance;
  readonly #leftOut: Rule | undefined;
  readonly #shards = new Map<string, Map<string, Row>>();
  /** What the committed events of each camera count, after each commit. */
  readonly #truth: (readonly number[])[] = [[0, 0]];
  /** Requests whose senders have given up. */
  readonly #late: (() => unknown)[] = [];
  #day: Day;
  broken: string | undefined;

  /** Plays one schedule. */
  constructor(seed: number, leftOut?: Rule) {
    const chance = new Chance(`a day, ${seed}`);
    this.#chance = chance;
    this.#leftOut = leftOut;
    this.#day = { generation: 0, shards: chance.wholeBetween(1, 2), attempt: 0 };
    const processes = new Set<Steps>([
      ...Array.from({ length: 3 }, () => this.#writer()),
      ...Array.from({ length: 2 }, () => this.#reader()),
      ...Array.from({ length: chance.wholeBetween(0, 2) }, (_, index) => this.#rewriter(`rewrite ${index}`)),
    ]);
    while (processes.size > 0 && this.broken === undefined) {
      const process = chance.anyOf([...processes]);
      if (process === undefined) break;
      if (chance.happens(0.001) || process.next().done === true) processes.delete(process);
      if (chance.happens(0.02)) this.#late.shift()?.();
    }
    for (const request of this.#late) request();
    for (const kind of ['day', 'camera', 'event']) {
      const sum = [...shardsOf(this.#day)].reduce((all, shard) => all + sumOf(this.#rowsOf(shard, kind)), 0);
      this.#check(sum, CAMERAS, this.#truth.length - 1);
    }
  }

  #follows(rule: Rule): boolean {
    return rule !== this.#leftOut;
  }

  /** A sum is right if the events of these cameras counted it at a moment since then. */
  #check(sum: number, cameras: readonly number[], since: number): void {
    const right = this.#truth
      .slice(since)
      .map((counts) => cameras.reduce((all, camera) => all + (counts[camera] ?? 0), 0));
    if (!right.includes(sum)) this.broken ??= `cameras ${cameras.join()} count ${sum}, not ${right.join(' or ')}`;
  }

  // Storage

  #all(shard: string): Map<string, Row> {
    const rows = this.#shards.get(shard) ?? new Map<string, Row>();
    this.#shards.set(shard, rows);
    return rows;
  }

  #rowsOf(shard: string, prefix: string): Rows {
    return new Map([...this.#all(shard)].filter(([key]) => key.startsWith(prefix)));
  }

  /** A counter in all stripes, or all events. */
  *#page(shard: string, prefix: string): Steps<Rows> {
    yield;
    return this.#rowsOf(shard, prefix);
  }

  *#get(shard: string, key: string): Steps<Row | undefined> {
    yield;
    return this.#all(shard).get(key);
  }

  *#readDay(): Steps<Day> {
    yield;
    return this.#day;
  }

  /** @returns the answer; undefined after a conflict, and if it is lost: storage carries the request out now, later or never */
  *#send<Answer>(carryOut: () => Answer | undefined): Steps<Answer | undefined> {
    yield;
    if (!this.#chance.happens(0.06)) return carryOut();
    if (this.#chance.happens(0.5)) carryOut();
    else this.#late.push(carryOut);
    return undefined;
  }

  /** Carries out all writes or none. @returns the rows after them */
  *#transact(shard: string, writes: readonly Write[], after?: () => void): Steps<Rows | undefined> {
    return yield* this.#send(() => {
      const rows = this.#all(shard);
      const fits = ({ key, before }: Write) => (before === '*' ? rows.has(key) : rows.get(key) === before);
      if (!writes.every(fits)) return undefined;
      for (const { key, values } of writes) {
        if (values === undefined) rows.delete(key);
        else rows.set(key, { ...rows.get(key), ...values });
      }
      after?.();
      return new Map(rows);
    });
  }

  *#writeDay(before: Day, changes: Partial<Day>): Steps {
    yield* this.#send(() => {
      if (this.#day === before) this.#day = { ...before, ...changes };
    });
  }

  // The service

  /** What a mark means for a process that knew the day so. */
  *#judge(mark: number, known: Day, mayRemoveHold: boolean): Steps<'go on' | 'held' | 'another generation'> {
    if (mark < known.attempt || (mark === known.attempt && known.holder === undefined)) return 'go on';
    const day = yield* this.#readDay();
    if (day.generation !== known.generation) return 'another generation';
    if (mark !== day.attempt || day.holder === undefined) return 'go on';
    // If the hold has expired, a writer removes it: this attempt is void forever.
    if (mayRemoveHold && this.#chance.happens(0.2)) yield* this.#writeDay(day, { holder: undefined });
    return 'held';
  }

  *#writer(): Steps {
    let day = yield* this.#readDay();
    let stripe = 0;
    let remembered = new Map<string, Row>();
    for (let [tries, left] = [0, 5]; left > 0 && tries < 60; tries += 1) {
      const event = this.#chance.wholeBetween(0, EVENTS - 1);
      const shard = shardOf(day, cameraOf(event));
      let own = remembered.get(`${shard} ${inStripe('day', stripe)}`);
      let list: Rows | undefined;
      if (own === undefined) {
        list = yield* this.#page(shard, 'day');
        if (this.#follows('writer heeds marks')) {
          const verdict = yield* this.#judge(markOf(list.values()), day, true);
          if (verdict === 'another generation') day = yield* this.#readDay();
          if (verdict !== 'go on') continue;
        }
        const stripes = [...list.keys()].filter((key) => key !== SEALED).length;
        stripe = this.#chance.wholeBetween(0, Math.min(stripes, MOST_STRIPES - 1));
        own = list.get(inStripe('day', stripe));
      }
      const cameraKey = inStripe(`camera|${cameraOf(event)}`, stripe);
      const keys = [inStripe('day', stripe), cameraKey, `event|${event}`];
      const camera = remembered.get(`${shard} ${cameraKey}`) ?? (yield* this.#get(shard, cameraKey));
      const before = yield* this.#get(shard, `event|${event}`);
      const writes = countingWrites(keys, [own, camera, before], (before?.count ?? 0) + versionOf(event));
      if (own === undefined && this.#follows('touch sealed')) {
        writes.push({ key: SEALED, before: list?.get(SEALED), values: {} });
      }
      if (own === undefined && stripe > 0 && this.#follows('number of stripes')) {
        writes.push({ key: 'day', before: '*', values: { stripes: stripe + 1 } });
      }
      const rows = yield* this.#transact(shard, writes, () => {
        const counts = this.#truth.at(-1) ?? [];
        this.#truth.push(counts.map((sum, index) => (index === cameraOf(event) ? sum + versionOf(event) : sum)));
      });
      if (rows === undefined) remembered = new Map();
      else for (const [key, row] of rows) if (keys.includes(key)) remembered.set(`${shard} ${key}`, row);
      left -= rows === undefined ? 0 : 1;
    }
  }

  *#reader(): Steps {
    let day = yield* this.#readDay();
    const striped = new Set<string>();
    for (let left = 12; left > 0; left -= 1) {
      const since = this.#truth.length - 1;
      const camera = this.#chance.wholeBetween(0, 1);
      const key = this.#chance.oneOf(['day', `camera|${camera}`]);
      for (let [tries, isAnswered] = [0, false]; !isAnswered && tries < 10; tries += 1) {
        const shard = shardOf(day, camera);
        const sum = yield* this.#counter(shard, key, day, striped);
        const { shards } = day;
        const cameras = CAMERAS.filter((one) => one === camera || (key === 'day' && shards === 1));
        isAnswered = sum !== undefined;
        if (sum === undefined) day = yield* this.#readDay();
        else this.#check(sum, cameras, since);
      }
    }
  }

  /** A counter; undefined: the day has another generation. */
  *#counter(shard: string, key: string, known: Day, striped: Set<string>): Steps<number | undefined> {
    if (!striped.has(shard)) {
      const early = this.#follows('day last') ? undefined : yield* this.#get(shard, 'day');
      const row = key === 'day' ? undefined : yield* this.#get(shard, key);
      const day = early ?? (yield* this.#get(shard, 'day'));
      if (!(yield* this.#isCurrent([day ?? (yield* this.#get(shard, SEALED))], known))) return undefined;
      if ((day?.stripes ?? 1) === 1) return (key === 'day' ? day : row)?.count ?? 0;
      striped.add(shard);
    }
    const rows = yield* this.#page(shard, key);
    const days = key === 'day' ? rows : yield* this.#page(shard, 'day');
    return (yield* this.#isCurrent(days.values(), known)) ? sumOf(rows) : undefined;
  }

  *#isCurrent(rows: Iterable<Row | undefined>, known: Day): Steps<boolean> {
    if (!this.#follows('reader heeds marks')) return true;
    return (yield* this.#judge(markOf(rows), known, false)) !== 'another generation';
  }

  *#rewriter(name: string): Steps {
    let day = yield* this.#readDay();
    // Announce. A live hold is respected for a while.
    while (day.holder !== name) {
      if (day.holder !== undefined && this.#chance.happens(0.9)) yield;
      else yield* this.#writeDay(day, { attempt: day.attempt + 1, holder: name });
      day = yield* this.#readDay();
    }
    const { attempt } = day;
    const generation = this.#follows('new number for each attempt') ? attempt : day.generation + 1;
    const to = { ...day, generation, shards: this.#chance.wholeBetween(1, 2), holder: undefined };
    yield* this.#collect(day.generation, generation);
    const from = shardsOf(day);
    const seen = new Set<Row>();
    for (const shard of from) yield* this.#replay(shard, to, seen);
    for (const shard of from) if (!(yield* this.#seal(shard, attempt))) return;
    if (this.#follows('second pass')) for (const shard of from) yield* this.#replay(shard, to, seen);
    for (;;) {
      day = yield* this.#readDay();
      if (day.generation === generation) break;
      const isMine = day.holder === name && day.attempt === attempt;
      if (!isMine && this.#follows('own hold at the switch')) return;
      yield* this.#writeDay(day, { ...to, attempt: day.attempt });
    }
    yield* this.#collect(generation, generation);
  }

  /** Deletes the generations that are no longer read, some rows at a time. */
  *#collect(current: number, own: number): Steps {
    for (const [shard, rows] of this.#shards) {
      const generation = Number(shard.split('_')[0]);
      // Higher numbers belong to rewrites that may be running.
      if (generation === current || generation >= own) continue;
      const isTombstone = (key: string) => key === SEALED && generation < current && this.#follows('tombstone');
      for (;;) {
        yield;
        const keys = [...rows.keys()].filter((key) => !isTombstone(key));
        if (keys.length === 0) break;
        const some = this.#chance.shuffled(keys).slice(0, this.#chance.wholeBetween(1, keys.length));
        yield* this.#transact(
          shard,
          some.map((key) => ({ key, before: '*', values: undefined })),
        );
      }
    }
  }

  /** Records each event that has changed since it was seen, as a recorder does. */
  *#replay(from: string, to: Day, seen: Set<Row>): Steps {
    for (const [key, row] of yield* this.#page(from, 'event')) {
      const { count = 0 } = row;
      const camera = cameraOf(Number(key.slice('event|'.length)));
      const keys = ['day', `camera|${camera}`, key];
      const shard = shardOf(to, camera);
      while (!seen.has(row)) {
        const list = yield* this.#page(shard, 'day');
        const rows = [list.get('day'), yield* this.#get(shard, `camera|${camera}`), yield* this.#get(shard, key)];
        const writes = countingWrites(keys, rows, count);
        if (!list.has('day')) writes.push({ key: SEALED, before: list.get(SEALED), values: {} });
        const isKnown = (rows[2]?.count ?? 0) >= count;
        if (isKnown || (yield* this.#transact(shard, writes)) !== undefined) seen.add(row);
      }
    }
  }

  /** @returns whether the shard is sealed by this attempt; false: a later attempt has sealed it */
  *#seal(shard: string, attempt: number): Steps<boolean> {
    for (;;) {
      const rows = yield* this.#page(shard, 'day');
      const sealed = rows.get(SEALED);
      const mark = sealed?.mark ?? 0;
      if (mark >= attempt) return mark === attempt;
      if (sealed === undefined) {
        yield* this.#transact(shard, [{ key: SEALED, before: undefined, values: { mark: 0 } }]);
        continue;
      }
      const stripes = [...rows.keys()].filter((key) => key !== SEALED && this.#follows('marks of stripes'));
      yield* this.#transact(shard, [
        { key: SEALED, before: this.#follows('seal by etag') ? sealed : '*', values: { mark: attempt } },
        ...stripes.map((key): Write => ({ key, before: '*', values: { mark: attempt } })),
      ]);
    }
  }
}

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);

it('readers, writers and rewrites of one day agree in every order of their requests', () => {
  for (const seed of numbers(60_000)) expect(new DayModel(seed).broken, `seed ${seed}`).toBeUndefined();
});

it.each(RULES)('the protocol needs the rule: %s', (rule) => {
  expect(numbers(20_000).find((seed) => new DayModel(seed, rule).broken !== undefined)).toBeDefined();
});
