import type { RowWrite } from '../../storage/row.ts';
import type { AttemptRef } from '../model/call-context.ts';
import { hashOfNumber } from '../model/phone-number.ts';
import type { LineState, OpenCall } from '../rules/lines.ts';
import type { Queued } from '../rules/queue.ts';
import { isUrgentNotification, type NotificationCase } from '../state/notification.ts';
import { recipientEntry, type RecipientRef } from './case-rows.ts';
import type { DueKey } from './keys.ts';
import { type DueProperties, dueRows } from './rows.ts';

/** Something due, with what its entry holds. */
export type Due = DueKey & DueProperties;

/** Somebody who waits to be dialled, as their entry says. */
export interface Waiting extends Queued, RecipientRef {
  /** The entry. */
  readonly rowKey: string;
  /** What a later version has written of them there. */
  readonly more?: readonly unknown[] | undefined;
}

/** An open call as its row says; without an attempt if that cannot be read. */
export interface OpenRow extends OpenCall {
  readonly rowKey: string;
  readonly attempt?: AttemptRef | undefined;
  readonly attemptId?: string | undefined;
}

/** What is known of the lines, and the open calls, as they were read together. */
export interface StoredLines {
  readonly line: LineState;
  readonly open: readonly OpenRow[];
  /** Versions by row key. Writes that are made from a snapshot bring theirs up to date. */
  readonly etags: Map<string, string>;
}

/** What decides who is next, as it was read together. */
export interface Snapshot extends StoredLines {
  /** How many of the day's calls are spoken for; undefined: that cannot be read, and is not counted. */
  used: number | undefined;
  readonly day: string;
  readonly queue: readonly Waiting[];
  /** All that is due, those who wait included. */
  readonly due: readonly Due[];
}

/** Who waits by an entry. One that names nobody's number is of a version before, or cannot be read. */
export const waitingIn = (due: Due): readonly Waiting[] => {
  if (due.kind !== 'dial' && due.kind !== 'dial_urgent') return [];
  const { notificationId, rowKey, at, index, people, heldBackUntil = 0 } = due;
  const { number, queuedAt = at, refusals, hadNoLine } = due;
  const isUrgent = due.kind === 'dial_urgent';
  const one = (position: number, dueAt: number, hash: string, more?: readonly unknown[]): Waiting => {
    const who = { notificationId, index: position, rowKey, number: hash, position };
    return { ...who, isUrgent, dueAt, queuedAt, refusals, hadNoLine, more };
  };
  if (index === undefined) {
    // Since they were asked for, whatever the clock of the instance that took the request says.
    return (people ?? []).map(([position, hash, ...more]) => one(position, heldBackUntil, hash, more));
  }
  return number === undefined ? [] : [one(index, at, number)];
};

/** Who waits of a notification. */
export const queueOf = (known: NotificationCase): readonly Waiting[] =>
  known.recipients.flatMap((recipient, index): readonly Waiting[] => {
    const { state, dueAt, queuedAt, refusals, hadNoLine, reason } = recipient;
    const number = hashOfNumber(recipient.number);
    const rowKey = recipientEntry(known.notification, index, recipient);
    if (state !== 'waiting' || dueAt === undefined || number === undefined || rowKey === undefined) return [];
    const isUrgent = isUrgentNotification(known.notification);
    const { id: notificationId } = known.notification;
    const own = { notificationId, index, rowKey, number, position: index };
    return [{ ...own, isUrgent, queuedAt, dueAt, refusals, hadNoLine, reason }];
  });

/** Takes somebody out of an entry. */
export const entryWrites = ({ queue, etags }: Snapshot, { rowKey, index }: Waiting): readonly RowWrite[] => {
  const people = queue
    .filter((one) => one.rowKey === rowKey && one.index !== index)
    .map(({ index: at, number, more = [] }): [number, string, ...unknown[]] => {
      const person: [number, string, ...unknown[]] = [at, number];
      person.push(...more);
      return person;
    });
  if (people.length === 0) return [{ kind: 'delete', rowKey }];
  return [{ kind: 'merge', rowKey, etag: etags.get(rowKey) ?? '', properties: dueRows.propertiesOf({ people }) }];
};
