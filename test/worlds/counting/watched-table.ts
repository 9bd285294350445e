import { eventRowFrom } from '../../../src/analytics/rows/event-row.ts';
import { DAYS_PARTITION, parseEventKey } from '../../../src/analytics/rows/keys.ts';
import type { RowWrite } from '../../../src/storage/row.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import type { CommittedEvent, Truth } from './truth.ts';

const EVENT = 'event|';

/** The table of a world. It reports each commit of events to the truth, and demands that closed days take no commit. */
export class WatchedTable extends MemoryTable {
  readonly #truth: Truth;
  /** Partitions whose event rows were deleted: a repeated message can no longer be recognized there. */
  readonly #forgetful = new Set<string>();
  /** The generation of each day whose rows count, and the generations before it that counted once. */
  readonly #generations = new Map<string, number>();
  readonly #replaced = new Set<string>();

  constructor(truth: Truth, now: () => number) {
    super(now);
    this.#truth = truth;
  }

  /** Whether a day is closed to the end: event rows were deleted. */
  isForgotten(day: string): boolean {
    return this.rows(DAYS_PARTITION).some(({ rowKey, properties }) => rowKey === day && properties['deleted'] === true);
  }

  override async transact(partitionKey: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    const etags = await super.transact(partitionKey, writes);
    if (partitionKey === DAYS_PARTITION) for (const write of writes) this.#watchDay(write);
    else this.#watch(partitionKey, writes);
    return etags;
  }

  /** Whether the rows of another generation count from now on. */
  #watchDay(write: RowWrite): void {
    const generation = write.kind === 'delete' ? undefined : write.properties['generation'];
    const before = this.#generations.get(write.rowKey) ?? 0;
    if (typeof generation !== 'number' || generation === before) return;
    this.#replaced.add(generationName(write.rowKey, before));
    this.#generations.set(write.rowKey, generation);
    const prefix = `${generationName(write.rowKey, generation)}_`;
    const rows = this.partitions().flatMap((partition) => (partition.startsWith(prefix) ? this.rows(partition) : []));
    const moved = rows.filter(({ rowKey }) => rowKey.startsWith(EVENT));
    this.#truth.rewrite(
      write.rowKey,
      moved.map(({ partitionKey, rowKey, properties }) => committedEvent(partitionKey, rowKey, properties)),
    );
  }

  #watch(partition: string, writes: readonly RowWrite[]): void {
    const [generation = ''] = partition.split('_');
    const [day = '', number = '0'] = generation.split('.');
    const counts = Number(number) === (this.#generations.get(day) ?? 0);
    const events: CommittedEvent[] = [];
    for (const write of writes) {
      if (!write.rowKey.startsWith(EVENT)) continue;
      if (write.kind === 'delete') {
        this.#forgetful.add(partition);
        continue;
      }
      if (this.#replaced.has(generation)) {
        this.#truth.broken.push(`${write.rowKey} of ${partition} was written after its day was rewritten`);
      }
      // What a rewrite records anew counts from its switch on.
      if (!counts) continue;
      if (this.#forgetful.has(partition)) {
        this.#truth.broken.push(`${write.rowKey} of ${partition} was written after event rows of its day were deleted`);
      }
      events.push(committedEvent(partition, write.rowKey, write.properties));
    }
    if (events.length > 0) this.#truth.commit(events);
  }
}

const generationName = (day: string, generation: number): string => (generation === 0 ? day : `${day}.${generation}`);

const committedEvent = (
  partition: string,
  rowKey: string,
  properties: Readonly<Record<string, unknown>>,
): CommittedEvent => {
  const { facets, ...event } = eventRowFrom({ partitionKey: partition, rowKey, etag: '', properties });
  const { detections, reviewed, annotations } = facets;
  return {
    partition,
    ...parseEventKey(rowKey),
    ts: event.ts,
    state: {
      ...(detections && { detections: { value: Object.fromEntries(detections.value), time: detections.time } }),
      ...(reviewed && { reviewed }),
      ...(annotations && { annotations: { value: Object.fromEntries(annotations.value), time: annotations.time } }),
    },
  };
};
