import pLimit from 'p-limit';

import { DamagedRow } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import { categoriesOf } from '../model/camera-event.ts';
import { hourOfMinute } from '../model/day.ts';
import { CAMERA_DAY_PROPERTIES, cameraDayFrom, cameraRowFrom } from '../rows/camera-row.ts';
import { eventRowFrom, type EventRow } from '../rows/event-row.ts';
import { bucketsFrom } from '../rows/hour-rows.ts';
import { camerasKey, hourKey, HOURS_KEY, minuteKey, SECONDS_A_ROW, TOTAL_KEY } from '../rows/keys.ts';
import { minuteRowFrom } from '../rows/minute-row.ts';
import { inStripe, readStripes, stateFrom, STATE_PROPERTIES } from '../rows/stripes.ts';
import { isUnchanged, listsTooShort, readTotal, type TotalRow } from '../rows/total-row.ts';
import type { Batch } from './batch.ts';
import type { RowsPlan } from './commit-plan.ts';
import type { CounterDifferences } from './counter-differences.ts';
import { ofKind, type KnownRow, type ShardRow, type ShardSnapshot } from './known-rows.ts';
import { OwnStripe, type WrittenShard } from './own-stripe.ts';

/** In place of the ETag of a row that a transaction in flight is about to write. */
export const PENDING = 'pending';
const PARALLEL_READS = 16;

/** The rows of a shard that a commit needs, each by its key: that of stripe 0 if it is a counter row. */
export interface WantedRows {
  /** → the hour of the day, 0 to 23. */
  readonly hours: ReadonlyMap<string, number>;
  /** Each half of a minute → the minute of the day, 0 to 1439. */
  readonly halfMinutes: ReadonlyMap<string, number>;
  /** → the id, and the categories that the camera may get. */
  readonly cameras: ReadonlyMap<string, { readonly cameraId: string; readonly categories: ReadonlySet<string> }>;
  /** → whether the row is read; else it is taken from memory only. */
  readonly events: ReadonlyMap<string, boolean>;
}

/**
 * The rows that messages need.
 *
 * @param readAll whether no event is inserted without reading first
 */
export const wantedByMessages = (batch: Batch, readAll: boolean): WantedRows => {
  const hours = new Map<string, number>();
  const halfMinutes = new Map<string, number>();
  const cameras = new Map<string, { readonly cameraId: string; readonly categories: Set<string> }>();
  const events = new Map<string, boolean>();
  for (const one of batch) {
    hours.set(one.hourKey, one.hour);
    halfMinutes.set(one.minuteKey, one.minute);
    const { cameraId, facets } = one.message;
    const camera = cameras.get(one.cameraKey) ?? { cameraId, categories: new Set() };
    for (const category of categoriesOf(facets)) camera.categories.add(category);
    cameras.set(one.cameraKey, camera);
    events.set(one.eventKey, one.readFirst || readAll || events.get(one.eventKey) === true);
  }
  return { hours, halfMinutes, cameras, events };
};

/** The rows that differences to counters need. */
export const wantedByDifferences = ({ buckets, samples, cameras }: CounterDifferences): WantedRows => ({
  hours: new Map(Array.from(buckets.get(HOURS_KEY)?.keys() ?? [], (hour) => [hourKey(hour), hour])),
  halfMinutes: new Map(Array.from(samples, ([key, { minute }]) => [key, minute])),
  cameras: new Map(Array.from(cameras, ([key, { cameraId }]) => [key, { cameraId, categories: new Set() }])),
  events: new Map(),
});

/** What is known of a row, by its key. */
type Knowledge = (key: string) => KnownRow | undefined;

/** A row that a commit needs. */
interface Need {
  readonly key: string;
  readonly decode: (row: StoredRow) => ShardRow;
  /** Else it is not stored, or nobody wants to know. */
  readonly mayBeStored: boolean;
}

const listRow = (): ShardRow => ({ kind: 'list' });
const bucketsRow = (row: StoredRow): ShardRow => ({ kind: 'buckets', value: bucketsFrom(row) });
const samplesRow = (row: StoredRow): ShardRow => ({ kind: 'samples', value: minuteRowFrom(row) });
const cameraRow = (row: StoredRow): ShardRow => ({ kind: 'camera', value: cameraRowFrom(row) });
const eventRow = (row: StoredRow): ShardRow => ({ kind: 'event', value: eventRowFrom(row) });

const need = (key: string, decode: Need['decode'], mayBeStored: boolean): Need => ({ key, decode, mayBeStored });

const hasBucket = (row: KnownRow | undefined, number: number): boolean =>
  ofKind(row, 'buckets')?.value.has(number) === true;

