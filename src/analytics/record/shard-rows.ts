import { DamagedRow, decodingRow } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { hourOfMinute } from '../model/day.ts';
import { eventRowFrom, type EventRow } from '../rows/event-row.ts';
import { bucketsFrom, eventsOf, type Bucket } from '../rows/hour-rows.ts';
import { cameraKey, camerasKey, hourKey, HOURS_KEY, TOTAL_KEY } from '../rows/keys.ts';
import { minuteRowFrom } from '../rows/minute-row.ts';
import { inStripe, stateFrom, STATE_PROPERTIES } from '../rows/stripes.ts';
import { readTotal } from '../rows/total-row.ts';
import type { RowsPlan } from './counter-plan.ts';
import type { KnownRowsOfShard } from './known-rows.ts';
import { OwnStripe, type KnownDay, type LastStripe } from './own-stripe.ts';
import { RowReads } from './row-reads.ts';
import { ofKind, type KnownRow, type ShardSnapshot } from './shard-snapshot.ts';
import type { WantedCamera, WantedRows } from './wanted-rows.ts';

/** In place of the ETag of a row that a transaction in flight is about to write. */
const PENDING = 'pending';

/** What a shard's rows are read for. */
export interface RowsOptions {
  /** The categories that always find room. */
  readonly knownCategories: ReadonlySet<string>;
  /** The day, whose manifest is confirmed before the first event of the shard is written. */
  readonly known?: KnownDay;
}

/**
 * The rows of one shard of a day for one writer: what a commit needs of them, read when needed, kept from the last commit, forgotten
 * after a conflict.
 */
export class ShardRows {
  readonly #known: KnownRowsOfShard;
  readonly #knownCategories: ReadonlySet<string>;
  readonly #reads: RowReads;
  readonly #own: OwnStripe;
  /** Whether a row may be stored although the rows above it do not say so: after a conflict, all are looked for. */
  #doubtsAbsence = false;

  constructor(
    table: Table,
    partition: string,
    known: KnownRowsOfShard,
    last: LastStripe,
    { knownCategories, known: day }: RowsOptions,
  ) {
    this.#known = known;
    this.#knownCategories = knownCategories;
    this.#reads = new RowReads(table, partition, known);
    this.#own = new OwnStripe(table, partition, last, day);
  }

  /** The event as it was last seen in storage, from memory. */
  committedEvent(key: string): EventRow | undefined {
    const event = ofKind(this.#known.get(key), 'event');
    return event?.etag === PENDING ? undefined : event?.value;
  }

  /** The event as it is in storage now. @throws {StorageTrouble | DamagedRow} */
  async storedEvent(key: string): Promise<EventRow | undefined> {
    const row = await this.#reads.one(key);
    return row && eventRowFrom(row);
  }

  /** The rows that a plan needs. @throws {StorageTrouble | DamagedRow | DayClosed} */
  async snapshot(wanted: WantedRows): Promise<ShardSnapshot> {
    const { total, hours } = await this.#top();
    const { partition } = this.#reads;
    const stripe = this.#own.number;
    const at = (key: string): string => inStripe(key, stripe);
    const rows = new Map<string, KnownRow>([
      [at(TOTAL_KEY), total],
      [at(HOURS_KEY), hours],
    ]);
    const takeAll = (found: ReadonlyMap<string, KnownRow>): void => found.forEach((row, key) => rows.set(key, row));
    const list = ofKind(total, 'total')?.value.cameras;
    for (const number of (list?.texts ?? []).keys()) {
      const key = at(camerasKey(number + 1));
      const row = this.#known.get(key);
      if (row !== undefined) rows.set(key, row);
    }
    // An hour or a camera that the stripe does not have has no row there: it is written together with the rows that say so.
    const doubts = this.#doubtsAbsence;
    const stored = [...wanted.hours].filter((hour) => doubts || ofKind(hours, 'buckets')?.value.has(hour));
    const cameras = [...wanted.cameras].filter(([cameraId]) => doubts || list?.indexes.has(cameraId));
    await Promise.all([
      this.#reads.each(stored, async (hour) => {
        const key = at(hourKey(hour));
        rows.set(key, await this.#reads.kept(key, (row) => ({ kind: 'buckets', value: bucketsFrom(row) })));
      }),
      this.#reads.cameras(stripe, cameras, list?.indexes.size ?? 0).then(takeAll),
    ]);
    const bucketOf = (minute: number): Bucket | undefined =>
      ofKind(rows.get(at(hourKey(hourOfMinute(minute)))), 'buckets')?.value.get(minute % 60);
    const eventsIn = (minute: number): number => {
      const bucket = bucketOf(minute);
      const keys = { partitionKey: partition, rowKey: at(hourKey(hourOfMinute(minute))) };
      return bucket === undefined ? 0 : decodingRow(keys, () => eventsOf(bucket));
    };
    await Promise.all([
      this.#reads.each(wanted.halfMinutes, async ([plain, minute]) => {
        if (!doubts && bucketOf(minute) === undefined) return;
        const key = at(plain);
        rows.set(key, await this.#reads.kept(key, (row) => ({ kind: 'samples', value: minuteRowFrom(row) })));
      }),
      this.#reads.events(wanted, eventsIn).then(takeAll),
    ]);
    const elsewhere = await this.#reads.categoriesInAllStripes(this.#withNewCategories(wanted.cameras, rows, stripe));
    return { partition, stripe, rows, fence: this.#own.fence, elsewhere };
  }

