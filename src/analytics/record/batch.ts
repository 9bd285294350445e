import { MAX_OPERATIONS, type StoringWrite } from '../../storage/row.ts';
import type { EventMessage } from '../model/camera-event.ts';
import { hourOf, minuteOfDay, type MinuteOfDay } from '../model/day.ts';
import { type EventKey, eventKey } from '../rows/keys.ts';

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

/** A message with the keys of its rows, computed once. */
export interface KeyedMessage {
  readonly message: EventMessage;
  readonly minute: MinuteOfDay;
  readonly eventKey: EventKey;
}

export const keyed = (message: EventMessage): KeyedMessage => {
  const { ts, cameraId, eventId } = message;
  const minute = minuteOfDay(ts);
  return { message, minute, eventKey: eventKey(minute, cameraId, eventId) };
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

// An entity group transaction takes MAX_OPERATIONS and 4 MiB. Reserve 2 operations: the stripe's `day` row, and for a new stripe the `day` row
// of stripe 0. Reserve 0.6 MiB for what the SDK adds to the body.
const RESERVED_OPERATIONS = 2;
const MAX_BYTES = 3_400_000;
const OPERATION_BYTES = 900;

/** How many messages from the front of a queue surely fit into one transaction, by their number of operations. */
export const fittingInFront = (queue: readonly KeyedMessage[]): number => {
  const events = new Set<string>();
  const cameras = new Set<string>();
  const hours = new Set<number>();
  for (const [index, { message, minute, eventKey: key }] of queue.entries()) {
    events.add(key);
    cameras.add(message.cameraId);
    hours.add(hourOf(minute));
    if (events.size + cameras.size + hours.size > MAX_OPERATIONS - RESERVED_OPERATIONS) return index;
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
