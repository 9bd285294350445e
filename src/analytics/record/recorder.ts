import pLimit from 'p-limit';

import type { Log } from '../../log.ts';
import type { EventMessage } from '../model/camera-event.ts';
import { dayOf, type Day } from '../model/day.ts';
import { shardOf } from '../model/shard.ts';
import { DayClosed, type DayShards } from '../rows/day-shards.ts';
import { shardPartition } from '../rows/keys.ts';
import { StorageTrouble } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { CLOSED_DAY } from './closed-day.ts';
import type { Outcome } from './commit-draft.ts';
import { CommitSlots } from './commit-slots.ts';
import { KnownRows } from './known-rows.ts';
import type { LastStripe } from './own-stripe.ts';
import { ShardCommitter, type CommitterOptions } from './shard-committer.ts';
import { ShardRows } from './shard-rows.ts';
import { isConflict } from './shard-snapshot.ts';

/** Storage cannot take all of the messages now. What was committed stays, and sending all of them again is safe. */
export class RecorderUnavailable extends Error {
  override readonly name = 'RecorderUnavailable';
}

const MAX_WAITING = 50_000;
const IDLE_COMMITTERS = 64;
const PARALLEL_CLAIMS = 16;

/** How a recorder works. */
export interface RecorderOptions extends Pick<CommitterOptions, 'pause'> {
  /** The categories that always find room, whatever others are counted. */
  readonly knownCategories?: Iterable<string>;
}

/**
 * Records messages about events. Each event is counted exactly once, however often its messages are sent and however many
 * instances run.
 *
 * @example
 * const outcomes = await recorder.record(messages); // only after everything is committed
 */
export class Recorder {
  readonly #table: Table;
  readonly #shards: DayShards;
  readonly #log: Log;
  readonly #known = new KnownRows();
  readonly #lastStripe: LastStripe = { stripe: 0 };
  readonly #options: CommitterOptions;
  readonly #committers = new Map<string, ShardCommitter>();
  /** Messages that were taken and are not answered yet. */
  #waiting = 0;
  readonly #recordings = new Set<Promise<unknown>>();

  constructor(table: Table, shards: DayShards, log: Log, { knownCategories = [], ...options }: RecorderOptions = {}) {
    this.#table = table;
    this.#shards = shards;
    this.#log = log;
    this.#options = { ...options, slots: new CommitSlots(), knownCategories: new Set(knownCategories) };
  }

  /**
   * Commits messages. Where some fail, the others are committed all the same, and then the first error is thrown.
   *
   * @returns the outcome of each, in their order
   * @throws {DamagedRow} where a row that some of them change is damaged
   * @throws {RecorderUnavailable} where all errors come from storage that could not take some of them now
   */
  async record(messages: readonly EventMessage[]): Promise<readonly Outcome[]> {
    if (this.#waiting + messages.length > MAX_WAITING) {
      this.#log.warn('too many messages wait to be recorded', { waiting: this.#waiting });
      throw new RecorderUnavailable('too many messages wait to be recorded');
    }
    this.#waiting += messages.length;
    const recording = this.#record(messages);
    this.#recordings.add(recording);
    try {
      return await recording;
    } finally {
      this.#recordings.delete(recording);
      this.#waiting -= messages.length;
    }
  }

  /** Waits until all messages given to the recorder are committed or have failed. */
  async settled(): Promise<void> {
    while (this.#recordings.size > 0) await Promise.allSettled(this.#recordings);
  }

  async #record(messages: readonly EventMessage[]): Promise<readonly Outcome[]> {
    const claims = new Map<Day, Promise<number | 'closed'>>();
    const limit = pLimit(PARALLEL_CLAIMS);
    const settled = await Promise.allSettled(
      messages.map(async (message): Promise<Outcome> => {
        const day = dayOf(message.ts);
        let claim = claims.get(day);
        if (claim === undefined) claims.set(day, (claim = limit(async () => this.#claim(day))));
        const shards = await claim;
        if (shards === 'closed') return { refused: CLOSED_DAY };
        const outcome = await this.#committer(day, shards, shardOf(message.cameraId, shards)).submit(message);
        if (typeof outcome === 'object' && outcome.refused === CLOSED_DAY) this.#shards.forgetOpen(day);
        return outcome;
      }),
    );
    const errors = settled.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (errors.length > 0) throw this.#failure(errors);
    return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  }

  async #claim(day: Day): Promise<number | 'closed'> {
    try {
      return await this.#shards.claim(day);
    } catch (error) {
      if (error instanceof DayClosed) return 'closed';
      throw error;
    }
  }

  #committer(day: Day, shards: number, shard: number): ShardCommitter {
    const partition = shardPartition(day, shard);
    let committer = this.#committers.get(partition);
    if (committer === undefined) {
      const rows = new ShardRows(this.#table, partition, this.#known.ofShard(partition), this.#lastStripe, {
        knownCategories: this.#options.knownCategories,
        // Called back from below: only the commit finds out that the shard is empty.
        onEmpty: async () => this.#shards.confirm(day, shards),
      });
      committer = new ShardCommitter(this.#table, partition, rows, this.#options);
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

  /** The error to throw for the errors of messages: one that sending again cannot mend comes first. */
  #failure(errors: readonly unknown[]): unknown {
    const lasting = errors.find((error) => !isTransient(error));
    if (lasting !== undefined) return lasting;
    const [cause] = errors;
    this.#log.error('events not recorded', { kind: cause instanceof Error ? cause.name : typeof cause });
    return new RecorderUnavailable('storage did not take all events', { cause });
  }
}

const isTransient = (error: unknown): boolean => error instanceof StorageTrouble || isConflict(error);
