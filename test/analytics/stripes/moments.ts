import { eventRowFrom } from '../../../src/analytics/rows/event-row.ts';
import { parseEventKey } from '../../../src/analytics/rows/keys.ts';
import { Oracle, type PlainAnswer, type Question } from '../oracle.ts';
import type { MemoryStorage } from './memory-storage.ts';

const plainCounts = (counts: ReadonlyMap<string, number>): Record<string, number> => Object.fromEntries(counts);

/** What the event rows of a storage say now, event by event, in an oracle. */
const oracleOf = (storage: MemoryStorage, partition: string): Oracle => {
  const oracle = new Oracle();
  for (const row of storage.rows(partition)) {
    if (!row.rowKey.startsWith('event|')) continue;
    const { cameraId, eventId } = parseEventKey(row.rowKey);
    const { ts, facets } = eventRowFrom(row);
    const event = { cameraId, eventId, ts, time: 0n };
    oracle.tell(event);
    const { detections, reviewed, annotations } = facets;
    if (detections) oracle.tell({ ...event, time: detections.time, detections: plainCounts(detections.value) });
    if (reviewed) oracle.tell({ ...event, time: reviewed.time, reviewed: reviewed.value });
    if (annotations) oracle.tell({ ...event, time: annotations.time, annotations: plainCounts(annotations.value) });
  }
  return oracle;
};

const added = (
  left: Readonly<Record<string, number>>,
  right: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> => {
  const sum = { ...left };
  for (const [category, count] of Object.entries(right)) sum[category] = (sum[category] ?? 0) + count;
  return sum;
};

const plus = (left: PlainAnswer, right: PlainAnswer): PlainAnswer => ({
  total_events: left.total_events + right.total_events,
  active_camera_ids: [...new Set([...left.active_camera_ids, ...right.active_camera_ids])].sort(),
  counts_per_category: added(left.counts_per_category, right.counts_per_category),
  reviewed_total_events: left.reviewed_total_events + right.reviewed_total_events,
  reviewed_counts_per_category: added(left.reviewed_counts_per_category, right.reviewed_counts_per_category),
  annotated_total_events: left.annotated_total_events + right.annotated_total_events,
  annotated_counts_per_category: added(left.annotated_counts_per_category, right.annotated_counts_per_category),
});

/** The same for equal answers, whatever the order of their categories. */
const textOf = (answer: PlainAnswer): string =>
  JSON.stringify(answer, (_key, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)))
      : value,
  );

/** The moments of a partition: one after each transaction. */
export class Moments {
  readonly #storage: MemoryStorage;
  readonly #partition: string;
  readonly #oracles: Oracle[] = [new Oracle()];

  constructor(storage: MemoryStorage, partition: string) {
    this.#storage = storage;
    this.#partition = partition;
  }

  /** Notes that a transaction was applied. */
  pass(): void {
    this.#oracles.push(oracleOf(this.#storage, this.#partition));
  }

  /** The current moment. */
  get now(): number {
    return this.#oracles.length - 1;
  }

  /**
   * Whether an answer is right at some moment from one to now.
   *
   * @param pieces the question as the pieces that are read from different rows, each perhaps at a moment of its own
   */
  allows(answer: PlainAnswer, pieces: readonly Question[], since: number): boolean {
    const moments = this.#oracles.slice(since);
    let sums: readonly PlainAnswer[] = [];
    for (const [index, piece] of pieces.entries()) {
      const own = new Map(
        moments.map((oracle) => {
          const one = oracle.answer(piece);
          return [textOf(one), one];
        }),
      );
      sums = index === 0 ? [...own.values()] : sums.flatMap((sum) => [...own.values()].map((one) => plus(sum, one)));
    }
    return sums.some((sum) => textOf(sum) === textOf(answer));
  }
}
