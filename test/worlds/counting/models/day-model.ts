import { Chance } from '../../chance.ts';

// A model of one day: writers, readers and rewrites, interleaved at each storage request. It has no clocks: a hold may expire at any moment,
// storage may carry out a request at any time after its sender gave up, and a process may stop forever at any request. It is a model, not
// the code: small enough to read, to change and to break. Rows and protocol: `src/analytics/README.md`.

/** One rule of the protocol that a run leaves out. */
export type BrokenRule =
  | 'day last'
  | 'number of stripes'
  | 'touch sealed'
  | 'seal by etag'
  | 'marks of stripes'
  | 'tombstone'
  | 'second pass'
  | 'reader heeds marks'
  | 'writer heeds marks'
  | 'own hold at the switch'
  | 'new number for each attempt';

/** How one schedule went. */
export interface Played {
  /** The first violation; undefined: the run has no violation. */
  readonly broken: string | undefined;
  readonly stripes: number;
  readonly rewrites: number;
}

type Category = 'fire' | 'smoke';
interface Counts {
  readonly events: number;
  readonly fire: number;
  readonly smoke: number;
}
interface Values {
  readonly counts?: Counts;
  /** Of the row `day`: how many stripes there are. */
  readonly stripes?: number;
  /** The attempt that sealed the stripe. */
  readonly mark?: number;
  /** Of an event row. */
  readonly category?: Category;
  readonly version?: number;
  /** Of the day's row. */
  readonly day?: DayState;
}
interface DayState {
  readonly generation: number;
  readonly shards: number;
  readonly attempt: number;
  /** The process that rewrites the day. */
  readonly holder?: string | undefined;
}
interface Row extends Values {
  readonly etag: number;
}
type Write = { readonly key: string; readonly values: Values } & (
  { readonly kind: 'insert' } | { readonly kind: 'merge' | 'delete'; readonly etag: number | '*' }
);
type Process = Generator<undefined, void, undefined>;
type Steps<Result> = Generator<undefined, Result, undefined>;
type Verdict = 'go on' | 'held' | 'another generation';

const ZERO: Counts = { events: 0, fire: 0, smoke: 0 };
const SEALED = 'day sealed';
const CAMERAS = [0, 1];
const EVENTS = 4;
const cameraOf = (event: number): number => event % 2;
const plus = (one: Counts, other: Counts, sign = 1): Counts => ({
  events: one.events + sign * other.events,
  fire: one.fire + sign * other.fire,
  smoke: one.smoke + sign * other.smoke,
});
const contribution = (category: Category | undefined): Counts =>
  category === undefined ? ZERO : { ...ZERO, events: 1, [category]: 1 };
const inStripe = (key: string, stripe: number): string => (stripe === 0 ? key : `${key} ${stripe}`);
const isInStripe = (rowKey: string, key: string): boolean => rowKey === key || rowKey.startsWith(`${key} `);
/** Writes a row as it was read; undefined: it did not exist. */
const writeOf = (key: string, row: Row | undefined, values: Values): Write =>
  row === undefined ? { kind: 'insert', key, values } : { kind: 'merge', key, etag: row.etag, values };
const markOf = (rows: Iterable<Row | undefined>): number => Math.max(0, ...Array.from(rows, (row) => row?.mark ?? 0));

/** Plays one schedule. */
export const playDay = (seed: number, left?: BrokenRule): Played => new DayModel(seed, left).play();

class DayModel {
  readonly #chance: Chance;
  readonly #without: BrokenRule | undefined;
  readonly #partitions = new Map<string, Map<string, Row>>();
  /** What each camera counted after each commit of an event; the number of commits is the time of this model. */
  readonly #history = CAMERAS.map(() => [{ moment: 0, counts: ZERO }]);
  readonly #committed = new Map<number, Category>();
  /** Requests whose senders have given up. */
  readonly #late: (() => unknown)[] = [];
  #etags = 0;
  #moment = 0;
  #broken: string | undefined;
  #stripes = 0;
  #rewrites = 0;

  constructor(seed: number, left: BrokenRule | undefined) {
    this.#chance = new Chance(`a day, ${seed}`);
    this.#without = left;
  }

