import pLimit from 'p-limit';

import type { Log } from '../../log.ts';
import type { EventMessage } from '../model/camera-event.ts';
import type { Outcome } from './commit-draft.ts';
import { dayOf, type Day } from '../model/day.ts';
import { shardOf, type DayShards } from '../rows/day-shards.ts';
import { shardPartition } from '../rows/keys.ts';
import { RowCache } from './row-cache.ts';
import { NotCommitted, ShardCommitter } from './shard-committer.ts';
import { ShardRows } from './shard-rows.ts';
import { StorageTrouble, type CounterTable } from '../rows/table.ts';

/** Storage cannot take what was sent now. What was committed stays; sending all of it again is safe. */
export class RecorderUnavailable extends Error {
  override readonly name = 'RecorderUnavailable';
}

const MOST_WAITING = 50_000;
const IDLE_COMMITTERS = 64;
const PARALLEL_COMMITS = 16;
const PARALLEL_CLAIMS = 16;

/**
 * Records messages about events: each counted exactly once, whatever is sent again and however many instances run.
 *
 * @example
 * const outcomes = await recorder.record(messages); // only after everything is committed
 */
export class Recorder {
  readonly #table: CounterTable;
  readonly #shards: DayShards;
  readonly #log: Log;
  readonly #cache = new RowCache();
  readonly #committers = new Map<string, ShardCommitter>();
  readonly #commits = pLimit(PARALLEL_COMMITS);
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(table: CounterTable, shards: DayShards, log: Log) {
    this.#table = table;
    this.#shards = shards;
    this.#log = log;
  }

  /**
   * Commits messages.
   *
   * @returns what became of each, in their order
   * @throws {RecorderUnavailable} once all is settled, where some could not be committed now
   */
  async record(messages: readonly EventMessage[]): Promise<readonly Outcome[]> {
    if (this.#waiting() + messages.length > MOST_WAITING) {
      this.#log.warn('too much waits to be recorded', { waiting: this.#waiting() });
      throw new RecorderUnavailable('too much is waiting to be recorded');
    }
    const recording = this.#record(messages);
    this.#underWay.add(recording);
    try {
      return await recording;
    } finally {
      this.#underWay.delete(recording);
    }
  }

  /** Until everything that was given to the recorder is settled, whatever comes of it. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  async #record(messages: readonly EventMessage[]): Promise<readonly Outcome[]> {
    const settled = await Promise.allSettled(await this.#submitAll(messages));
    const failure = settled.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw this.#unavailable(failure.reason);
    return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  }

  async #submitAll(messages: readonly EventMessage[]): Promise<readonly Promise<Outcome>[]> {
    const days = new Map<Day, number>();
    try {
      await pLimit(PARALLEL_CLAIMS).map(new Set(messages.map(({ ts }) => dayOf(ts))), async (day) =>
        days.set(day, await this.#shards.claim(day)),
      );
    } catch (error) {
      throw this.#unavailable(error);
    }
    return messages.map(async (message) => {
      const day = dayOf(message.ts);
      const shards = days.get(day) ?? 1;
      return this.#committer(day, shards, shardOf(message.cameraId, shards)).submit(message);
    });
  }

  #committer(day: Day, shards: number, shard: number): ShardCommitter {
    const partition = shardPartition(day, shard);
    let committer = this.#committers.get(partition);
    if (committer === undefined) {
      const confirm = async (): Promise<void> => this.#shards.confirm(day, shards);
      committer = new ShardCommitter(
        this.#table,
        partition,
        new ShardRows(this.#table, partition, this.#cache, confirm),
        this.#commits,
      );
    }
    // Behind all others, so that the idle one that was used longest ago is dropped first.
    this.#committers.delete(partition);
    this.#dropIdle();
    this.#committers.set(partition, committer);
    return committer;
  }

  #dropIdle(): void {
    for (const [partition, committer] of this.#committers) {
      if (this.#committers.size <= IDLE_COMMITTERS) return;
      if (committer.idle) this.#committers.delete(partition);
    }
  }

  #waiting(): number {
    let waiting = 0;
    for (const committer of this.#committers.values()) waiting += committer.waiting;
    return waiting;
  }

  #unavailable(error: unknown): unknown {
    if (!(error instanceof NotCommitted || error instanceof StorageTrouble)) return error;
    const cause = error instanceof NotCommitted ? error.cause : error;
    this.#log.error('events not recorded', { reason: error.message, kind: cause instanceof Error ? cause.name : '' });
    return new RecorderUnavailable('storage did not take all events', { cause: error });
  }
}
