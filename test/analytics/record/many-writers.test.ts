import { expect, it, vi } from 'vitest';

import { randomFrom } from '../../../infra/cli/demo/random.ts';
import { all, type CountingProcess, frame, MemoryStorage, SHARD, START } from '../counting.ts';
import { DAY } from '../oracle.ts';

const DAY_MS = 86_400_000;
const FIRST_DAY_MS = Number(START / 1_000n);

/** Instances that record on one shard, one request after the other, and the requests to storage of their last round. */
class Instances {
  readonly storage = new MemoryStorage();
  requests: string[] = [];
  readonly #random: () => number;
  readonly #processes: CountingProcess[];
  #nowMs = FIRST_DAY_MS;
  frames = 0;

  constructor(count: number, seed: number) {
    this.#random = randomFrom(`writers ${seed}`);
    this.storage.now = () => this.#nowMs;
    this.storage.connection.turn = async ({ kind }) => void this.requests.push(kind);
    this.#processes = all(count).map(() => this.#process());
  }

  pass(ms: number): void {
    this.#nowMs += ms;
  }

  /** A new process takes the place of an instance: it remembers nothing. */
  restart(index: number): void {
    this.#processes[index] = this.#process();
  }

  /** Each instance records a new frame. */
  async round({ dayStart = START, isAtOnce = false } = {}): Promise<void> {
    this.requests = [];
    const recording = this.#processes.map((process) => async () => {
      this.frames += 1;
      await process.record([frame('ridge-1', `f-${this.frames}`, dayStart)]);
      this.pass(20);
    });
    if (isAtOnce) await Promise.all(recording.map(async (record) => record()));
    else for (const record of recording) await record();
  }

  /** Each instance records as many new frames as fill a number of transactions, at the same time. */
  async burst(transactions: number): Promise<void> {
    this.requests = [];
    await Promise.all(
      this.#processes.map(async (process) => {
        this.frames += 48 * transactions;
        await process.record(all(48 * transactions).map((n) => frame(`ridge-${n}`, `f-${this.frames - n}`)));
      }),
    );
    this.pass(500);
  }

  /** Plays rounds until each instance needs one transaction and no read. @returns how many rounds needed more */
  async roundsToSettle(options: { readonly dayStart?: bigint } = {}): Promise<number> {
    for (let rounds = 0; rounds < 20; rounds += 1) {
      await this.round(options);
      if (this.isSteady) return rounds;
    }
    return Infinity;
  }

  get isSteady(): boolean {
    return this.requests.length === this.#processes.length && this.requests.every((kind) => kind === 'transact');
  }

  #process(): CountingProcess {
    return this.storage.process(1, { random: this.#random, pause: async () => undefined });
  }
}

it.each(all(5))('forty writers soon have a stripe each, and then read nothing (seed %i)', async (seed) => {
  const instances = new Instances(40, seed);
  expect(await instances.roundsToSettle()).toBeLessThanOrEqual(5);

  // Without a message for a day nothing changes: their rows are remembered.
  instances.pass(DAY_MS);
  expect(await instances.roundsToSettle()).toBe(0);

  // All keep their stripes on a new day, which begins for all at once.
  const dayStart = START + DAY;
  await instances.round({ dayStart, isAtOnce: true });
  expect(await instances.roundsToSettle({ dayStart })).toBeLessThanOrEqual(3);

  // A process that restarts begins in stripe 0, and evicts at most the writer there.
  instances.restart(7);
  expect(await instances.roundsToSettle({ dayStart })).toBeLessThanOrEqual(3);
});

it.each([-DAY_MS, DAY_MS])(
  'a stripe is in use by the clock of storage: that of the process is off by %i ms',
  async (offMs) => {
    vi.spyOn(Date, 'now').mockReturnValue(FIRST_DAY_MS + offMs);
    expect(await new Instances(40, 1).roundsToSettle()).toBeLessThanOrEqual(5);
  },
);

it('forty busy instances keep apart: a second writer takes a free stripe among the first, or none', async () => {
  const instances = new Instances(40, 1);
  await instances.roundsToSettle();
  for (let bursts = 0; bursts < 3; bursts += 1) await instances.burst(20);
  const moves = instances.requests.filter((kind) => kind !== 'transact').length;
  expect(moves / instances.requests.length).toBeLessThan(0.1);
  expect(instances.storage.keys(SHARD).filter((key) => key.startsWith('day|')).length).toBeLessThanOrEqual(48);
  const { counts } = await instances.storage.process().answer({ start: START, end: START + DAY - 1n });
  expect(counts.get('events')).toBe(instances.frames);
});

it('more writers than stripes share them: each request ends, and no event is lost', async () => {
  const instances = new Instances(100, 1);
  const rounds = 6;
  let most = 0;
  for (let round = 0; round < rounds; round += 1) {
    await instances.round();
    most = Math.max(most, instances.requests.length / 100);
  }
  // A writer that moves makes at most 12 reads of a `day` row, and some of the other rows.
  expect(most).toBeLessThan(20);
  const { counts } = await instances.storage.process().answer({ start: START, end: START + DAY - 1n });
  expect(counts.get('events')).toBe(rounds * 100);
  expect(instances.storage.keys(SHARD).filter((key) => key.startsWith('day|'))).toHaveLength(64);
});
