import type { EventMessage } from '../model/camera-event.ts';
import { hourOfMinute, microsecondOfMinute, minuteOfDay } from '../model/day.ts';
import { cameraKey, eventKey, minuteKey } from '../rows/keys.ts';
import { secondOf } from '../rows/minute-row.ts';

/** A message with what its rows are found by, computed once. The keys of counter rows are those of stripe 0. */
export interface KeyedMessage {
  readonly message: EventMessage;
  /** Minute of the day, 0 to 1439. */
  readonly minute: number;
  /** Hour of the day, 0 to 23. */
  readonly hour: number;
  /** Key of the event's row. */
  readonly eventKey: string;
  /** Key of the camera's row. */
  readonly cameraKey: string;
  /** Key of the row with the event's sample. */
  readonly minuteKey: string;
}

/** Computes the keys of a message. */
export const keyed = (message: EventMessage): KeyedMessage => {
  const { ts, cameraId, eventId } = message;
  const minute = minuteOfDay(ts);
  return {
    message,
    minute,
    hour: hourOfMinute(minute),
    eventKey: eventKey(minute, cameraId, eventId),
    cameraKey: cameraKey(cameraId),
    minuteKey: minuteKey(minute, secondOf(microsecondOfMinute(ts))),
  };
};