  play(): Played {
    const chance = this.#chance;
    const shards = chance.wholeBetween(1, 2);
    this.#apply('days', [
      { kind: 'insert', key: 'row', values: { day: { generation: 0, shards, attempt: 0, holder: undefined } } },
    ]);
    const processes = new Set<Process>([
      ...Array.from({ length: 3 }, () => this.#writer()),
      ...Array.from({ length: 2 }, () => this.#reader()),
      ...Array.from({ length: chance.wholeBetween(0, 2) }, (_, index) => this.#rewriter(`rewrite ${index}`)),
    ]);
    while (processes.size > 0 && this.#broken === undefined) {
      const process = chance.anyOf([...processes]);
      if (process === undefined) break;
      if (chance.happens(0.001) || process.next().done === true) processes.delete(process);
      if (this.#late.length > 0 && chance.happens(0.02)) this.#late.shift()?.();
    }
    for (const request of this.#late) request();
    this.#checkEnd();
    return { broken: this.#broken, stripes: this.#stripes, rewrites: this.#rewrites };
  }

  // Storage

  #rows(partition: string): Map<string, Row> {
    const rows = this.#partitions.get(partition) ?? new Map<string, Row>();
    this.#partitions.set(partition, rows);
    return rows;
  }

  /** All writes or none. @returns the ETags by key; undefined after a conflict */
  #apply(partition: string, writes: readonly Write[]): ReadonlyMap<string, number> | undefined {
    const rows = this.#rows(partition);
    for (const write of writes) {
      const row = rows.get(write.key);
      if (write.kind === 'insert' ? row !== undefined : row === undefined) return undefined;
      if (write.kind !== 'insert' && write.etag !== '*' && write.etag !== row?.etag) return undefined;
    }
    for (const { kind, key, values } of writes) {
      this.#etags += 1;
      if (kind === 'delete') rows.delete(key);
      else rows.set(key, { ...rows.get(key), ...values, etag: this.#etags });
    }
    return new Map(writes.map(({ key }) => [key, rows.get(key)?.etag ?? 0]));
  }

  /** A transaction whose answer may be lost; it is carried out now, later, or never. */
  *#send(
    partition: string,
    writes: readonly Write[],
    after: () => void = () => undefined,
  ): Steps<ReadonlyMap<string, number> | 'conflict' | 'lost'> {
    yield;
    const carryOut = () => {
      const etags = this.#apply(partition, writes);
      if (etags !== undefined) after();
      return etags ?? 'conflict';
    };
    if (!this.#chance.happens(0.06)) return carryOut();
    if (this.#chance.happens(0.5)) carryOut();
    else this.#late.push(carryOut);
    return 'lost';
  }

  *#get(partition: string, key: string): Steps<Row | undefined> {
    yield;
    return this.#rows(partition).get(key);
  }

  /** The rows of a counter in all stripes, as of one moment. */
  *#page(partition: string, key: string): Steps<ReadonlyMap<string, Row>> {
    yield;
    return new Map([...this.#rows(partition)].filter(([rowKey]) => isInStripe(rowKey, key)));
  }

  *#eventRows(partition: string): Steps<readonly (readonly [key: string, row: Row])[]> {
    yield;
    return [...this.#rows(partition)].filter(([key]) => key.startsWith('event|'));
  }

  *#dayRow(): Steps<Row & { readonly day: DayState }> {
    const row = yield* this.#get('days', 'row');
    if (row?.day === undefined) throw new Error('the row of the day is never deleted');
    return { ...row, day: row.day };
  }

  *#writeDay(before: Row, day: DayState): Steps<unknown> {
    return yield* this.#send('days', [{ kind: 'merge', key: 'row', etag: before.etag, values: { day } }]);
  }

  #partitionOf({ generation, shards }: DayState, camera: number): string {
    return `${generation}_${camera % shards}`;
  }

  // The rule for marks

  /** What a mark means for a process that knew the day so. */
  *#judge(mark: number, known: DayState, mayRemoveHold: boolean): Steps<Verdict> {
    if (mark < known.attempt || (mark === known.attempt && known.holder === undefined)) return 'go on';
    const row = yield* this.#dayRow();
    const { day } = row;
    if (day.generation !== known.generation) return 'another generation';
    if (mark !== day.attempt || day.holder === undefined) return 'go on';
    // If the hold has expired, a writer removes it: this attempt is void forever.
    if (mayRemoveHold && this.#chance.happens(0.2)) yield* this.#writeDay(row, { ...day, holder: undefined });
    return 'held';
  }

  // Writers

  *#writer(): Process {
    let day = (yield* this.#dayRow()).day;
    let stripe = this.#chance.wholeBetween(0, 1);
    let remembered = new Map<string, Row>();
    for (let left = 5; left > 0; left -= 1) {
      const event = this.#chance.wholeBetween(0, EVENTS - 1);
      const category = this.#chance.oneOf(['fire', 'smoke'] as const);
      for (let tries = 0; tries < 30; tries += 1) {
        const partition = this.#partitionOf(day, cameraOf(event));
        const dayKey = inStripe('day', stripe);
        const name = (key: string) => `${partition} ${key}`;
        let list: ReadonlyMap<string, Row> | undefined;
        let own = remembered.get(name(dayKey));
        if (own === undefined) {
          list = yield* this.#page(partition, 'day');
          const verdict =
            this.#without === 'writer heeds marks' ? 'go on' : yield* this.#judge(markOf(list.values()), day, true);
          if (verdict !== 'go on') {
            if (verdict === 'another generation') day = (yield* this.#dayRow()).day;
            remembered = new Map();
            continue;
          }
          const free = [0, 1, 2].find((number) => !list?.has(inStripe('day', number)));
          const existing = [0, 1, 2].filter((number) => list?.has(inStripe('day', number)));
          stripe = this.#chance.anyOf(free === undefined ? existing : [...existing, free]) ?? 0;
          own = list.get(inStripe('day', stripe));
        }
        const key = inStripe(`camera|${cameraOf(event)}`, stripe);
        const camera = remembered.get(name(key)) ?? (yield* this.#get(partition, key));
        const before = yield* this.#get(partition, `event|${event}`);
        const difference = plus(contribution(category), contribution(before?.category), -1);
        const counted = plus(own?.counts ?? ZERO, difference);
        const writes = [
          writeOf(inStripe('day', stripe), own, {
            counts: counted,
            ...(own === undefined && stripe === 0 && { stripes: 1 }),
          }),
          writeOf(key, camera, { counts: plus(camera?.counts ?? ZERO, difference) }),
          writeOf(`event|${event}`, before, { category, version: (before?.version ?? 0) + 1 }),
        ];
        if (own === undefined) {
          // The list is read anew for each new stripe, so it has the newest version of this row.
          if (this.#without !== 'touch sealed') writes.push(writeOf(SEALED, list?.get(SEALED), {}));
          if (stripe > 0 && this.#without !== 'number of stripes') {
            writes.push({ kind: 'merge', key: 'day', etag: '*', values: { stripes: stripe + 1 } });
          }
        }
        const answer = yield* this.#send(partition, writes, () => this.#commit(event, category));
        if (answer === 'conflict' || answer === 'lost') {
          remembered = new Map();
          continue;
        }
        this.#stripes = Math.max(this.#stripes, stripe + 1);
        for (const { key: rowKey, values } of writes.slice(0, 2)) {
          const row = rowKey === key ? camera : own;
          remembered.set(name(rowKey), { ...row, ...values, etag: answer.get(rowKey) ?? 0 });
        }
        break;
      }
    }
  }

  #commit(event: number, category: Category): void {
    this.#moment += 1;
    const own = this.#history[cameraOf(event)];
    const before = own?.at(-1)?.counts ?? ZERO;
    const difference = plus(contribution(category), contribution(this.#committed.get(event)), -1);
    own?.push({ moment: this.#moment, counts: plus(before, difference) });
    this.#committed.set(event, category);
  }

  // Readers

  *#reader(): Process {
    let day = (yield* this.#dayRow()).day;
    const striped = new Set<string>();
    for (let left = 12; left > 0; left -= 1) {
      const since = this.#moment;
      const camera = this.#chance.happens(0.6) ? this.#chance.oneOf([0, 1]) : undefined;
      for (let tries = 0; tries < 10; tries += 1) {
        const partitions =
          camera === undefined
            ? Array.from({ length: day.shards }, (_, shard) => `${day.generation}_${shard}`)
            : [this.#partitionOf(day, camera)];
        const key = camera === undefined ? 'day' : `camera|${camera}`;
        let sum: Counts | undefined = ZERO;
        for (const partition of partitions) {
          const own = yield* this.#readCounter(partition, key, day, striped);
          sum = own === undefined || sum === undefined ? undefined : plus(sum, own);
        }
        if (sum !== undefined) {
          this.#checkAnswer(sum, camera === undefined ? CAMERAS : [camera], since);
          break;
        }
        day = (yield* this.#dayRow()).day;
      }
    }
  }

  /** A counter of a shard; undefined: the day has another generation. */
  *#readCounter(partition: string, key: string, known: DayState, striped: Set<string>): Steps<Counts | undefined> {
    if (!striped.has(partition)) {
      const early = this.#without === 'day last' ? yield* this.#get(partition, 'day') : undefined;
      const row = key === 'day' ? undefined : yield* this.#get(partition, key);
      const day = early ?? (yield* this.#get(partition, 'day'));
      const top = day ?? (yield* this.#get(partition, SEALED));
      if (!(yield* this.#isCurrent(markOf([top]), known))) return undefined;
      if ((day?.stripes ?? 1) === 1) return (key === 'day' ? day : row)?.counts ?? ZERO;
      striped.add(partition);
    }
    const rows = yield* this.#page(partition, key);
    const days = key === 'day' ? rows : yield* this.#page(partition, 'day');
    if (!(yield* this.#isCurrent(markOf(days.values()), known))) return undefined;
    return [...rows.values()].reduce((sum, row) => plus(sum, row.counts ?? ZERO), ZERO);
  }

  *#isCurrent(mark: number, known: DayState): Steps<boolean> {
    if (this.#without === 'reader heeds marks') return true;
    return (yield* this.#judge(mark, known, false)) !== 'another generation';
  }

  /** An answer is right if each camera had this count at a moment between the question and now. */
  #checkAnswer(answer: Counts, cameras: readonly number[], since: number): void {
    let sums = [ZERO];
    for (const camera of cameras) {
      const versions = (this.#history[camera] ?? []).filter(
        (_, index, all) => (all[index + 1]?.moment ?? Infinity) > since,
      );
      sums = sums.flatMap((sum) => versions.map(({ counts }) => plus(sum, counts)));
    }
    if (sums.some((sum) => isSame(sum, answer))) return;
    this.#broken ??= `a reader sees ${JSON.stringify(answer)} of ${cameras.length} cameras`;
  }

  // Rewriting

  *#rewriter(name: string): Process {
    let row = yield* this.#dayRow();
    // Announce. A live hold is respected for a while.
    while (row.day.holder !== name) {
      if (row.day.holder !== undefined && this.#chance.happens(0.9)) yield;
      else yield* this.#writeDay(row, { ...row.day, attempt: row.day.attempt + 1, holder: name });
      row = yield* this.#dayRow();
    }
    const { attempt, ...from } = row.day;
    const generation = this.#without === 'new number for each attempt' ? from.generation + 1 : attempt;
    const to: DayState = { generation, shards: this.#chance.wholeBetween(1, 2), attempt };
    yield* this.#collect(row.day, generation);
    const seen = new Map<string, number>();
    for (let shard = 0; shard < from.shards; shard += 1) yield* this.#replay(`${from.generation}_${shard}`, to, seen);
    for (let shard = 0; shard < from.shards; shard += 1) {
      if (!(yield* this.#seal(`${from.generation}_${shard}`, attempt))) return;
    }
    for (let shard = 0; shard < from.shards && this.#without !== 'second pass'; shard += 1) {
      yield* this.#replay(`${from.generation}_${shard}`, to, seen);
    }
    for (;;) {
      row = yield* this.#dayRow();
      if (row.day.generation === generation) break;
      if (row.day.holder !== name && this.#without !== 'own hold at the switch') return;
      if (row.day.attempt !== attempt && this.#without !== 'own hold at the switch') return;
      yield* this.#writeDay(row, { ...to, attempt: row.day.attempt, holder: undefined });
    }
    this.#rewrites += 1;
    yield* this.#collect(row.day, generation);
  }

  /** Deletes the generations that are no longer read, some rows at a time. */
  *#collect({ generation: current }: DayState, own: number): Process {
    for (const partition of this.#partitions.keys()) {
      const generation = Number(partition.split('_')[0]);
      // Higher numbers belong to rewrites that may be running.
      if (partition === 'days' || generation === current || generation >= own) continue;
      for (;;) {
        yield;
        const keys = [...this.#rows(partition).keys()].filter(
          (key) => key !== SEALED || generation > current || this.#without === 'tombstone',
        );
        if (keys.length === 0) break;
        const some = this.#chance.shuffled(keys).slice(0, this.#chance.wholeBetween(1, keys.length));
        yield* this.#send(
          partition,
          some.map((key) => ({ kind: 'delete', key, etag: '*', values: {} })),
        );
      }
    }
  }

  *#replay(from: string, to: DayState, seen: Map<string, number>): Process {
    for (const [key, { etag, category, version = 0 }] of yield* this.#eventRows(from)) {
      if (category === undefined || seen.get(key) === etag) continue;
      const event = Number(key.slice('event|'.length));
      const partition = this.#partitionOf(to, cameraOf(event));
      // The recorder's way: newest wins, the difference is added, after a conflict it looks again.
      for (;;) {
        const list = yield* this.#page(partition, 'day');
        const camera = yield* this.#get(partition, `camera|${cameraOf(event)}`);
        const before = yield* this.#get(partition, key);
        if ((before?.version ?? 0) >= version) break;
        const difference = plus(contribution(category), contribution(before?.category), -1);
        const day = list.get('day');
        const answer = yield* this.#send(partition, [
          writeOf('day', day, { counts: plus(day?.counts ?? ZERO, difference), stripes: 1 }),
          writeOf(`camera|${cameraOf(event)}`, camera, { counts: plus(camera?.counts ?? ZERO, difference) }),
          writeOf(key, before, { category, version }),
          ...(day === undefined ? [writeOf(SEALED, list.get(SEALED), {})] : []),
        ]);
        if (answer !== 'conflict' && answer !== 'lost') break;
      }
      seen.set(key, etag);
    }
  }

  /** @returns whether the shard is sealed by this attempt; false: a later attempt has sealed it */
  *#seal(partition: string, attempt: number): Steps<boolean> {
    for (;;) {
      const rows = yield* this.#page(partition, 'day');
      const sealed = rows.get(SEALED);
      if (sealed?.mark === attempt) return true;
      if ((sealed?.mark ?? 0) > attempt) return false;
      if (sealed === undefined) {
        yield* this.#send(partition, [{ kind: 'insert', key: SEALED, values: { mark: 0 } }]);
        continue;
      }
      const etag = this.#without === 'seal by etag' ? '*' : sealed.etag;
      const stripes = [...rows.keys()].filter((key) => key !== SEALED && this.#without !== 'marks of stripes');
      yield* this.#send(partition, [
        { kind: 'merge', key: SEALED, etag, values: { mark: attempt } },
        ...stripes.map((key): Write => ({ kind: 'merge', key, etag: '*', values: { mark: attempt } })),
      ]);
    }
  }

  // The end

  /** Nothing that was committed is lost, and the counters say what the events say. */
  #checkEnd(): void {
    const day = this.#rows('days').get('row')?.day;
    if (day === undefined) return;
    for (const camera of CAMERAS) {
      const rows = [...this.#rows(this.#partitionOf(day, camera))];
      const sum = rows
        .filter(([key]) => isInStripe(key, `camera|${camera}`))
        .reduce((all, [, row]) => plus(all, row.counts ?? ZERO), ZERO);
      const events = rows
        .filter(([key]) => key.startsWith('event|') && cameraOf(Number(key.slice('event|'.length))) === camera)
        .reduce((all, [, row]) => plus(all, contribution(row.category)), ZERO);
      const truth = this.#history[camera]?.at(-1)?.counts ?? ZERO;
      if (isSame(sum, truth) && isSame(events, truth)) continue;
      this.#broken ??= `at the end camera ${camera} counts ${JSON.stringify(sum)}, its events ${JSON.stringify(events)}; it is ${JSON.stringify(truth)}`;
    }
  }
}

const isSame = (one: Counts, other: Counts): boolean =>
  one.events === other.events && one.fire === other.fire && one.smoke === other.smoke;
