import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import type { StoringWrite } from '../../storage/row.ts';
import { StaleSnapshot } from '../errors.ts';
import { FENCE_KEY, TOTAL_KEY } from '../rows/keys.ts';
import { inStripe } from '../rows/stripes.ts';
import { isFrame, type Batch } from './batch.ts';
import { planCommit, planCounters, type CommitPlan } from './commit-plan.ts';
import type { CounterDifferences } from './counter-differences.ts';
import { ofKind, type ShardSnapshot } from './known-rows.ts';
import type { WriterShard } from './own-stripe.ts';
import { PENDING, ShardRows, wantedByDifferences, wantedByMessages } from './shard-rows.ts';

/** A batch with its plan. */
export interface Prepared {
  readonly batch: Batch;
  /** What the snapshot was taken of. */
  readonly rows: ShardRows;
  readonly snapshot: ShardSnapshot;
  readonly plan: CommitPlan;
}

/** A transaction that was sent. */
export interface Sent {
  readonly prepared: Prepared;
  readonly writes: readonly StoringWrite[];
  readonly answer: Promise<PromiseSettledResult<readonly string[]>>;
}

/** Makes single tries to commit batches of one shard: the rows, the plan, one transaction. */
export class TransactionWriter {
  readonly #shard: WriterShard;
  /** What is known of the shard, and the version of the manifest that it belongs to; undefined: nothing was written yet. */
  #rows: ShardRows;
  #version: string | undefined;
  /** The ETags that the last transaction answered, by row key. */
  #answered: ReadonlyMap<string, string> = new Map();
  /** Frames are repeated, perhaps a whole delivery: reading first is cheaper than one failed transaction after another. */
  #expectsKnown = false;

  constructor(shard: WriterShard) {
    this.#shard = shard;
    this.#rows = new ShardRows(shard);
  }

  get rows(): ShardRows {
    return this.#rows;
  }

  /**
   * What to write for a batch.
   *
   * @param before a transaction in flight: the plan goes on as if it were applied, and must be dropped if it fails
   * @throws {DayClosed | StaleSnapshot | StorageTrouble | DamagedRow}
   */
  async prepare(batch: Batch, before?: Sent): Promise<Prepared> {
    await this.#demandOpen();
    if (before !== undefined && before.prepared.rows !== this.#rows) throw new StaleSnapshot('the manifest changed');
    const readAll = this.#expectsKnown;
    const rows = this.#rows;
    const snapshot = await rows.snapshot(wantedByMessages(batch, readAll), before?.prepared.plan);
    const read = batch.filter(({ message, readFirst }) => isFrame(message) && (readFirst || readAll));
    if (read.length > 0) {
      this.#expectsKnown = read.some(({ eventKey }) => ofKind(snapshot.rows.get(eventKey), 'event') !== undefined);
    }
    return { batch, rows, snapshot, plan: planCommit(snapshot, batch, this.#shard.knownCategories) };
  }

  /**
   * What to write to add differences, which no event row tells from others: so they go together with the write of a row that tells.
   *
   * @throws {DayClosed | StaleSnapshot | StorageTrouble | DamagedRow}
   */
  async prepareDifferences(differences: CounterDifferences, guard: StoringWrite): Promise<Prepared> {
    await this.#demandOpen();
    const rows = this.#rows;
    const snapshot = await rows.snapshot(wantedByDifferences(differences));
    const { writes, ...plan } = planCounters(snapshot, differences);
    return { batch: [], rows, snapshot, plan: { ...plan, outcomes: [], writes: [...writes, guard] } };
  }

  /** Sends the transaction of a batch. Its answer is taken by {@link finish}. @throws {DayClosed | StorageTrouble} */
  async send(prepared: Prepared): Promise<Sent> {
    // Reading the rows may have taken long. Before the first commit of a shard storage itself is asked: nobody may look for the shard.
    const { rows: known, stripe, fence } = prepared.snapshot;
    const isFirst = fence === undefined && ofKind(known.get(inStripe(TOTAL_KEY, stripe)), 'total') === undefined;
    await this.#demandOpen(isFirst);
    if (prepared.rows !== this.#rows) throw new StaleSnapshot('the manifest changed');
    const writes = prepared.plan.writes.map((write) =>
      write.kind !== 'insert' && write.etag === PENDING
        ? { ...write, etag: this.#answered.get(write.rowKey) ?? PENDING }
        : write,
    );
    const answer = Promise.allSettled([this.#shard.table.transact(this.#shard.partition, writes)]).then(
      ([result]) => result,
    );
    return { prepared, writes, answer };
  }

  /**
   * Takes the answer to a transaction.
   *
   * @returns the new versions of its rows
   * @throws {WriteConflict | StorageTrouble | RequestRefused}
   */
  async finish({ prepared: { batch, rows, plan }, writes, answer }: Sent): Promise<ReadonlyMap<string, string>> {
    const result = await answer;
    if (result.status === 'rejected') {
      const { reason } = result;
      if (reason instanceof StorageTrouble) for (const pending of batch) pending.uncertain = true;
      throw reason;
    }
    const etags = new Map(writes.map((write, index) => [write.rowKey, result.value[index] ?? '']));
    this.#answered = etags;
    if (rows === this.#rows) rows.apply(plan, etags);
    return etags;
  }

  /**
   * After a failed try: finds out what was wrong, and forgets what must be read again.
   *
   * - At the `total` row of the stripe: only an announcement was added, or another writer is in the stripe, and this one moves.
   * - At the fence: another stripe appeared, and this writer chooses a stripe again.
   * - At an event row: another instance changed the event.
   * - At any other row: it changed, or it was not expected. Everything is read again, and nothing is taken for absent.
   * - If it is not known where: everything is read again. What was applied already then comes out as no difference.
   *
   * @param prepared what was planned; undefined: not even the rows could be read
   * @returns the error, or the one that finding out met
   */
  async recover(batch: Batch, error: unknown, prepared: Prepared | undefined): Promise<unknown> {
    const failed = error instanceof WriteConflict ? prepared?.plan.writes[error.index ?? -1]?.rowKey : undefined;
    try {
      if (prepared !== undefined && failed === inStripe(TOTAL_KEY, prepared.snapshot.stripe)) {
        if (!(await this.#rows.isStillAlone(prepared.snapshot))) await this.#rows.move();
        return error;
      }
      if (failed === FENCE_KEY) {
        await this.#rows.move();
        return error;
      }
    } catch (met) {
      return this.#readAgain(batch, met);
    }
    return this.#readAgain(batch, error, failed);
  }

  #readAgain(batch: Batch, error: unknown, failed = ''): unknown {
    const events = batch.map(({ eventKey }) => eventKey);
    for (const pending of batch) pending.readFirst = true;
    if (events.includes(failed)) this.#shard.known.forgetEvents(events);
    else this.#rows.forget(events, error instanceof WriteConflict);
    return error;
  }

  /**
   * That the day takes changes and has as many shards as before: that changes only by a repair, or if storage was emptied. If the manifest is
   * another one, what is known of the shard is forgotten.
   *
   * @throws {DayClosed | StorageTrouble | DamagedRow}
   */
  async #demandOpen(inStorage = false): Promise<void> {
    const { manifests, day, count } = this.#shard;
    const { shards, version } = await manifests.claim(day, inStorage);
    if (shards !== count) throw new StorageTrouble(0, { reason: 'another manifest' });
    if (this.#version !== undefined && this.#version !== version) {
      this.#shard.known.forgetAll();
      this.#rows = new ShardRows(this.#shard);
    }
    this.#version = version;
  }
}
