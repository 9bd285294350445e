import type { Facets } from '../../../src/analytics/model/camera-event.ts';
import { eventRowFrom } from '../../../src/analytics/rows/event-row.ts';
import { dayOfPartition, parseEventKey } from '../../../src/analytics/rows/keys.ts';
import type { RowWrite } from '../../../src/storage/row.ts';
import type { EventState } from '../../analytics/oracle.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import type { Truth } from './truth.ts';

const EVENT = 'event|';
const QUIET_MS = 3_600_000;
const DAY_MS = 24 * QUIET_MS;

/** Why a day accepts no events, as its `day|NN` rows say. */
type Sealed = 'closed' | 'rebuilding';

/**
 * The table of a world. It reports each commit of events to the truth. It demands that a sealed day accepts no commit, and that a day is
 * closed after an hour of quiet. Only closed days may lose event rows.
 */
export class WatchedTable extends MemoryTable {
  readonly #truth: Truth;
  readonly #now: () => number;
  /** Told that a partition was sealed as `rebuilding`, and was not before. */
  readonly #onHeld: (partition: string) => Promise<void>;
  /** When an event of a partition was last committed, in milliseconds since 1970. */
  readonly #committedAt = new Map<string, number>();
  /** The moment since which a partition is sealed as `rebuilding`; Infinity: it was, and is open again. */
  readonly #heldSince = new Map<string, number>();

  constructor(truth: Truth, now: () => number, onHeld: (partition: string) => Promise<void>) {
    super(now);
    this.#truth = truth;
    this.#now = now;
    this.#onHeld = onHeld;
  }

  /** The partitions of a day. */
  partitionsOf(day: string): readonly string[] {
    return this.partitions().filter((partition) => dayOfPartition(partition) === day);
  }

  sealOf(partition: string): Sealed | undefined {
    const rows = this.rows(partition).filter(({ rowKey }) => rowKey.startsWith('day|'));
    const seals = new Set(rows.map(({ properties: { sealed = '' } }) => sealed));
    if (seals.size > 1) this.#truth.broken.push(`${partition} is sealed in part`);
    return (['closed', 'rebuilding'] as const).find((seal) => seals.has(seal));
  }

  isClosed(day: string): boolean {
    return this.partitionsOf(day).some((partition) => this.sealOf(partition) === 'closed');
  }

  /** Whether a day is closed to the end: its event rows are deleted. */
  isForgotten(day: string): boolean {
    return this.partitionsOf(day).every(
      (partition) =>
        this.sealOf(partition) === 'closed' && !this.rows(partition).some(({ rowKey }) => rowKey.startsWith(EVENT)),
    );
  }

  /** Whether a part of a day is sealed as `rebuilding`, and was so at that moment. */
  isHeldSince(day: string, moment: number): boolean {
    return this.partitionsOf(day).some((partition) => (this.#heldSince.get(partition) ?? Infinity) <= moment);
  }

  /** Whether a part of a day was ever sealed as `rebuilding`. */
  wasHeld(day: string): boolean {
    return this.partitionsOf(day).some((partition) => this.#heldSince.has(partition));
  }

  override async transact(partition: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    const before = this.sealOf(partition);
    const etags = await super.transact(partition, writes);
    const demand = (isRight: boolean, fault: string): void => {
      if (!isRight) this.#truth.broken.push(`${partition} ${fault}`);
    };
    const events = writes.filter(({ rowKey }) => rowKey.startsWith(EVENT));
    const stored = events.flatMap((write) => (write.kind === 'delete' ? [] : [committed(partition, write)]));
    if (stored.length > 0) {
      demand(before === undefined, `took events while it was ${before}`);
      this.#committedAt.set(partition, this.#now());
      this.#truth.commit(stored);
    }
    demand(stored.length === events.length || before === 'closed', 'lost events and is not closed');
    const after = this.sealOf(partition);
    if (before === after) return etags;
    demand(before !== 'closed', `was closed and is ${after ?? 'open'}`);
    this.#truth.now += 1;
    if (before === 'rebuilding') this.#heldSince.set(partition, Infinity);
    if (after === 'rebuilding') {
      this.#heldSince.set(partition, this.#truth.now);
      await this.#onHeld(partition);
    }
    if (after === 'closed') {
      demand(before !== 'rebuilding', 'was closed while it was rebuilt');
      // The shortest retention is one whole day.
      demand(this.#now() >= Date.parse(dayOfPartition(partition)) + 2 * DAY_MS, 'closed before its time');
      // An hour by the clock of storage, whose `Date` has whole seconds.
      demand(this.#now() - (this.#committedAt.get(partition) ?? 0) >= QUIET_MS - 1_000, 'closed too early');
    }
    return etags;
  }
}

/** The event of a write, as it is stored. */
const committed = (partitionKey: string, { rowKey, properties }: Exclude<RowWrite, { readonly kind: 'delete' }>) => {
  const { ts, facets } = eventRowFrom({ partitionKey, rowKey, etag: '', properties });
  return { partition: partitionKey, ...parseEventKey(rowKey), ts, state: plainState(facets) };
};

/** Facets in plain values. */
const plainState = ({ detections, reviewed, annotations, removed }: Facets): EventState => ({
  detections: detections && { ...detections, value: Object.fromEntries(detections.value) },
  reviewed,
  annotations: annotations && { ...annotations, value: Object.fromEntries(annotations.value) },
  removed,
});
