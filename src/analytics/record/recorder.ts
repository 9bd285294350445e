import pLimit from 'p-limit';

import type { Log } from '../../log.ts';
import type { EventMessage } from '../model/camera-event.ts';
import { dayOf, type Day } from '../model/day.ts';
import { shardOf } from '../model/shard.ts';
import type { DayShards } from '../rows/day-shards.ts';
import { shardPartition } from '../rows/keys.ts';
import { StorageTrouble, WriteConflict, type CounterTable } from '../rows/table.ts';
import type { Outcome } from './commit-draft.ts';
import { RowCache } from './row-cache.ts';
import { ShardCommitter } from './shard-committer.ts';
import { ShardRows } from './shard-rows.ts';
import { StaleSnapshot } from './shard-snapshot.ts';

/** Storage cannot take all of the messages now. What was committed stays, and sending all of them again is safe. */
export class RecorderUnavailable extends Error {
  override readonly name = 'RecorderUnavailable';
}

const MAX_WAITING = 50_000;
const IDLE_COMMITTERS = 64;
const PARALLEL_COMMITS = 16;
const PARALLEL_CLAIMS = 16;

/**
 * Records messages about events. Each event is counted exactly once, however often its messages are sent and however many
 * instances run.
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
  readonly #recordings = new Set<Promise<unknown>>();

  constructor(table: CounterTable, shards: DayShards, log: Log) {
    this.#table = table;
    this.#shards = shards;
    this.#log = log;
  }

  /**
   * Commits messages. Where some fail, the others are committed all the same, and then the first error is thrown.
   *
   * @returns the outcome of each, in their order
   * @throws {DamagedRow} where a row that some of them change is damaged
   * @throws {RecorderUnavailable} where all errors come from storage that could not take some of them now
   */
  async record(messages: readonly EventMessage[]): Promise<readonly Outcome[]> {
    if (this.#waiting() + messages.length > MAX_WAITING) {
      this.#log.warn('too many messages wait to be recorded', { waiting: this.#waiting() });
      throw new RecorderUnavailable('too many messages wait to be recorded');
    }
    const recording = this.#record(messages);
    this.#recordings.add(recording);
    try {
      return await recording;
    } finally {
      this.#recordings.delete(recording);
    }
  }

  /** Waits until all messages given to the recorder are committed or have failed. */
  async settled(): Promise<void> {
    while (this.#recordings.size > 0) await Promise.allSettled(this.#recordings);
  }

  async #record(messages: readonly EventMessage[]): Promise<readonly Outcome[]> {
    const claims = new Map<Day, Promise<number>>();
    const limit = pLimit(PARALLEL_CLAIMS);
    const settled = await Promise.allSettled(
      messages.map(async (message) => {
        const day = dayOf(message.ts);
        let claim = claims.get(day);
        if (claim === undefined) claims.set(day, (claim = limit(async () => this.#shards.claim(day))));
        const shards = await claim;
        return this.#committer(day, shards, shardOf(message.cameraId, shards)).submit(message);
      }),
    );
    const errors = settled.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (errors.length > 0) throw this.#failure(errors);
    return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
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
    // Moved behind all others, so that the least recently used one is dropped first.
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

  /** The error to throw for the errors of messages: one that sending again cannot mend comes first. */
  #failure(errors: readonly unknown[]): unknown {
    const lasting = errors.find((error) => !isTransient(error));
    if (lasting !== undefined) return lasting;
    const [cause] = errors;
    this.#log.error('events not recorded', { kind: cause instanceof Error ? cause.name : typeof cause });
    return new RecorderUnavailable('storage did not take all events', { cause });
  }
}

const isTransient = (error: unknown): boolean =>
  error instanceof StorageTrouble || error instanceof WriteConflict || error instanceof StaleSnapshot;