/**
 * The rows of one shard of a day for one writer: what a commit needs of them, read by their keys when needed, kept from the last commit,
 * forgotten after a conflict. Counter rows are those of the writer's stripe, and have their keys in stripe 0 here.
 */
export class ShardRows {
  readonly #shard: WrittenShard;
  #own: OwnStripe;
  readonly #limit = pLimit(PARALLEL_READS);
  /** Whether a row may be stored although the rows above it do not say so: after a conflict, all are looked for. */
  #doubtsAbsence = false;

  constructor(shard: WrittenShard) {
    this.#shard = shard;
    this.#own = new OwnStripe(shard);
  }

  /** What is damaged if the rows do not fit together, however often they are read. */
  neverFit(): DamagedRow {
    return listsTooShort(this.#shard.partition, this.#own.number);
  }

  /** The event as it is in storage now. @throws {StorageTrouble | DamagedRow} */
  async storedEvent(key: string): Promise<EventRow | undefined> {
    const row = await this.#get(key);
    return row && eventRowFrom(row);
  }

  /**
   * The rows that a plan needs.
   *
   * @param before the plan of a transaction in flight: its rows are taken as they are once it is applied
   * @throws {StorageTrouble | DamagedRow}
   */
  async snapshot(wanted: WantedRows, before?: RowsPlan): Promise<ShardSnapshot> {
    const known: Knowledge = (key) => {
      const row = before?.rows.get(key);
      return row === undefined ? this.#shard.known.get(key) : { ...row, etag: PENDING };
    };
    const { total, hours } = await this.#top(known);
    const rows = new Map<string, KnownRow>([
      [TOTAL_KEY, total],
      [HOURS_KEY, hours],
    ]);
    const day = ofKind(total, 'total')?.value;
    // An hour, a minute or a camera that the stripe does not have has no row there: it is written together with the rows that say so.
    await this.#add(rows, known, [
      ...Array.from(day?.cameras.texts.keys() ?? [], (index) => need(camerasKey(index + 1), listRow, false)),
      ...Array.from(wanted.hours, ([key, hour]) => need(key, bucketsRow, hasBucket(hours, hour))),
      ...Array.from(wanted.cameras, ([key, { cameraId }]) =>
        need(key, cameraRow, day?.cameras.indexes.has(cameraId) === true),
      ),
      ...Array.from(wanted.events, ([key, mayBeStored]) => need(key, eventRow, mayBeStored)),
    ]);
    const halves: Need[] = [];
    for (const [key, minute] of wanted.halfMinutes) {
      const mayBeStored = hasBucket(rows.get(hourKey(hourOfMinute(minute))), minute % 60);
      // The half of a new minute that comes later need not be looked for either.
      if (!mayBeStored && !this.#doubtsAbsence) {
        for (const second of [0, SECONDS_A_ROW]) this.#shard.known.keep(minuteKey(minute, second));
      }
      halves.push(need(key, samplesRow, mayBeStored));
    }
    await this.#add(rows, known, halves);
    const elsewhere = await this.#categoriesElsewhere(wanted, rows, day);
    return { partition: this.#shard.partition, stripe: this.#own.number, rows, fence: this.#own.fence, elsewhere };
  }

