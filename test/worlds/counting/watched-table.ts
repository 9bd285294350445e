import { eventRowFrom } from '../../../src/analytics/rows/event-row.ts';
import { parseEventKey } from '../../../src/analytics/rows/keys.ts';
import type { RowWrite } from '../../../src/storage/row.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import type { CommittedEvent, Truth } from './truth.ts';

const EVENT = 'event|';
const QUIET_MS = 3_600_000;
const DAY_MS = 24 * QUIET_MS;

/** Why a day accepts no events, as its `day|NN` rows say. */
type Sealed = 'closed' | 'rebuilding';

/** The events in the life of a day that the promises are about. */
interface DayFacts {
  /** When an event was last committed, in milliseconds since 1970. */
  committedAt: number;
  /** When a rebuild last opened it, as a number of commits. Before that its counters may have been damaged. */
  rebuiltAt: number;
  /** How often it was rebuilt. */
  rebuilds: number;
  readonly wasSealed: Set<Sealed>;
}

/**
 * The table of a world. It reports each commit of events to the truth. It demands that a sealed day accepts no commit, and that a day is
 * closed after an hour of quiet. Only closed days may lose event rows.
 */
export class WatchedTable extends MemoryTable {
  readonly #truth: Truth;
  readonly #now: () => number;
  /** Told that a partition was sealed as `rebuilding`, and was not before. */
  readonly #onRebuild: (partition: string) => Promise<void>;
  readonly #days = new Map<string, DayFacts>();

  constructor(truth: Truth, now: () => number, onRebuild: (partition: string) => Promise<void>) {
    super(now);
    this.#truth = truth;
    this.#now = now;
    this.#onRebuild = onRebuild;
  }

  facts(day: string): DayFacts {
    const facts = this.#days.get(day) ?? { committedAt: -Infinity, rebuiltAt: 0, rebuilds: 0, wasSealed: new Set() };
    this.#days.set(day, facts);
    return facts;
  }

  /** The partitions of a day. */
  partitionsOf(day: string): readonly string[] {
    return this.partitions().filter((partition) => dayIn(partition) === day);
  }

  sealOf(partition: string): Sealed | undefined {
    const seals = new Set(
      this.rows(partition).flatMap(({ rowKey, properties: { sealed = '' } }) =>
        rowKey.startsWith('day|') ? [sealed] : [],
      ),
    );
    if (seals.size > 1) this.#truth.broken.push(`${partition} is sealed in part`);
    return seals.has('closed') ? 'closed' : seals.has('rebuilding') ? 'rebuilding' : undefined;
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

  override async transact(partition: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    const before = this.sealOf(partition);
    const etags = await super.transact(partition, writes);
    const day = dayIn(partition);
    const facts = this.facts(day);
    const events = writes.filter(({ rowKey }) => rowKey.startsWith(EVENT));
    const stored = events.flatMap((write) =>
      write.kind === 'delete' ? [] : [committedEvent(partition, write.rowKey, write.properties)],
    );
    if (stored.length > 0) {
      if (before !== undefined) this.#truth.broken.push(`${partition} took events while it was ${before}`);
      facts.committedAt = this.#now();
      this.#truth.commit(stored);
    }
    if (events.some(({ kind }) => kind === 'delete') && before !== 'closed') {
      this.#truth.broken.push(`${partition} lost events and is not closed`);
    }
    const after = this.sealOf(partition);
    if (before !== after) await this.#onSeal(partition, before, after, facts);
    return etags;
  }

  async #onSeal(partition: string, before: Sealed | undefined, after: Sealed | undefined, facts: DayFacts) {
    if (before === 'closed') this.#truth.broken.push(`${partition} was closed and is ${after ?? 'open'}`);
    if (before === 'rebuilding' && after === undefined) {
      this.#truth.now += 1;
      facts.rebuiltAt = this.#truth.now;
      facts.rebuilds += 1;
    }
    if (after !== undefined) facts.wasSealed.add(after);
    if (after === 'rebuilding') await this.#onRebuild(partition);
    if (after === 'closed') {
      if (before === 'rebuilding') this.#truth.broken.push(`${partition} was closed while it was rebuilt`);
      // The shortest retention is one whole day.
      if (this.#now() < Date.parse(dayIn(partition)) + 2 * DAY_MS)
        this.#truth.broken.push(`${partition} closed before its time`);
      // An hour by the clock of storage, whose `Date` has whole seconds.
      if (this.#now() - facts.committedAt < QUIET_MS - 1_000) this.#truth.broken.push(`${partition} closed too early`);
    }
  }
}

const dayIn = (partition: string): string => partition.slice(0, 10);

const committedEvent = (
  partition: string,
  rowKey: string,
  properties: Readonly<Record<string, unknown>>,
): CommittedEvent => {
  const { facets, ...event } = eventRowFrom({ partitionKey: partition, rowKey, etag: '', properties });
  const { detections, reviewed, annotations, removed } = facets;
  return {
    partition,
    ...parseEventKey(rowKey),
    ts: event.ts,
    state: {
      ...(detections && { detections: { value: Object.fromEntries(detections.value), time: detections.time } }),
      ...(reviewed && { reviewed }),
      ...(annotations && { annotations: { value: Object.fromEntries(annotations.value), time: annotations.time } }),
      ...(removed && { removed }),
    },
  };
};
