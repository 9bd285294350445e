import { setImmediate } from 'node:timers/promises';

import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import type { StoringWrite } from '../../storage/row.ts';
import { StaleSnapshot } from '../errors.ts';
import { FENCE_KEY, TOTAL_KEY } from '../rows/keys.ts';
import { areTooLarge, isFrame, type Batch } from './batch.ts';
import { planChanges, planCommit, type CommitPlan, type RowsPlan } from './commit-plan.ts';
import type { CounterDifferences } from './counter-differences.ts';
import { ofKind, type ShardSnapshot } from './known-rows.ts';
import type { WrittenShard } from './own-stripe.ts';
import { PENDING, ShardRows, wantedByDifferences, wantedByMessages } from './shard-rows.ts';

/** What to write, and what that was computed from. */
interface Planned<Plan extends RowsPlan = RowsPlan> {
  readonly snapshot: ShardSnapshot;
  readonly plan: Plan;
}

/** Makes single tries to commit to one shard: the rows, the plan, one transaction. */
export class ShardWriter {
  readonly #shard: WrittenShard;
  readonly #rows: ShardRows;
  /** The version of the manifest that what is known of the shard belongs to. */
  #version: string;
  /** The batch that was planned while the one before it was written. */
  #ahead: (Planned<CommitPlan> & { readonly batch: Batch }) | undefined;
  /** Frames are repeated, perhaps a whole delivery: reading first is cheaper than one failed transaction after another. */
  #expectsKnown = false;

  constructor(shard: WrittenShard) {
    this.#shard = shard;
    this.#rows = new ShardRows(shard);
    this.#version = shard.manifest.version;
  }

  /** What is known of the shard's rows. */
  get rows(): Pick<ShardRows, 'storedEvent' | 'neverFit' | 'move'> {
    return this.#rows;
  }

  /**
   * One try to commit a batch.
   *
   * @param following the batch that is committed next, if this one is: it is planned while this one is written
   * @returns what is committed: nothing is written where nothing changes; undefined: the batch does not fit into one transaction
   * @throws {DayClosed | WriteConflict | StaleSnapshot | StorageTrouble | RequestRefused | DamagedRow} then nothing is committed, or it is not
   * known whether it is. What must be read again is forgotten
   */
  async commit(batch: Batch, following?: Batch): Promise<CommitPlan | undefined> {
    let planned = this.#ahead?.batch === batch ? this.#ahead : undefined;
    this.#ahead = undefined;
    try {
      planned ??= { batch, ...(await this.#plan(batch)) };
      const { plan } = planned;
      if (batch.length > 1 && areTooLarge(plan.writes)) return undefined;
      if (plan.writes.length === 0) await this.#demandOpen();
      else await this.#send(planned, batch, following);
      return plan;
    } catch (error) {
      throw await this.#recover(batch, error, planned);
    }
  }

  /**
   * Plans to add differences, which no event row tells from others: so they go together with the write of a row that tells.
   *
   * @throws {StaleSnapshot | StorageTrouble | DamagedRow}
   */
  async planDifferences(differences: CounterDifferences, guard: StoringWrite): Promise<Planned> {
    const snapshot = await this.#rows.snapshot(wantedByDifferences(differences));
    const { writes, rows } = planChanges(snapshot, differences);
    return { snapshot, plan: { writes: [...writes, guard], rows } };
  }

  /**
   * Writes what was planned to add differences.
   *
   * @returns the version of the row that tells
   * @throws {DayClosed | WriteConflict | StaleSnapshot | StorageTrouble | RequestRefused | DamagedRow}
   */
  async addDifferences(planned: Planned): Promise<string | undefined> {
    return (await this.#send(planned)).at(-1);
  }

  async #plan(batch: Batch, before?: RowsPlan): Promise<Planned<CommitPlan>> {
    const readAll = this.#expectsKnown;
    const snapshot = await this.#rows.snapshot(wantedByMessages(batch, readAll), before);
    const read = batch.filter(({ message, readFirst }) => isFrame(message) && (readFirst || readAll));
    if (read.length > 0) {
      this.#expectsKnown = read.some(({ eventKey }) => ofKind(snapshot.rows.get(eventKey), 'event') !== undefined);
    }
    return { snapshot, plan: planCommit(snapshot, batch, this.#shard.knownCategories) };
  }

  /** @returns the new versions of the rows, in the order of the writes */
  async #send({ snapshot, plan }: Planned, batch: Batch = [], following?: Batch): Promise<readonly string[]> {
    // Before the first commit of a shard storage itself is asked: nobody may look for the shard.
    const isFirst = snapshot.fence === undefined && ofKind(snapshot.rows.get(TOTAL_KEY), 'total') === undefined;
    await this.#demandOpen(isFirst);
    const answering = Promise.allSettled([this.#shard.table.transact(this.#shard.partition, plan.writes)]);
    // The request is sent before anything else is computed.
    await setImmediate();
    const ahead = following && (await this.#planAhead(following, plan));
    const [answer] = await answering;
    if (answer.status === 'rejected') {
      if (answer.reason instanceof StorageTrouble) for (const pending of batch) pending.uncertain = true;
      throw answer.reason;
    }
    this.#rows.apply(plan, answer.value);
    this.#ahead = ahead && { ...ahead, plan: withEtags(ahead.plan, plan.writes, answer.value) };
    return answer.value;
  }

  /** Plans the next batch as if a plan were applied. An error that lasts is met again in the batch's own turn. */
  async #planAhead(
    batch: Batch,
    before: RowsPlan,
  ): Promise<(Planned<CommitPlan> & { readonly batch: Batch }) | undefined> {
    try {
      return { batch, ...(await this.#plan(batch, before)) };
    } catch {
      return undefined;
    }
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
   * @param planned undefined: not even the rows could be read
   * @returns the error, or the one that finding out met
   */
  async #recover(batch: Batch, error: unknown, planned: Planned | undefined): Promise<unknown> {
    const index = error instanceof WriteConflict ? error.index : undefined;
    const failed = planned?.plan.writes[index ?? -1]?.rowKey;
    try {
      // A plan begins with the total.
      if (planned !== undefined && index === 0) {
        if (!(await this.#rows.isStillAlone(planned.snapshot))) await this.#rows.move();
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
   * That the day takes changes and has as many shards as before: that changes only by a repair, or if storage was emptied. It is asked after
   * the rows were read, which may have taken long. If the manifest is another one, what is known of the shard is forgotten.
   *
   * @throws {DayClosed | StaleSnapshot | StorageTrouble | DamagedRow}
   */
  async #demandOpen(inStorage = false): Promise<void> {
    const { manifests, day, manifest } = this.#shard;
    const { shards, version } = await manifests.claim(day, inStorage);
    if (shards !== manifest.shards) throw new StorageTrouble(0, { reason: 'another manifest' });
    if (this.#version === version) return;
    this.#version = version;
    this.#rows.forgetAll();
    throw new StaleSnapshot('the manifest changed');
  }
}

/** A plan that was made while another one was in flight, with the versions that this one has written. */
const withEtags = (plan: CommitPlan, written: readonly StoringWrite[], etags: readonly string[]): CommitPlan => {
  const versions = new Map(written.map(({ rowKey }, index) => [rowKey, etags[index]]));
  return {
    ...plan,
    writes: plan.writes.map((write) =>
      write.kind !== 'insert' && write.etag === PENDING
        ? { ...write, etag: versions.get(write.rowKey) ?? PENDING }
        : write,
    ),
  };
};