  /** Adds rows from memory, or read and kept there. */
  async #add(rows: Map<string, KnownRow>, known: Knowledge, needs: readonly Need[]): Promise<void> {
    const missing: Need[] = [];
    for (const one of needs) {
      const row = known(one.key);
      if (row !== undefined) rows.set(one.key, row);
      else if (one.mayBeStored || this.#doubtsAbsence) missing.push(one);
    }
    await this.#limit.map(missing, async ({ key, decode }) => {
      const row = await this.#get(decode === eventRow ? key : inStripe(key, this.#own.number));
      rows.set(key, this.#keep(key, decode, row));
    });
  }

  /**
   * The categories that cameras have in all stripes, by camera id: of those cameras that may get a category which is new to them in this
   * stripe, and is none of the known ones.
   */
  async #categoriesElsewhere(
    { cameras }: WantedRows,
    rows: ReadonlyMap<string, KnownRow>,
    total: TotalRow | undefined,
  ): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const { table, partition, knownCategories } = this.#shard;
    const found = new Map<string, ReadonlySet<string>>();
    if (this.#own.number === 0 && (total?.stripes ?? 1) === 1) return found;
    const asking = [...cameras].filter(([key, { categories }]) => {
      const own = ofKind(rows.get(key), 'camera')?.value.tally.categories;
      return [...categories].some((one) => own?.has(one) !== true && !knownCategories.has(one));
    });
    await this.#limit.map(asking, async ([key, { cameraId }]) => {
      const stored = await readStripes(table, partition, key, CAMERA_DAY_PROPERTIES);
      const ofStripes = Array.from(stored.values(), (row) => [...cameraDayFrom(row).tally.categories.keys()]);
      found.set(cameraId, new Set(ofStripes.flat()));
    });
    return found;
  }

  /**
   * The `total` and the `hours` row of the writer's stripe, which say what other rows the stripe has. If the stripe has no commit and may
   * not get one, the stripe is another one afterwards.
   */
  async #top(known: Knowledge): Promise<{ readonly total: KnownRow; readonly hours: KnownRow }> {
    const own = this.#own;
    const { table, partition, known: kept } = this.#shard;
    for (;;) {
      const [total, hours] = [known(TOTAL_KEY), known(HOURS_KEY)];
      if (total !== undefined && hours !== undefined) return { total, hours };
      if (own.takeNew()) return { total: kept.keep(TOTAL_KEY), hours: kept.keep(HOURS_KEY) };
      const [stored, hoursRow] = await Promise.all([
        readTotal(table, partition, own.number),
        this.#get(inStripe(HOURS_KEY, own.number)),
      ]);
      if (stored !== undefined) {
        await this.#demandAnnounced(own.number);
        const { etag, lists, ...value } = stored;
        for (const [index, list] of lists.entries())
          kept.keep(camerasKey(index + 1), { kind: 'list', etag: list.etag });
        kept.keep(TOTAL_KEY, { kind: 'total', etag, value });
      } else if (await own.mayStart()) {
        kept.keep(TOTAL_KEY);
      } else {
        // What is known is of the other stripe.
        kept.forgetCounters();
        continue;
      }
      this.#keep(HOURS_KEY, bucketsRow, hoursRow);
    }
  }

  #keep(key: string, decode: Need['decode'], row: StoredRow | undefined): KnownRow {
    return this.#shard.known.keep(key, row && { ...decode(row), etag: row.etag });
  }

  /** What was counted in a stripe that stripe 0 does not announce would be in no answer. Only damage leaves such rows. @throws {DamagedRow} */
  async #demandAnnounced(stripe: number): Promise<void> {
    if (stripe === 0) return;
    const first = await this.#get(TOTAL_KEY, STATE_PROPERTIES);
    if (first !== undefined && stateFrom(first).stripes > stripe) return;
    throw new DamagedRow(this.#shard.partition, inStripe(TOTAL_KEY, stripe), 'the shard does not have its stripe');
  }

  /** Takes over the rows of a plan that is applied. @param etags the new versions, in the order of its writes */
  apply({ rows }: RowsPlan, etags: readonly string[]): void {
    for (const [index, [key, row]] of [...rows].entries()) {
      this.#shard.known.keep(key, { ...row, etag: etags[index] ?? '' });
    }
    this.#own.used();
    this.#doubtsAbsence = false;
  }

  /**
   * Forgets everything that a failed transaction relied on.
   *
   * @param doubtsAbsence whether it met a row that should not be there
   */
  forget(eventKeys: Iterable<string>, doubtsAbsence: boolean): void {
    this.#shard.known.forgetCounters();
    this.#shard.known.forgetEvents(eventKeys);
    this.#doubtsAbsence ||= doubtsAbsence;
  }

  forgetAll(): void {
    this.#shard.known.forgetAll();
    this.#own = new OwnStripe(this.#shard);
    this.#doubtsAbsence = false;
  }

  /**
   * After a transaction that failed at the stripe's `total` row: whether only the announcement of a new stripe was added to that row.
   * Then what is known of the stripe is still right. Else another writer is in the stripe, or the row was changed from outside: a repair
   * may have counted on what it says, so it is not overwritten.
   *
   * @throws {StorageTrouble | DamagedRow}
   */
  async isStillAlone({ rows }: ShardSnapshot): Promise<boolean> {
    const before = ofKind(rows.get(TOTAL_KEY), 'total')?.value;
    // The row was to be inserted: somebody else has done that.
    if (before === undefined) return false;
    const row = await this.#get(inStripe(TOTAL_KEY, this.#own.number));
    if (row === undefined || !isUnchanged(row, before)) return false;
    const { stripes } = stateFrom(row);
    this.#shard.known.keep(TOTAL_KEY, { kind: 'total', etag: row.etag, value: { ...before, stripes } });
    return true;
  }

  /** Moves to an idle stripe, or to a new one. @throws {StorageTrouble | DamagedRow} */
  async move(): Promise<void> {
    this.#shard.known.forgetCounters();
    await this.#own.move();
  }

  async #get(storedKey: string, select?: readonly string[]): Promise<StoredRow | undefined> {
    return this.#shard.table.get(this.#shard.partition, storedKey, { select });
  }
}
