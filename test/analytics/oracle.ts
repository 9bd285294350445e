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

/** A day in microseconds. */
export const DAY = 86_400_000_000n;

/** The name of an event. */
export const nameOf = ({ cameraId, eventId, ts }: Pick<PlainMessage, 'cameraId' | 'eventId' | 'ts'>): string =>
  JSON.stringify([cameraId, eventId, String(ts)]);

const newer = <Value>(known: Known<Value> | undefined, value: Value | undefined, time: bigint) =>
  value === undefined || (known !== undefined && time <= known.time) ? known : { value, time };

/**
 * The right answer of the service: sums all events again. Shares no code with the service.
 *
 * @param messages in any order, some of them repeatedly
 */
export const rightAnswer = (messages: Iterable<PlainMessage>, { start, end, cameraId }: Question): Counted => {
  const events = new Map<string, Counted & { readonly state: EventState }>();
  for (const message of messages) {
    const { cameraId: own, ts, time } = message;
    if (ts < start || ts > end || (cameraId ?? own) !== own) continue;
    const known = events.get(nameOf(message))?.state;
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
    events.set(nameOf(message), { state, counts: countsOf(state), cameras: new Set([own]) });
  }
  return sumOf([...events.values()]);
};
