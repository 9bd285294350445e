import pLimit from 'p-limit';

import type { Log } from '../../log.ts';
import { StorageTrouble } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { DayClosed, DayHeld, DayMoved, isConflict, RecorderUnavailable } from '../errors.ts';
import type { EventMessage } from '../model/camera-event.ts';
import { type Day, dayOf } from '../model/day.ts';
import { shardOf } from '../model/shard.ts';
import type { StoredDay } from '../rows/day-row.ts';
import type { Days } from '../rows/days.ts';
import { shardPartition } from '../rows/keys.ts';
import type { Outcome } from './batch.ts';
import { CLOSED_DAY, type Pause, ShardCommitter } from './committer.ts';
import { RowMemory, ShardWriter } from './shard-writer.ts';

/** Most messages that wait in a process. */
const MAX_WAITING = 50_000;
const PARALLEL_CLAIMS = 16;
const PARALLEL_COMMITS = 32;
/** Committers that are kept although nothing waits for them. */
const IDLE_COMMITTERS = 1_000;
/** How often a message follows a day that is rewritten again and again. */
const MOVES = 5;

export interface RecorderOptions {
  /** The categories that always find room. */
  readonly configuredCategories?: Iterable<string>;
  readonly pause?: Pause;
}

/**
 * Records messages about events. Each event is counted exactly once, however often its messages are sent and however many
 * instances run. The way of a message down from here is in the README, under Recording.
 *
 * @example
 * const outcomes = await recorder.record(messages); // only after everything is committed
 */
export class Recorder {
  readonly #table: Table;
  readonly #days: Days;
  readonly #log: Log;
  readonly #memory = new RowMemory();
  readonly #limit = pLimit(PARALLEL_COMMITS);
  readonly #configuredCategories: ReadonlySet<string>;
  readonly #pause: Pause | undefined;
  readonly #committers = new Map<string, ShardCommitter>();
  /** Messages that were taken and are not answered yet. */
  #waiting = 0;
  readonly #recordings = new Set<Promise<unknown>>();

  constructor(table: Table, days: Days, log: Log, { configuredCategories = [], pause }: RecorderOptions = {}) {
    this.#table = table;
    this.#days = days;
    this.#log = log;
    this.#configuredCategories = new Set(configuredCategories);
    this.#pause = pause;
  }

  /**
   * Commits messages. If some fail, the others are committed, and then the first error is thrown.
   *
   * @returns the outcome of each, in their order
   * @throws {DamagedRow} if a row that some of them change is damaged
   * @throws {DayHeld} if the day of some of them is held by a rewrite
   * @throws {RecorderUnavailable} if all errors come from storage that could not take some of them now
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
  async allAnswered(): Promise<void> {
    while (this.#recordings.size > 0) await Promise.allSettled(this.#recordings);
  }

  async #record(messages: readonly EventMessage[]): Promise<readonly Outcome[]> {
    const claims = new Map<Day, Promise<StoredDay>>();
    const limit = pLimit(PARALLEL_CLAIMS);
    const claimOnce = async (day: Day): Promise<StoredDay> => {
      const claim = claims.get(day) ?? limit(async () => this.#days.claim(day));
      claims.set(day, claim);
      return claim;
    };
    const settled = await Promise.allSettled(messages.map(async (message) => this.#recordOne(message, claimOnce)));
    const outcomes: Outcome[] = [];
    const errors: unknown[] = [];
    for (const result of settled) {
      if (result.status === 'fulfilled') outcomes.push(result.value);
      else if (result.reason instanceof DayClosed) outcomes.push(CLOSED_DAY);
      else errors.push(result.reason);
    }
    if (errors.length > 0) throw this.#failure(errors);
    return outcomes;
  }

  /** Records a message in its shard; if the day was rewritten in the meantime, in the shard of the new generation. */
  async #recordOne(message: EventMessage, claim: (day: Day) => Promise<StoredDay>): Promise<Outcome> {
    const day = dayOf(message.ts);
    let row = await claim(day);
    for (let moves = 0; ; moves += 1) {
      try {
        return await this.#committer(day, row, message.cameraId).submit(message, moves > 0);
      } catch (error) {
        if (!(error instanceof DayMoved) || moves === MOVES) throw error;
        row = await this.#days.claim(day);
      }
    }
  }

  #committer(day: Day, row: StoredDay, cameraId: string): ShardCommitter {
    const partition = shardPartition(day, shardOf(cameraId, row.shards), row.generation);
    const name = `${partition} of ${row.shards}`;
    const known = this.#committers.get(name);
    if (known !== undefined) return known;
    // Two that work on one shard would be in one another's way: only idle ones are dropped, those made first.
    for (const [other, { isIdle }] of this.#committers) {
      if (this.#committers.size < IDLE_COMMITTERS) break;
      if (isIdle) this.#committers.delete(other);
    }
    const writer = new ShardWriter({
      table: this.#table,
      partition,
      memory: this.#memory,
      configuredCategories: this.#configuredCategories,
      demandOpen: async (isFirst) => this.#days.demandOpen(day, row, isFirst),
      demandWritable: async (mark) => this.#days.demandWritable(day, row, mark),
    });
    const committer = new ShardCommitter(writer, this.#limit, this.#pause);
    this.#committers.set(name, committer);
    return committer;
  }

  /** The error to throw for the errors of messages: an error that a retry cannot fix comes first. */
  #failure(errors: readonly unknown[]): unknown {
    const lasting = errors.find((error) => !isTransient(error));
    if (lasting !== undefined) return lasting;
    const cause = errors.find((error) => error instanceof DayHeld) ?? errors[0];
    if (cause instanceof DayHeld) return cause;
    this.#log.error('events not recorded', { kind: cause instanceof Error ? cause.name : typeof cause });
    return new RecorderUnavailable('storage did not take all events', { cause });
  }
}

const isTransient = (error: unknown): boolean =>
  error instanceof StorageTrouble || error instanceof DayHeld || error instanceof DayMoved || isConflict(error);
