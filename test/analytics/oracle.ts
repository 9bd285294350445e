import { type Counted, countsOf, type EventState, type Known, sumOf } from '../worlds/counting/counts.ts';

/** A message about an event, in plain values. Times are in microseconds since 1970, UTC. */
export interface PlainMessage {
  readonly eventId: string;
  readonly cameraId: string;
  readonly ts: bigint;
  /** When its facets were true. Two messages with the same time say the same. */
  readonly time: bigint;
  readonly detections?: Readonly<Record<string, number>>;
  readonly reviewed?: boolean;
  readonly annotations?: Readonly<Record<string, number>>;
  readonly removed?: boolean;
}

/** A period, both ends included, in microseconds since 1970, of all cameras or one. */
export interface Question {
  readonly start: bigint;
  readonly end: bigint;
  readonly cameraId?: string | undefined;
}

/** The numbers of an answer. Categories with 0 are left out. */
export interface PlainAnswer {
  readonly total_events: number;
  readonly active_camera_ids: readonly string[];
  readonly counts_per_category: Readonly<Record<string, number>>;
  readonly reviewed_total_events: number;
  readonly reviewed_counts_per_category: Readonly<Record<string, number>>;
  readonly annotated_total_events: number;
  readonly annotated_counts_per_category: Readonly<Record<string, number>>;
}

/** A day in microseconds. */
export const DAY = 86_400_000_000n;

const newer = <Value>(known: Known<Value> | undefined, value: Value | undefined, time: bigint) =>
  value === undefined || (known !== undefined && time <= known.time) ? known : { value, time };

/** The right answer of the service: sums all events again for each question. Shares no code with the service. */
export class Oracle {
  readonly #events = new Map<string, PlainMessage & Counted & { readonly state: EventState }>();

  /** @param messages in any order, some of them repeatedly */
  constructor(messages: Iterable<PlainMessage>) {
    for (const message of messages) {
      const { cameraId, eventId, ts, time } = message;
      const name = JSON.stringify([cameraId, eventId, String(ts)]);
      const known = this.#events.get(name)?.state;
      const detections = newer(known?.detections, message.detections, time);
      const reviewed = newer(known?.reviewed, message.reviewed, time);
      const annotations = newer(known?.annotations, message.annotations, time);
      const removed = newer(known?.removed, message.removed, time);
      const state = {
        ...(detections && { detections }),
        ...(reviewed && { reviewed }),
        ...(annotations && { annotations }),
        ...(removed && { removed }),
      };
      this.#events.set(name, { ...message, state, counts: countsOf(state), cameras: new Set([cameraId]) });
    }
  }

  /** Answers a question, event by event. */
  answer({ start, end, cameraId }: Question): PlainAnswer {
    const asked = [...this.#events.values()].filter(
      (event) => event.ts >= start && event.ts <= end && (cameraId ?? event.cameraId) === event.cameraId,
    );
    return plainAnswerOf(sumOf(asked));
  }
}

/** Counts, in the form of an answer. */
export const plainAnswerOf = ({ counts, cameras }: Counted): PlainAnswer => {
  const perCategory = (kind: 'detected' | 'reviewed' | 'annotated'): Readonly<Record<string, number>> =>
    Object.fromEntries(
      [...counts]
        .filter(([name]) => name.startsWith(`${kind} `))
        .map(([name, count]) => [name.slice(kind.length + 1), count]),
    );
  return {
    total_events: counts.get('events') ?? 0,
    active_camera_ids: [...cameras].sort(),
    counts_per_category: perCategory('detected'),
    reviewed_total_events: counts.get('reviewed') ?? 0,
    reviewed_counts_per_category: perCategory('reviewed'),
    annotated_total_events: counts.get('annotated') ?? 0,
    annotated_counts_per_category: perCategory('annotated'),
  };
};
