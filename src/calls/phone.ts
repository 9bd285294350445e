import { randomUUID } from 'node:crypto';

import pLimit from 'p-limit';

import type { Log } from '../log.ts';
import { LaterFormat, type RowKeys } from '../storage/errors.ts';
import type { Table } from '../storage/table.ts';
import { Alarm } from './run/alarm.ts';
import type { AlertType } from './model/alert-types.ts';
import type { CallEvent } from './model/call-event.ts';
import { errorKind } from './run/call-log.ts';
import { type Clock, systemClock } from './model/clock.ts';
import { Cases } from './run/cases.ts';
import { Driver } from './run/driver.ts';
import { DueWork } from './run/due.ts';
import type { NotificationId } from './model/ids.ts';
import type { NotificationRequest, Sent, SentCall } from './model/notification-request.ts';
import { DESTINATIONS, type OutcomeTopic } from './model/outcome-events.ts';
import type { PhoneLine } from './model/phone-line.ts';
import { LineRequests } from './run/line-requests.ts';
import { Publisher, type PublisherParts } from './run/publisher.ts';
import type { PhoneRules } from './rules/policy.ts';
import { Sending } from './run/send.ts';
import { whyTheyWait } from './run/waits.ts';
import { parseOpenKey, type NotificationsQuery } from './store/keys.ts';
import { type Listed, NotificationStore } from './store/notification-store.ts';
import type { NotificationCase } from './state/notification.ts';
import { isForeign } from './state/foreign-call.ts';
import { type AttemptView, type NotificationView, type RecipientView, viewOf } from './state/view.ts';

export type { Listed };
export type { AttemptView, NotificationRequest, NotificationView, PhoneRules, RecipientView, Sent, SentCall };

/** What the phone is made of. */
export interface PhoneParts {
  readonly line: PhoneLine;
  /** The table `calls`. */
  readonly table: Table;
  /** Spoken in the message. */
  readonly serviceName: string;
  readonly rules: PhoneRules;
  /** Where outcomes are published; those that are undefined are none. */
  readonly topic?: OutcomeTopic | undefined;
  readonly webhook?: OutcomeTopic | undefined;
  /** A notification as `GET` answers it, for the topic; by default as it is read here. */
  readonly bodyOf?: PublisherParts['bodyOf'] | undefined;
  /** For what happens outside any request. */
  readonly log: Log;
  /** By default the clock of this machine. */
  readonly clock?: Clock;
  /** From 0 to 1, for the jitter of pauses; by default `Math.random`. */
  readonly random?: () => number;
  /** A new UUID, for attempts and notifications; by default `randomUUID`. */
  readonly newId?: () => string;
}

/** Which notifications are listed. */
export interface ListQuery extends NotificationsQuery {
  readonly most: number;
  readonly isMeant: (view: NotificationView) => boolean;
}

/** What endpoints and the timer function use of the phone. */
export interface Phone {
  /**
   * Writes a notification down and dials its recipients. A request whose key was used for the same within 24 hours finds that
   * notification as it stands, and phones nobody anew.
   *
   * @param key the caller's `Idempotency-Key`
   * @throws {StorageTrouble} nothing is dialled; the same request may be sent again
   */
  readonly send: (request: NotificationRequest, key: string | undefined, log: Log) => Promise<Sent>;

  /** A notification as it stands; undefined if there is none. @throws {StorageTrouble} */
  readonly read: (id: NotificationId) => Promise<NotificationView | undefined>;

  /**
   * Notifications as they stand, the newest first: those that are meant, of about a thousand rows.
   *
   * @throws {StorageTrouble}
   */
  readonly list: (query: ListQuery) => Promise<Listed<NotificationView>>;

  /** All notifications that run or ended within a day, were not stopped and have reached too few. @throws {StorageTrouble} */
  readonly needingAttention: () => Promise<readonly NotificationView[]>;

  /**
   * Somebody has a notification in hand: that wakes nobody and stops nothing, and the first stays. Answers it as it stands then; undefined if
   * there is none. @throws {StorageTrouble}
   */
  readonly acknowledge: (id: NotificationId, by: string, log: Log) => Promise<NotificationView | undefined>;

  /** Stops a notification: nobody is dialled any more. Answers it as it stands then; undefined if there is none. @throws {StorageTrouble} */
  readonly stop: (id: NotificationId, log: Log) => Promise<NotificationView | undefined>;

