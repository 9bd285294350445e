import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import type { StoringWrite } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { FENCE_KEY, TOTAL_KEY } from '../rows/keys.ts';
import { inStripe } from '../rows/stripes.ts';
import { isFrame, type Batch } from './batch.ts';
import { planCommit, type CommitPlan } from './commit-plan.ts';
import type { CounterDifferences } from './counter-differences.ts';
import { planCounters } from './counter-plan.ts';
import type { KnownDay } from './own-stripe.ts';
import { answeredVersion, type ShardRows } from './shard-rows.ts';
import type { ShardSnapshot } from './shard-snapshot.ts';
import { wantedByDifferences, wantedByMessages } from './wanted-rows.ts';

/** A batch with its plan. It is written once the ETags from the answer to the transaction before it are known. */
export interface Prepared {
  readonly batch: Batch;
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
  readonly #table: Table;
  readonly #partition: string;
  readonly #rows: ShardRows;
  readonly #day: KnownDay;
  readonly #knownCategories: ReadonlySet<string>;
  /** The ETags that the last transaction answered, by row key. */
  #answered: ReadonlyMap<string, string> = new Map();
  /** Frames are repeated, perhaps a whole delivery: reading first is cheaper than one failed transaction after another. */
  #expectsKnown = false;

  constructor(table: Table, partition: string, rows: ShardRows, day: KnownDay, knownCategories: ReadonlySet<string>) {
    this.#table = table;
    this.#partition = partition;
    this.#rows = rows;
    this.#day = day;
    this.#knownCategories = knownCategories;
  }

  /** What to write for a batch. @throws {DayClosed | StaleSnapshot | StorageTrouble | DamagedRow} */
  async prepare(batch: Batch): Promise<Prepared> {
    await this.#demandOpen();
    const readAll = this.#expectsKnown;
    const snapshot = await this.#rows.snapshot(wantedByMessages(batch, readAll));
    const read = batch.filter(({ message, readFirst }) => isFrame(message) && (readFirst || readAll));
    if (read.length > 0) this.#expectsKnown = read.some(({ eventKey }) => snapshot.rows.has(eventKey));
    return { batch, snapshot, plan: planCommit(snapshot, batch, this.#knownCategories) };
  }

  /**
   * What to write to add differences, which no event row tells from others: so they go together with the write of a row that tells.
   *
   * @throws {DayClosed | StaleSnapshot | StorageTrouble | DamagedRow}
   */
  async prepareDifferences(differences: CounterDifferences, guard: StoringWrite): Promise<Prepared> {
    await this.#demandOpen();
    const snapshot = await this.#rows.snapshot(wantedByDifferences(differences));
    const { writes, rows } = planCounters(snapshot, differences);
    return { batch: [], snapshot, plan: { outcomes: [], writes: [...writes, guard], rows } };
  }

  /** Sends the transaction of a batch. Its answer is taken by {@link finish}. @throws {DayClosed | StorageTrouble} */
  async send(prepared: Prepared): Promise<Sent> {
    // Reading the rows may have taken long.
    await this.#demandOpen();
    const writes = prepared.plan.writes.map((write) =>
      write.kind === 'insert' ? write : { ...write, etag: answeredVersion(this.#answered, write.rowKey, write.etag) },
    );
    const answer = Promise.allSettled([this.#table.transact(this.#partition, writes)]).then(([result]) => result);
    return { prepared, writes, answer };
  }

  /** Plans go on as if a transaction that was sent were applied. */
  expect({ prepared }: Sent): void {
    this.#rows.apply(prepared.plan);
  }

  /**
   * Takes the answer to a transaction.
   *
   * @returns the new versions of its rows
   * @throws {WriteConflict | StorageTrouble | RequestRefused}
   */
  async finish({ prepared: { batch, plan, snapshot }, writes, answer }: Sent): Promise<ReadonlyMap<string, string>> {
    const result = await answer;
    if (result.status === 'rejected') {
      const { reason } = result;
      this.#rows.restore(plan, snapshot);
      if (reason instanceof StorageTrouble) for (const pending of batch) pending.uncertain = true;
      throw reason;
    }
    const etags = new Map(writes.map((write, index) => [write.rowKey, result.value[index] ?? '']));
    this.#answered = etags;
    this.#rows.apply(plan, (rowKey) => etags.get(rowKey) ?? '');
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
    const failed =
      error instanceof WriteConflict && error.index !== undefined ? prepared?.plan.writes[error.index] : undefined;
    if (failed !== undefined && prepared !== undefined) {
      const { snapshot } = prepared;
      try {
        if (failed.rowKey === inStripe(TOTAL_KEY, snapshot.stripe)) {
          if (!(await this.#rows.isStillAlone(snapshot))) await this.#rows.move();
          return error;
        }
        if (failed.rowKey === FENCE_KEY) {
          await this.#rows.move();
          return error;
        }
      } catch (met) {
        this.#readAgain(batch, false);
        return met;
      }
      if (batch.some(({ eventKey }) => eventKey === failed.rowKey)) {
        this.#rows.forgetEvents(batch.map(({ eventKey }) => eventKey));
        for (const pending of batch) pending.readFirst = true;
        return error;
      }
    }
    this.#readAgain(batch, error instanceof WriteConflict);
    return error;
  }

  #readAgain(batch: Batch, doubtsAbsence: boolean): void {
    this.#rows.forget(
      batch.map(({ eventKey }) => eventKey),
      doubtsAbsence,
    );
    for (const pending of batch) pending.readFirst = true;
  }

  async #demandOpen(): Promise<void> {
    const { shards, day, count } = this.#day;
    // The number of shards of a day changes only by a repair, or if storage was emptied.
    if ((await shards.claim(day)) !== count) throw new StorageTrouble(0, { reason: 'another manifest' });
  }
}
