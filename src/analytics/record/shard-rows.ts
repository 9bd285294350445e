import { hourOfMinute } from '../model/day.ts';
import { CAMERA_DAY_PROPERTIES, cameraProperties, cameraRowFrom } from '../rows/camera-row.ts';
import { DayClosed } from '../rows/day-shards.ts';
import { decodingRow } from '../rows/damaged-row.ts';
import { eventRowFrom, type EventRow } from '../rows/event-row.ts';
import { readFence, type Fence } from '../rows/fence-row.ts';
import { bucketsFrom, eventsOf } from '../rows/hour-rows.ts';
import { cameraKey, camerasKey, hourKey, HOURS_KEY, TOTAL_KEY } from '../rows/keys.ts';
import { minuteRowFrom } from '../rows/minute-row.ts';
import type { StoredRow } from '../rows/row.ts';
import { inStripe } from '../rows/stripe-keys.ts';
import { readStripes } from '../rows/stripe-reads.ts';
import type { CounterTable } from '../rows/table.ts';
import { readTotal, stateFrom, STATE_PROPERTIES } from '../rows/total-row.ts';
import type { RowsPlan } from './counter-plan.ts';
import type { KnownRowsOfShard } from './known-rows.ts';
import { RowReads } from './row-reads.ts';
import { ofKind, type KnownRow, type ShardRow, type ShardSnapshot } from './shard-snapshot.ts';
import { chooseStripe, readStripeTimes } from './stripe-choice.ts';
import type { WantedCamera, WantedRows } from './wanted-rows.ts';

/** In place of the ETag of a row that a transaction in flight is about to write. */
export const PENDING = 'pending';

const ABSENT: KnownRow = { kind: 'absent', etag: '' };
const CAMERAS_A_KEY_FOR_RANGE = 8;
const EVENTS_A_KEY_FOR_RANGE = 20;

/** The stripe that the process used last, in any shard. On another shard it starts there, so that instances keep apart. */
export interface LastStripe {
  stripe: number;
}

/** What a shard's rows are read for. */
export interface RowsOptions {
  /** The categories that always find room. */
  readonly knownCategories: ReadonlySet<string>;
  /** Called before the first event of the shard is written. */
  readonly onEmpty: () => Promise<void>;
}

/**
 * The rows of one shard of a day for one writer: the stripe that it writes to, and what a commit needs of the rows, read when
 * needed, kept from the last commit, forgotten after a conflict.
 */
export class ShardRows {
  readonly #table: CounterTable;
  readonly #partition: string;
  readonly #known: KnownRowsOfShard;
  readonly #last: LastStripe;
  readonly #options: RowsOptions;
  readonly #reads: RowReads;
  #stripe: number;
  /** Whether the stripe may be one that does not exist yet. */
  #mayCreate = false;
  #fence: Fence | undefined;

