/** A message about an event, in plain values. */
export interface PlainMessage {
  readonly eventId: string;
  readonly cameraId: string;
  /** Microseconds since 1970, UTC. */
  readonly ts: bigint;
  /** The time of the facets, in microseconds since 1970. */
  readonly time: bigint;
  readonly detections?: Readonly<Record<string, number>>;
  readonly reviewed?: boolean;
  readonly annotations?: Readonly<Record<string, number>>;
}

/** A period, both ends included, in microseconds since 1970, of all cameras or one. */
export interface Question {
  readonly start: bigint;
  readonly end: bigint;
  readonly cameraId?: string;
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

const newest = <Value>(
  messages: readonly PlainMessage[],
  facet: (message: PlainMessage) => Value | undefined,
): Value | undefined => {
  let best: { time: bigint; value: Value } | undefined;
  for (const message of messages) {
    const value = facet(message);
    if (value !== undefined && (best === undefined || message.time > best.time)) best = { time: message.time, value };
  }
  return best?.value;
};

const add = (counts: Record<string, number>, category: string, more: number): void => {
  // A category may be called `constructor`.
  const before = Object.hasOwn(counts, category) ? (counts[category] ?? 0) : 0;
  if (more !== 0) counts[category] = before + more;
};

/**
 * What the service must answer: keeps every message and counts all of them again for every question. Shares no code with the
 * service.
 */
export class Oracle {
  readonly #events = new Map<string, PlainMessage[]>();

  /** Adds a message, in any order, also repeatedly. */
  tell(message: PlainMessage): void {
    const event = JSON.stringify([message.cameraId, message.eventId, String(message.ts)]);
    this.#events.set(event, [...(this.#events.get(event) ?? []), message]);
  }

  /** Events of the messages so far. */
  get events(): number {
    return this.#events.size;
  }

  /** Answers a question, event by event. */
  answer({ start, end, cameraId }: Question): PlainAnswer {
    const cameras = new Set<string>();
    const [detected, reviewedWith, annotated]: Record<string, number>[] = [{}, {}, {}];
    let [events, reviewedEvents, annotatedEvents] = [0, 0, 0];
    for (const messages of this.#events.values()) {
      const [first] = messages;
      if (first === undefined || first.ts < start || first.ts > end) continue;
      if (cameraId !== undefined && first.cameraId !== cameraId) continue;
      events += 1;
      cameras.add(first.cameraId);
      const isReviewed = newest(messages, (message) => message.reviewed) ?? false;
      const annotations = newest(messages, (message) => message.annotations) ?? {};
      for (const [category, count] of Object.entries(newest(messages, (message) => message.detections) ?? {})) {
        add(detected ?? {}, category, count);
      }
      let hasAnnotations = false;
      for (const [category, count] of Object.entries(annotations)) {
        if (count === 0) continue;
        hasAnnotations = true;
        add(annotated ?? {}, category, count);
        if (isReviewed) add(reviewedWith ?? {}, category, 1);
      }
      if (isReviewed) reviewedEvents += 1;
      if (hasAnnotations) annotatedEvents += 1;
    }
    return {
      total_events: events,
      active_camera_ids: [...cameras].sort(),
      counts_per_category: detected ?? {},
      reviewed_total_events: reviewedEvents,
      reviewed_counts_per_category: reviewedWith ?? {},
      annotated_total_events: annotatedEvents,
      annotated_counts_per_category: annotated ?? {},
    };
  }
}
