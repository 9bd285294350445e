import pLimit from 'p-limit';

import type { Log } from '../../log.ts';
import { StorageTrouble } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { isConflict, RecorderUnavailable } from '../errors.ts';
import type { EventMessage } from '../model/camera-event.ts';
import { dayOf, type Day } from '../model/day.ts';
import { shardOf } from '../model/shard.ts';
import { DayClosed, type DayShards, type Manifest } from '../rows/day-shards.ts';
import { shardPartition } from '../rows/keys.ts';
import type { Outcome } from './batch.ts';
import { CLOSED_DAY, CommitSlots, ShardCommitter, type Pause } from './committer.ts';
import { KnownRows, KnownRowsOfShard } from './known-rows.ts';
import { ShardWriter } from './shard-writer.ts';

const MAX_WAITING = 50_000;
const PARALLEL_CLAIMS = 16;
/** Committers that are kept although nothing waits for them. */
const IDLE_COMMITTERS = 1_000;

/** How a recorder works. */
export interface RecorderOptions {
  /** The categories that always find room, whatever others are counted. */
  readonly knownCategories?: Iterable<string>;
  readonly pause?: Pause;
}

/**
 * Records messages about events. Each event is counted exactly once, however often its messages are sent and however many
 * instances run.
 * The way of a message down from here is in the README, under Recording.
 *
 * @example
 * const outcomes = await recorder.record(messages); // only after everything is committed
 */
export class Recorder {
  readonly #table: Table;
  readonly #shards: DayShards;
  readonly #log: Log;
  readonly #known = new KnownRows();
  readonly #slots = new CommitSlots();
  readonly #knownCategories: ReadonlySet<string>;
  readonly #pause: Pause | undefined;
  readonly #committers = new Map<string, ShardCommitter>();
  /** Messages that were taken and are not answered yet. */
  #waiting = 0;
  readonly #recordings = new Set<Promise<unknown>>();

  constructor(table: Table, shards: DayShards, log: Log, { knownCategories = [], pause }: RecorderOptions = {}) {
    this.#table = table;
    this.#shards = shards;
    this.#log = log;
    this.#knownCategories = new Set(knownCategories);
    this.#pause = pause;
  }

  /**
   * Commits messages. If some fail, the others are committed all the same, and then the first error is thrown.
   *
   * @returns the outcome of each, in their order
   * @throws {DamagedRow} if a row that some of them change is damaged
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
  async settled(): Promise<void> {
    while (this.#recordings.size > 0) await Promise.allSettled(this.#recordings);
  }

  async #record(messages: readonly EventMessage[]): Promise<readonly Outcome[]> {
    const claims = new Map<Day, Promise<Manifest>>();
    const limit = pLimit(PARALLEL_CLAIMS);
    const settled = await Promise.allSettled(
      messages.map(async (message): Promise<Outcome> => {
        const day = dayOf(message.ts);
        let claim = claims.get(day);
        if (claim === undefined) claims.set(day, (claim = limit(async () => this.#shards.claim(day))));
        return this.#committer(day, await claim, message.cameraId).submit(message);
      }),
    );
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

  /** The one that writes to the shard of a camera. */
  #committer(day: Day, manifest: Manifest, cameraId: string): ShardCommitter {
    const partition = shardPartition(day, shardOf(cameraId, manifest.shards));
    const name = `${partition} of ${manifest.shards}`;
    const known = this.#committers.get(name);
    if (known !== undefined) return known;
    // Two that work on one shard would be in one another's way: only idle ones are dropped, those made first.
    for (const [other, { isIdle }] of this.#committers) {
      if (this.#committers.size < IDLE_COMMITTERS) break;
      if (isIdle) this.#committers.delete(other);
    }
    const writer = new ShardWriter({
      table: this.#table,
      day,
      manifest,
      manifests: this.#shards,
      partition,
      known: new KnownRowsOfShard(this.#known),
      knownCategories: this.#knownCategories,
    });
    const committer = new ShardCommitter(writer, this.#slots, this.#pause);
    this.#committers.set(name, committer);
    return committer;
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
