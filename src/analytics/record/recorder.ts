import pLimit from 'p-limit';

import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { DayHeld } from '../errors.ts';
import type { EventMessage } from '../model/camera-event.ts';
import { dayOf } from '../model/day.ts';
import { shardOf, shardPartition } from '../rows/keys.ts';
import type { Outcome } from './commit-plan.ts';
import { type Pause, ShardCommitter } from './committer.ts';
import { RowMemory, ShardWriter } from './shard-writer.ts';

/** The maximum number of messages that wait in a process. */
const MAX_WAITING = 50_000;
const PARALLEL_COMMITS = 32;
/** The maximum number of idle committers that are kept. */
const IDLE_COMMITTERS = 1_000;

/** A larger difference between the clocks of this process and of storage is logged, hourly: it decides which events come too late or too early. */
const CLOCK_OFF_MS = 60_000;
const TELL_AGAIN_MS = 3_600_000;

export interface RecorderOptions {
  /** The categories that always find room. */
  readonly configuredCategories?: Iterable<string>;
  readonly pause?: Pause;
  /** From 0 to less than 1: chooses stripes. */
  readonly random?: () => number;
}

/**
 * Records messages about events. Each event is counted exactly once, however often its messages are sent and however many
 * instances run. README.md ("An event, step by step") follows a message from here.
 *
 * @example
 * const outcomes = await recorder.record(messages); // only after everything is committed
 */
export class Recorder {
  readonly #table: Table;
  readonly #shards: number;
  readonly #log: Log;
  readonly #memory = new RowMemory();
  readonly #limit = pLimit(PARALLEL_COMMITS);
  readonly #configuredCategories: ReadonlySet<string>;
  readonly #pause: Pause | undefined;
  readonly #random: () => number;
  readonly #committers = new Map<string, ShardCommitter>();
  /** Messages that were taken and are not answered yet. */
  #waiting = 0;
  #toldClockAt = -Infinity;
  readonly #recordings = new Set<Promise<unknown>>();

  /** @param shards of the table, 1 to 64 */
  constructor(table: Table, shards: number, log: Log, options: RecorderOptions = {}) {
    this.#table = table;
    this.#shards = shards;
    this.#log = log;
    this.#configuredCategories = new Set(options.configuredCategories);
    this.#pause = options.pause;
    this.#random = options.random ?? Math.random;
  }

  /**
   * Commits messages. If some fail, the others are committed, and then the first error is thrown.
   *
   * @returns the outcome of each, in their order
   * @throws {DamagedRow} if a row that some of them change is damaged
   * @throws {DayHeld} if the counters of the day of some of them are being rebuilt
   * @throws {StorageTrouble} if all errors come from storage that could not take some of them now: sending all of them again is safe
   */
  async record(messages: readonly EventMessage[]): Promise<readonly Outcome[]> {
    if (this.#waiting + messages.length > MAX_WAITING) {
      this.#log.warn('too many messages wait to be recorded', { waiting: this.#waiting });
      throw new StorageTrouble(0, { reason: 'too many messages wait' });
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
  async allAnswered(): Promise<void> {
    while (this.#recordings.size > 0) await Promise.allSettled(this.#recordings);
  }

  async #record(messages: readonly EventMessage[]): Promise<readonly Outcome[]> {
    const settled = await Promise.allSettled(
      messages.map(async (message) => this.#committerOf(message).submit(message)),
    );
    this.#compareClocks();
    const errors: unknown[] = settled.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    if (errors.length > 0) throw this.#failure(errors);
    return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  }

  #committerOf({ ts, cameraId }: EventMessage): ShardCommitter {
    const partition = shardPartition(dayOf(ts), shardOf(cameraId, this.#shards));
    const known = this.#committers.get(partition);
    if (known !== undefined) return known;
    // Only idle committers are dropped, the oldest first.
    for (const [other, { isIdle }] of this.#committers) {
      if (this.#committers.size < IDLE_COMMITTERS) break;
      if (isIdle) this.#committers.delete(other);
    }
    const shard = {
      table: this.#table,
      partition,
      memory: this.#memory,
      configuredCategories: this.#configuredCategories,
      random: this.#random,
    };
    const committer = new ShardCommitter(() => new ShardWriter(shard), this.#limit, this.#pause);
    this.#committers.set(partition, committer);
    return committer;
  }

  #compareClocks(): void {
    const aheadMs = Date.now() - this.#table.now();
    if (Math.abs(aheadMs) <= CLOCK_OFF_MS || performance.now() - this.#toldClockAt < TELL_AGAIN_MS) return;
    this.#toldClockAt = performance.now();
    this.#log.warn('clock is off', { ahead_seconds: Math.round(aheadMs / 1_000) });
  }

  /** The error to throw for the errors of messages: an error that a retry cannot fix comes first. */
  #failure(errors: readonly unknown[]): unknown {
    const lasting = errors.find((error) => !isTransient(error));
    if (lasting !== undefined) return lasting;
    const cause = errors.find((error) => error instanceof DayHeld) ?? errors[0];
    if (cause instanceof DayHeld) return cause;
    this.#log.error('events not recorded', {
      kind: cause instanceof Error ? cause.name : typeof cause,
      reason: cause instanceof StorageTrouble ? cause.reason : undefined,
    });
    return cause instanceof StorageTrouble ? cause : new StorageTrouble(0, { reason: 'conflicts', cause });
  }
}

const isTransient = (error: unknown): boolean =>
  error instanceof StorageTrouble || error instanceof DayHeld || error instanceof WriteConflict;
