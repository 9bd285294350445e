import { isDeepStrictEqual } from 'node:util';

// The right answers of the service, by summing up events again. It shares no code and no form of data with the service.

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

/** A day in microseconds. */
export const DAY = 86_400_000_000n;

/** The name of an event. */
export const nameOf = ({ cameraId, eventId, ts }: Pick<PlainMessage, 'cameraId' | 'eventId' | 'ts'>): string =>
  JSON.stringify([cameraId, eventId, String(ts)]);

export const FACETS = ['detections', 'reviewed', 'annotations', 'removed'] as const;

/** The newest facets of an event, each with its time. */
export type EventState = {
  readonly [Facet in (typeof FACETS)[number]]: Known<NonNullable<PlainMessage[Facet]>> | undefined;
};

interface Known<Value> {
  readonly value: Value;
  readonly time: bigint;
}

/** The state of an event after messages about it, in any order, some of them repeatedly. */
export const stateAfter = (messages: readonly PlainMessage[]): EventState => {
  const newest = <Value>(valueOf: (message: PlainMessage) => Value | undefined) =>
    messages.reduce<Known<Value> | undefined>((known, message) => {
      const value = valueOf(message);
      return value === undefined || message.time <= (known?.time ?? -1n) ? known : { value, time: message.time };
    }, undefined);
  return {
    detections: newest(({ detections }) => detections),
    reviewed: newest(({ reviewed }) => reviewed),
    annotations: newest(({ annotations }) => annotations),
    removed: newest(({ removed }) => removed),
  };
};

/** Counts by name, and the active cameras. A count of 0 is left out. */
export interface Counted {
  readonly counts: ReadonlyMap<string, number>;
  readonly cameras: ReadonlySet<string>;
}

/** An answer of the service. It may say only how many cameras were active, or nothing about them. */
export interface Answer {
  readonly counts: ReadonlyMap<string, number>;
  readonly cameras?: ReadonlySet<string> | number;
}

/** The counts of an event. Its camera is active even if it is removed. */
export const countsOf = ({ detections, reviewed, annotations, removed }: EventState): ReadonlyMap<string, number> => {
  if (removed?.value === true) return new Map();
  const isReviewed = reviewed?.value === true;
  const counts = new Map([['events', 1]]);
  if (isReviewed) counts.set('reviewed', 1);
  for (const [category, count] of Object.entries(detections?.value ?? {})) {
    if (count !== 0) counts.set(`detected ${category}`, count);
  }
  for (const [category, count] of Object.entries(annotations?.value ?? {})) {
    if (count === 0) continue;
    counts.set('annotated', 1).set(`annotated ${category}`, count);
    if (isReviewed) counts.set(`reviewed ${category}`, 1);
  }
  return counts;
};

/** The counts of an event in the answer about the accuracy of the AI. */
export const accuracyCountsOf = (state: EventState): ReadonlyMap<string, number> => {
  const counts = countsOf(state);
  const accuracy = new Map(['events', 'reviewed'].flatMap((name) => (counts.has(name) ? [[name, 1] as const] : [])));
  if (!counts.has('reviewed')) return accuracy;
  for (const category of Object.keys({ ...state.detections?.value, ...state.annotations?.value })) {
    const [isDetected, isAnnotated] = [counts.has(`detected ${category}`), counts.has(`annotated ${category}`)];
    if (isDetected) accuracy.set(`flagged ${category}`, 1);
    if (isDetected && isAnnotated) accuracy.set(`confirmed ${category}`, 1);
    if (!isDetected && isAnnotated) accuracy.set(`missed ${category}`, 1);
  }
  return accuracy;
};

/** The sum; cameras that are active in several parts are counted once. */
export const sumOf = (parts: readonly Counted[]): Counted => {
  const counts = new Map<string, number>();
  for (const part of parts) {
    for (const [name, count] of part.counts) counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return { counts, cameras: new Set(parts.flatMap(({ cameras }) => [...cameras])) };
};

/** The right answer to a question, after messages in any order, some of them repeatedly. */
export const rightAnswer = (messages: readonly PlainMessage[], { start, end, cameraId }: Question): Counted => {
  const asked = messages.filter(({ ts, cameraId: own }) => ts >= start && ts <= end && (cameraId ?? own) === own);
  return sumOf(
    Array.from(Map.groupBy(asked, nameOf).values(), (ofEvent) => ({
      counts: countsOf(stateAfter(ofEvent)),
      cameras: new Set(ofEvent.map((message) => message.cameraId)),
    })),
  );
};

/** Whether an answer says what was counted. */
export const isSame = ({ counts, cameras: active }: Counted, { counts: answered, cameras = active }: Answer): boolean =>
  isDeepStrictEqual(counts, answered) &&
  (typeof cameras === 'number' ? active.size === cameras : isDeepStrictEqual(active, cameras));

/** An answer in words, for messages about failures. */
export const inWords = ({ counts, cameras }: Answer): string => {
  const what = Array.from(counts, ([name, count]) => `${name} ${count}`).sort();
  const active = typeof cameras === 'object' ? [...cameras].sort().join(' ') : (cameras ?? 'some cameras');
  return `${what.join(', ') || 'nothing'} of ${active}`;
};