  /**
   * Does what a callback's events ask for: those of one call in order. Never throws; without the table, speaks and hangs up all the same.
   *
   * @param alertType that of the callback path; a known call is spoken to in the words of its own notification
   */
  readonly handle: (events: readonly CallEvent[], alertType: AlertType, log: Log) => Promise<void>;

  /** Does what is due now, in this process once at a time. Never throws. */
  readonly runDue: (log: Log) => Promise<void>;

  /** Before the process ends: fulfils when nothing is under way. */
  readonly end: () => Promise<void>;
}

// A real callback has one event. More are handled too, within bounds: the sender may be anyone.
const CALLS_AT_A_TIME = 8;
const NO_MORE_EVENTS_AFTER_MS = 60_000;
/** Puts the parts of this folder together. */
export const createPhone = (parts: PhoneParts): Phone => {
  const { line, table, serviceName, rules, log: ownLog } = parts;
  const { clock = systemClock, random = Math.random, newId = randomUUID } = parts;
  const { bodyOf = (view: NotificationView) => ({ ...view }) } = parts;
  const { callsPerDay, retentionMs } = rules;
  const destinations = DESTINATIONS.filter((to) => parts[to] !== undefined);
  const tell = ({ partitionKey: partition, rowKey }: RowKeys, error: Error): void => {
    // That of an open call holds the hash of a number.
    const row = parseOpenKey(rowKey) === undefined ? rowKey : 'open call';
    const isLater = error instanceof LaterFormat;
    if (isLater) ownLog.error('stored row of a later format', { partition, row });
    else ownLog.error('stored row damaged', { partition, row });
  };
  const store = new NotificationStore({ table, callsPerDay, retentionMs, destinations, newId, tell });
  const alarm = new Alarm(clock);
  const policy = { rules, serviceName, line };
  const shared = { store, policy, clock, random, newId };
  const cases = new Cases({ ...shared, alarm });
  const requests = new LineRequests({ line, serviceName, clock, log: ownLog });
  const driver = new Driver({ line: requests, cases, store, policy, clock, log: ownLog });
  const publishers = DESTINATIONS.map(
    (to) => new Publisher({ to, topic: parts[to], store, clock, bodyOf, recall: (id) => cases.recall(id) }),
  );
  const due = new DueWork({ ...shared, cases, driver, alarm, publishers, log: ownLog });
  alarm.onRing(() => {
    void due.look(ownLog);
  });
  const sending = new Sending({ ...shared, cases, driver, due });
  const view = async (known: NotificationCase): Promise<NotificationView> =>
    viewOf(known, clock.now(), await whyTheyWait(known, store, clock.now()));

  return {
    send: async (request, key, log) => sending.send(request, key, log),
    read: async (id) => {
      const known = isForeign(id) ? undefined : await store.load(id);
      return known && view(known);
    },
    list: async ({ isMeant, ...query }) => {
      const now = clock.now();
      const { found, next } = await store.list(query, (known) => isMeant(viewOf(known, now)));
      return { found: found.map((known) => viewOf(known, now)), next };
    },
    needingAttention: async () => {
      const now = clock.now();
      return (await store.needingAttention(now)).map((known) => viewOf(known, now));
    },
    acknowledge: async (id, by, log) => {
      const done = isForeign(id) ? undefined : await cases.take(id, undefined, { kind: 'acknowledge', by }, log);
      if (done === undefined) return undefined;
      log.info('notification acknowledged', { notification_id: id });
      return view(done.stored);
    },
    stop: async (id, log) => {
      const known = isForeign(id) ? undefined : await driver.stop(id, log);
      return known && view(known);
    },
    handle: async (events, alertType, log) => {
      const end = clock.now() + NO_MORE_EVENTS_AFTER_MS;
      const byCall = Map.groupBy(events, ({ callId }) => callId);
      let left = 0;
      await pLimit(CALLS_AT_A_TIME).map(byCall.values(), async (ofOneCall) => {
        for (const event of ofOneCall) {
          if (clock.now() >= end) left += 1;
          else await handleSafely(driver, event, alertType, log);
        }
      });
      if (left > 0) log.error('callback events left', { events: left, reason: 'no time left' });
    },
    runDue: async (log) => due.run(log),
    end: async () => due.end(),
  };
};

/** A failure does not stop the other events. */
const handleSafely = async (driver: Driver, event: CallEvent, alertType: AlertType, log: Log): Promise<void> => {
  try {
    await driver.handle(event, alertType, log);
  } catch (error) {
    log.error('unexpected error', { call_id: event.callId, event_kind: event.kind, kind: errorKind(error) });
  }
};
