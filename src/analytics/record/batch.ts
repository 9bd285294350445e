import { MAX_OPERATIONS, type StoringWrite } from '../../storage/row.ts';
import type { EventMessage } from '../model/camera-event.ts';
import { hourOfMinute, microsecondOfMinute, minuteOfDay } from '../model/day.ts';
import { cameraKey, eventKey, hourKey, minuteKey } from '../rows/keys.ts';
import { secondOf } from '../rows/minute-row.ts';

/**
 * The result of a message: it was counted; it changed nothing, because it was repeated or because a newer value had superseded it; or it can
 * never be recorded, and why.
 */
export type Outcome = 'recorded' | 'unchanged' | 'superseded' | Refused;

/** Why a message can never be recorded. */
export interface Refused {
  readonly code: 'changed_time' | 'day_closed' | 'too_many' | 'not_storable';
  readonly refused: string;
}

/** A message with what its rows are found by, computed once. Counter rows have the keys of stripe 0. */
export interface KeyedMessage {
  readonly message: EventMessage;
  /** Minute of the day, 0 to 1439. */
  readonly minute: number;
  /** Hour of the day, 0 to 23. */
  readonly hour: number;
  readonly eventKey: string;
  readonly cameraKey: string;
  readonly minuteKey: string;
  readonly hourKey: string;
}

export const keyed = (message: EventMessage): KeyedMessage => {
  const { ts, cameraId, eventId } = message;
  const minute = minuteOfDay(ts);
  const hour = hourOfMinute(minute);
  return {
    message,
    minute,
    hour,
    eventKey: eventKey(minute, cameraId, eventId),
    cameraKey: cameraKey(cameraId),
    minuteKey: minuteKey(minute, secondOf(microsecondOfMinute(ts))),
    hourKey: hourKey(hour),
  };
};

/** A message that waits for its commit. */
export interface Waiting extends KeyedMessage {
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
  /** Whether its event's row is read before anything is written. A new frame is inserted without that, unless a try failed. */
  readFirst: boolean;
  /** It was in a transaction whose answer never came: it may have been applied. */
  uncertain: boolean;
}

export type Batch = readonly Waiting[];

/** A new frame comes with detections; a message without them is about an event that is likely to be stored already. */
export const hasDetections = ({ facets }: EventMessage): boolean => facets.detections !== undefined;

// An entity group transaction takes MAX_OPERATIONS and 4 MiB. Reserve 3 operations: the stripe's `day` row, and for a new stripe the row
// of stripe 0 and `day sealed`. Reserve 0.6 MiB for what the SDK adds to the body.
const RESERVED_OPERATIONS = 3;
const MAX_BYTES = 3_400_000;
const OPERATION_BYTES = 900;

/** How many messages from the front of a queue surely fit into one transaction by the number of its operations. */
export const fittingInFront = (queue: readonly KeyedMessage[]): number => {
  const rows = new Set<string>();
  for (const [index, message] of queue.entries()) {
    for (const key of [message.eventKey, message.cameraKey, message.minuteKey, message.hourKey]) rows.add(key);
    if (rows.size > MAX_OPERATIONS - RESERVED_OPERATIONS) return index;
  }
  return queue.length;
};

/** About how many bytes a write takes in the body of a transaction: bytes in Base64, texts with JSON escapes. */
const sizeOf = (write: StoringWrite): number => {
  let size = OPERATION_BYTES + 3 * write.rowKey.length;
  for (const [name, value] of Object.entries(write.properties)) {
    size += name.length + 24;
    if (typeof value === 'string') size += Math.ceil(Buffer.byteLength(value) * 1.15);
    else if (value instanceof Uint8Array) size += Math.ceil(value.length * 1.34);
  }
  return size;
};

export const areTooLarge = (writes: readonly StoringWrite[]): boolean =>
  writes.length > MAX_OPERATIONS || writes.reduce((size, write) => size + sizeOf(write), 0) > MAX_BYTES;
