import { eventRowFrom } from '../../../src/analytics/rows/event-row.ts';
import { parseEventKey } from '../../../src/analytics/rows/keys.ts';
import type { RowWrite } from '../../../src/storage/row.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import type { CommittedEvent, Truth } from './truth.ts';

const EVENT = 'event|';

/** The table of a world. It tells the truth about events as they are committed, and sees to it that closed days take nothing. */
export class WatchedTable extends MemoryTable {
  readonly #truth: Truth;
  /** The partitions of which event rows were deleted: nothing can tell a repeat there any more. */
  readonly #forgetful = new Set<string>();
  /** The days of which a repair has set rows aside and has not finished, and those whose closing is announced. */
  readonly #setAside = new Set<string>();
  readonly #announced = new Set<string>();
  #isWatched = true;

  constructor(truth: Truth, now: () => number) {
    super(now);
    this.#truth = truth;
  }

  /** Whether event rows of a day were deleted, and all of them. */
  isForgotten(day: string): boolean {
    return (
      [...this.#forgetful].some((partition) => partition.startsWith(day)) &&
      this.partitions()
        .filter((partition) => partition.startsWith(`${day}_`))
        .every((partition) => !this.rows(partition).some(({ rowKey }) => rowKey.startsWith(EVENT)))
    );
  }

  /** A repair of a day has finished: what was set aside is counted again. */
  noteRepaired(day: string): void {
    this.#setAside.delete(day);
  }

  override drop(): void {
    super.drop();
    for (const days of [this.#forgetful, this.#setAside, this.#announced]) days.clear();
  }

  /** Changes rows from outside, without anybody's knowledge. */
  async tamper(partitionKey: string, writes: readonly RowWrite[]): Promise<void> {
    this.#isWatched = false;
    await super.transact(partitionKey, writes);
    this.#isWatched = true;
  }

  override async transact(partitionKey: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    const etags = await super.transact(partitionKey, writes);
    if (this.#isWatched) this.#watch(partitionKey, writes);
    return etags;
  }

  /** What a repair has set aside is counted again before the day closes, or its counts are wrong for ever. */
  #watchClosing(partition: string, write: RowWrite): void {
    const [day = '', shard] = partition.split('_');
    if (shard !== undefined && write.rowKey.startsWith('damaged|')) {
      this.#setAside.add(day);
      if (this.#announced.has(day)) this.#truth.broken.push(`rows of ${day} are set aside, and it is about to close`);
    } else if (partition === 'open-days' && write.kind !== 'delete' && write.properties['closes'] !== undefined) {
      this.#announced.add(write.rowKey);
      if (this.#setAside.has(write.rowKey)) this.#truth.broken.push(`${write.rowKey} closes amid a repair`);
    }
  }

  #watch(partition: string, writes: readonly RowWrite[]): void {
    const events: CommittedEvent[] = [];
    for (const write of writes) {
      this.#watchClosing(partition, write);
      if (!write.rowKey.startsWith(EVENT)) continue;
      if (write.kind === 'delete') {
        this.#forgetful.add(partition);
        continue;
      }
      if (this.#forgetful.has(partition)) {
        this.#truth.broken.push(`${write.rowKey} of ${partition} was written after event rows of its day were deleted`);
      }
      const { cameraId, eventId } = parseEventKey(write.rowKey);
      const { ts, facets } = eventRowFrom({
        partitionKey: partition,
        rowKey: write.rowKey,
        etag: '',
        properties: write.properties,
      });
      const { detections, reviewed, annotations } = facets;
      events.push({
        partition,
        cameraId,
        eventId,
        ts,
        state: {
          ...(detections && { detections: { value: Object.fromEntries(detections.value), time: detections.time } }),
          ...(reviewed && { reviewed }),
          ...(annotations && { annotations: { value: Object.fromEntries(annotations.value), time: annotations.time } }),
        },
      });
    }
    if (events.length > 0) this.#truth.commit(events);
  }
}