  /** The cameras that may get a category which is new to them in this stripe, and is none of the known ones. */
  #withNewCategories(
    wanted: ReadonlyMap<string, WantedCamera>,
    rows: ReadonlyMap<string, KnownRow>,
    stripe: number,
  ): readonly string[] {
    const total = ofKind(rows.get(inStripe(TOTAL_KEY, stripe)), 'total')?.value;
    if (stripe === 0 && (total?.stripes ?? 1) === 1) return [];
    return [...wanted].flatMap(([cameraId, { categories }]) => {
      const own = ofKind(rows.get(inStripe(cameraKey(cameraId), stripe)), 'camera')?.value.tally.categories;
      const asks = [...categories].some((one) => own?.has(one) !== true && !this.#knownCategories.has(one));
      return asks ? [cameraId] : [];
    });
  }

  /**
   * The `total` and the `hours` row of the writer's stripe, which say what other rows the stripe has. If the stripe has no commit and may
   * not get one, the stripe is another one afterwards.
   */
  async #top(): Promise<{ readonly total: KnownRow; readonly hours: KnownRow }> {
    const { table, partition } = this.#reads;
    const [known, own] = [this.#known, this.#own];
    for (;;) {
      const at = (key: string): string => inStripe(key, own.number);
      const [total, hours] = [known.get(at(TOTAL_KEY)), known.get(at(HOURS_KEY))];
      if (total !== undefined && hours !== undefined) return { total, hours };
      if (own.isNew) {
        return { total: known.keep(at(TOTAL_KEY), undefined), hours: known.keep(at(HOURS_KEY), undefined) };
      }
      const [stored, hoursRow] = await Promise.all([
        readTotal(table, partition, own.number),
        this.#reads.one(at(HOURS_KEY)),
      ]);
      if (stored !== undefined) {
        await this.#checkAnnounced(own.number);
        const { etag, lists, ...value } = stored;
        for (const [index, list] of lists.entries()) {
          known.set(at(camerasKey(index + 1)), { kind: 'list', etag: list.etag });
        }
        known.set(at(TOTAL_KEY), { kind: 'total', etag, value });
      } else if (await own.mayStart()) {
        known.keep(at(TOTAL_KEY), undefined);
      } else {
        continue;
      }
      known.keep(at(HOURS_KEY), hoursRow && { kind: 'buckets', etag: hoursRow.etag, value: bucketsFrom(hoursRow) });
    }
  }

  /** What was counted in a stripe that stripe 0 does not announce would be in no answer. Only damage leaves such rows. @throws {DamagedRow} */
  async #checkAnnounced(stripe: number): Promise<void> {
    if (stripe === 0) return;
    const first = await this.#reads.one(TOTAL_KEY, STATE_PROPERTIES);
    if (first !== undefined && stateFrom(first).stripes > stripe) return;
    throw new DamagedRow(this.#reads.partition, inStripe(TOTAL_KEY, stripe), 'the shard does not have its stripe');
  }

  /**
   * Takes over the rows that a transaction writes: with the ETags of its answer, or before the answer, so that the next
   * transaction can be planned meanwhile.
   */
  apply({ rows }: RowsPlan, etagOf: (rowKey: string) => string = () => PENDING): void {
    for (const [key, row] of rows) this.#known.set(key, { ...row, etag: etagOf(key) });
    this.#own.used();
    this.#doubtsAbsence = false;
  }

  /** Restores what was known before the rows of a plan, which failed, were taken over. */
  restore({ rows }: RowsPlan, snapshot: ShardSnapshot): void {
    for (const key of rows.keys()) {
      const before = snapshot.rows.get(key);
      if (before === undefined || before.etag === PENDING) this.#known.forget(key);
      else this.#known.set(key, before);
    }
    this.#own.restore(snapshot.fence);
  }

  /** Forgets the rows of events, which another writer has changed. */
  forgetEvents(eventKeys: Iterable<string>): void {
    for (const key of eventKeys) this.#known.forget(key);
  }

  /**
   * Forgets everything that a failed transaction relied on.
   *
   * @param doubtsAbsence whether it met a row that should not be there
   */
  forget(eventKeys: Iterable<string>, doubtsAbsence: boolean): void {
    this.#known.forgetCounters();
    this.forgetEvents(eventKeys);
    this.#doubtsAbsence ||= doubtsAbsence;
  }

  /**
   * After a transaction that failed at the stripe's `total` row: whether only the announcement of a new stripe was added to that row.
   * Then what is known of the stripe is still right. Else another writer is in the stripe.
   *
   * @throws {StorageTrouble | DamagedRow}
   */
  async isStillAlone({ rows }: ShardSnapshot): Promise<boolean> {
    const key = inStripe(TOTAL_KEY, this.#own.number);
    const before = ofKind(rows.get(key), 'total');
    // The row was to be inserted: somebody else has done that.
    if (before === undefined) return false;
    const row = await this.#reads.one(key, STATE_PROPERTIES);
    if (row === undefined) return false;
    const { commit, stripes } = stateFrom(row);
    if (commit !== before.value.commit) return false;
    // Without the version before, what was restored is not complete: it is read again.
    if (before.etag === PENDING) this.#known.forgetCounters();
    else this.#known.set(key, { kind: 'total', etag: row.etag, value: { ...before.value, stripes } });
    return true;
  }

  /** Moves to an idle stripe, or to a new one. @throws {StorageTrouble | DamagedRow} */
  async move(): Promise<void> {
    this.#known.forgetCounters();
    await this.#own.move();
  }
}

/** The version of a write that was planned before the transaction before it was answered. */
export const answeredVersion = (answered: ReadonlyMap<string, string>, rowKey: string, etag: string): string =>
  etag === PENDING ? (answered.get(rowKey) ?? PENDING) : etag;