  constructor(table: CounterTable, partition: string, known: KnownRowsOfShard, last: LastStripe, options: RowsOptions) {
    this.#table = table;
    this.#partition = partition;
    this.#known = known;
    this.#last = last;
    this.#options = options;
    this.#reads = new RowReads(table, partition);
    this.#stripe = last.stripe;
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
    const rows = new Map<string, KnownRow>();
    const take = (key: string, row: KnownRow): void => void rows.set(key, row);
    const at = (key: string): string => inStripe(key, this.#stripe);
    take(at(TOTAL_KEY), total);
    take(at(HOURS_KEY), hours);
    for (const number of (ofKind(total, 'total')?.value.cameras.texts ?? []).keys()) {
      const key = at(camerasKey(number + 1));
      const list = this.#known.get(key);
      if (list !== undefined) take(key, list);
    }
    const list = ofKind(total, 'total')?.value.cameras.indexes;
    // An hour or a camera that the stripe does not have has no row there: it is written together with the rows that say so.
    const stored = [...wanted.hours].filter((hour) => ofKind(hours, 'buckets')?.value.has(hour));
    const cameras = new Map([...wanted.cameras].filter(([cameraId]) => list?.has(cameraId)));
    await Promise.all([
      this.#reads.each(stored, async (hour) => {
        const key = at(hourKey(hour));
        take(key, await this.#row(key, (row) => ({ kind: 'buckets', value: bucketsFrom(row) })));
      }),
      this.#cameras(cameras, list?.size ?? 0, take),
    ]);
    const bucketOf = (minute: number) =>
      ofKind(rows.get(at(hourKey(hourOfMinute(minute)))), 'buckets')?.value.get(minute % 60);
    await Promise.all([
      this.#reads.each(wanted.halfMinutes, async ([plain, minute]) => {
        if (bucketOf(minute) === undefined) return;
        const key = at(plain);
        take(key, await this.#row(key, (row) => ({ kind: 'samples', value: minuteRowFrom(row) })));
      }),
      this.#events(wanted, take, (minute) => {
        const bucket = bucketOf(minute);
        const keys = { partitionKey: this.#partition, rowKey: at(hourKey(hourOfMinute(minute))) };
        return bucket === undefined ? 0 : decodingRow(keys, () => eventsOf(bucket));
      }),
    ]);
    const elsewhere = await this.#elsewhere(wanted.cameras, rows);
    return { partition: this.#partition, stripe: this.#stripe, rows, fence: this.#fence, elsewhere };
  }

  /**
   * Takes over the rows that a transaction writes: with the ETags of its answer, or before the answer, so that the next
   * transaction can be planned meanwhile.
   */
  apply({ rows }: RowsPlan, etagOf: (rowKey: string) => string = () => PENDING): void {
    for (const [key, row] of rows) this.#known.set(key, { ...row, etag: etagOf(key) });
    this.#last.stripe = this.#stripe;
    this.#fence = undefined;
  }

  /** Restores what was known before the rows of a plan, which failed, were taken over. */
  restore({ rows }: RowsPlan, snapshot: ShardSnapshot): void {
    for (const key of rows.keys()) {
      const before = snapshot.rows.get(key);
      if (before === undefined || before.etag === PENDING) this.#known.forget(key);
      else this.#known.set(key, before);
    }
    this.#fence = snapshot.fence;
  }

  /** Forgets the rows of events, which another writer has changed. */
  forgetEvents(eventKeys: Iterable<string>): void {
    for (const key of eventKeys) this.#known.forget(key);
  }

  /** Forgets everything that a failed transaction relied on. */
  forget(eventKeys: Iterable<string>): void {
    this.#known.forgetCounters();
    this.forgetEvents(eventKeys);
  }

  /**
   * After a transaction that failed at the stripe's `total` row: whether only a mark was added to that row, by a new stripe or by
   * the closing of the day. Then what is known of the stripe is still right. Else another writer is in the stripe.
   *
   * @throws {StorageTrouble | DamagedRow | DayClosed}
   */
  async isStillAlone({ rows }: ShardSnapshot): Promise<boolean> {
    const key = inStripe(TOTAL_KEY, this.#stripe);
    const before = ofKind(rows.get(key), 'total');
    const row = await this.#reads.one(key, STATE_PROPERTIES);
    if (row === undefined) return false;
    const { commit, stripes, closed } = stateFrom(row);
    if (closed) throw new DayClosed();
    if (before === undefined || commit !== before.value.commit) return false;
    // Without the version before, what was restored is not complete: it is read again.
    if (before.etag === PENDING) this.#known.forgetCounters();
    else this.#known.set(key, { kind: 'total', etag: row.etag, value: { ...before.value, stripes } });
    return true;
  }

  /** Moves to an idle stripe, or to a new one. @throws {StorageTrouble | DamagedRow | DayClosed} */
  async move(): Promise<void> {
    this.#known.forgetCounters();
    const fence = await readFence(this.#table, this.#partition);
    if (fence === undefined) {
      this.#stripe = 0;
      return;
    }
    if (fence.closed) throw new DayClosed();
    const times = await readStripeTimes(this.#table, this.#partition, fence);
    this.#stripe = chooseStripe(times, this.#stripe, fence.stripes);
    this.#mayCreate = true;
  }

  /** The `total` and the `hours` row of the stripe. */
  async #top(): Promise<{ total: KnownRow; hours: KnownRow }> {
    for (;;) {
      const [totalKey, hoursKey] = [TOTAL_KEY, HOURS_KEY].map((key) => inStripe(key, this.#stripe));
      if (totalKey === undefined || hoursKey === undefined) throw new RangeError('there are two keys');
      const [total, hours] = [this.#known.get(totalKey), this.#known.get(hoursKey)];
      if (total !== undefined && hours !== undefined) return { total, hours };
      const [stored, hoursRow] = await Promise.all([
        readTotal(this.#table, this.#partition, this.#stripe),
        this.#reads.one(hoursKey),
      ]);
      if (stored !== undefined) {
        if (stored.closed) throw new DayClosed();
        const { etag, lists, ...value } = stored;
        for (const [index, list] of lists.entries()) {
          this.#known.set(inStripe(camerasKey(index + 1), this.#stripe), { kind: 'list', etag: list.etag });
        }
        this.#known.set(totalKey, { kind: 'total', etag, value });
      } else if (await this.#mayStart()) {
        this.#known.set(totalKey, ABSENT);
      } else {
        continue;
      }
      this.#known.set(
        hoursKey,
        hoursRow === undefined ? ABSENT : { kind: 'buckets', etag: hoursRow.etag, value: bucketsFrom(hoursRow) },
      );
    }
  }

  /** Whether the first commit of the stripe may be written. Else another stripe was chosen. */
  async #mayStart(): Promise<boolean> {
    const fence = await readFence(this.#table, this.#partition);
    if (fence?.closed === true) throw new DayClosed();
    this.#fence = fence;
    if (this.#stripe === 0) {
      if (fence === undefined) await this.#options.onEmpty();
      return true;
    }
    if (fence !== undefined && this.#mayCreate && this.#stripe <= fence.stripes) return true;
    this.#stripe = 0;
    return false;
  }

  /** A row from memory, or read and kept there. */
  async #row(key: string, rowFrom: (row: StoredRow) => ShardRow): Promise<KnownRow> {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const row = await this.#reads.one(key);
    return this.#keep(key, row && { ...rowFrom(row), etag: row.etag });
  }

  #keep(key: string, row: KnownRow = ABSENT): KnownRow {
    this.#known.set(key, row);
    return row;
  }

  async #cameras(
    wanted: ReadonlyMap<string, WantedCamera>,
    cameras: number,
    take: (key: string, row: KnownRow) => void,
  ): Promise<void> {
    const missing = new Map<string, ReadonlySet<number>>();
    for (const [cameraId, { hours }] of wanted) {
      const key = inStripe(cameraKey(cameraId), this.#stripe);
      const row = this.#known.get(key);
      const known = ofKind(row, 'camera')?.hours ?? new Set();
      if (row !== undefined && (row.kind === 'absent' || hours.isSubsetOf(known))) take(key, row);
      else missing.set(key, hours.union(known));
    }
    const keep = (key: string, hours: ReadonlySet<number>, row: StoredRow | undefined): void =>
      take(key, this.#keep(key, row && { kind: 'camera', etag: row.etag, value: cameraRowFrom(row), hours }));
    const mostForRange = CAMERAS_A_KEY_FOR_RANGE * missing.size;
    const all = new Set([...missing.values()].flatMap((hours) => Array.from(hours)));
    if (missing.size > 1 && cameras <= mostForRange) {
      const found = await this.#reads.many([...missing.keys()], cameras, mostForRange, cameraProperties(all, all));
      for (const key of missing.keys()) keep(key, all, found.get(key));
      return;
    }
    await this.#reads.each(missing, async ([key, hours]) =>
      keep(key, hours, await this.#reads.one(key, cameraProperties(hours, hours))),
    );
  }

  async #events(
    { events, inserted }: WantedRows,
    take: (key: string, row: KnownRow) => void,
    eventsIn: (minute: number) => number,
  ): Promise<void> {
    const missing = new Map<number, string[]>();
    for (const key of [...events.keys(), ...inserted]) {
      const known = this.#known.get(key);
      const minute = events.get(key)?.minute;
      if (known !== undefined) take(key, known);
      else if (minute !== undefined) missing.set(minute, [...(missing.get(minute) ?? []), key]);
    }
    await Promise.all(
      Array.from(missing, async ([minute, keys]) => {
        const found = await this.#reads.many(keys, eventsIn(minute), EVENTS_A_KEY_FOR_RANGE * keys.length);
        for (const [key, row] of found) {
          take(key, this.#keep(key, { kind: 'event', etag: row.etag, value: eventRowFrom(row) }));
        }
      }),
    );
  }

  /** The categories in other stripes of the cameras that may get one which is new to them here, and is none of the known ones. */
  async #elsewhere(
    wanted: ReadonlyMap<string, WantedCamera>,
    rows: ReadonlyMap<string, KnownRow>,
  ): Promise<ShardSnapshot['elsewhere']> {
    const elsewhere = new Map<string, ReadonlySet<string>>();
    const total = ofKind(rows.get(inStripe(TOTAL_KEY, this.#stripe)), 'total')?.value;
    if (this.#stripe === 0 && (total?.stripes ?? 1) === 1) return elsewhere;
    const asking = [...wanted].filter(([cameraId, { categories }]) => {
      const own = ofKind(rows.get(inStripe(cameraKey(cameraId), this.#stripe)), 'camera')?.value.tally.categories;
      return [...categories].some((one) => own?.has(one) !== true && !this.#options.knownCategories.has(one));
    });
    await this.#reads.each(asking, async ([cameraId]) => {
      const stored = await readStripes(this.#table, this.#partition, cameraKey(cameraId), CAMERA_DAY_PROPERTIES);
      const categories = [...stored.values()].flatMap((row) => Array.from(cameraRowFrom(row).tally.categories.keys()));
      elsewhere.set(cameraId, new Set(categories));
    });
    return elsewhere;
  }
}

/** The version of a write that was planned before the transaction before it was answered. */
export const answeredVersion = (answered: ReadonlyMap<string, string>, rowKey: string, etag: string): string =>
  etag === PENDING ? (answered.get(rowKey) ?? PENDING) : etag;
