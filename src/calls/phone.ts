import pLimit from 'p-limit';
import { randomUUID } from 'node:crypto';
import type { AlertType } from './model/alert-types.ts';
import { type Clock, systemClock } from './model/clock.ts';
import type { AttemptRef, NotificationId } from './model/ids.ts';
import type { NotificationRequest, Sent, SentCall } from './model/notification-request.ts';
import { DESTINATIONS, type OutcomeTopic } from './model/outcomes.ts';
import type { CallEvent, CallMessage, PhoneProvider } from './model/phone-provider.ts';
import type { PhoneRules } from './rules/policy.ts';
import { logFailure } from './run/call-log.ts';
import { Cases, type Context } from './run/cases.ts';
import { Driver } from './run/driver.ts';
import { DueWork } from './run/due.ts';
import { housekeeping } from './run/housekeeping.ts';
import { Publisher } from './run/publisher.ts';
import { createSend } from './run/send.ts';
import type { Lines, Policy } from './state/step.ts';
import { bodyOf, isoTime, type NotificationBody } from './state/view.ts';
import { type Listed, NotificationStore } from './store/notification-store.ts';
import type { NotificationsQuery } from './store/rows.ts';
import type { Log } from '../log.ts';
import { LaterFormat, type RowKeys } from '../storage/errors.ts';
import type { Table } from '../storage/table.ts';

export type { Listed };
export type { NotificationBody, NotificationRequest, PhoneRules, Sent, SentCall };

export interface PhoneParts {
  readonly line: PhoneProvider;
  readonly table: Table;
  readonly serviceName: string;
  readonly rules: PhoneRules;
  /** Where outcomes are published; undefined: nowhere. */
  readonly topic?: OutcomeTopic | undefined;
  readonly webhook?: OutcomeTopic | undefined;
  readonly log: Log;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly newId?: () => string;
}

interface ListQuery extends NotificationsQuery {
  readonly most: number;
  readonly isMeant: (body: NotificationBody) => boolean;
}

/** The phone, as endpoints and the timer function use it. Methods throw StorageTrouble if storage cannot be used. */
export type Phone = ReturnType<typeof createPhone>;

/** A real callback has one event. An unknown sender may post many: they are handled within these bounds. */
const CALLS_AT_A_TIME = 8;
const NO_MORE_EVENTS_AFTER_MS = 60_000;
/** How often each process does due work, in addition to the other triggers. */
const RUNS_EVERY_MS = 60_000;

/** Connects the parts of this folder, and starts to look for due work. */
export const createPhone = (parts: PhoneParts) => {
  const { line, table, serviceName, rules, log: ownLog } = parts;
  const { clock = systemClock, random = Math.random, newId = randomUUID } = parts;
  const tell = ({ partitionKey: partition, rowKey: row }: RowKeys, error: Error): void =>
    ownLog.error(error instanceof LaterFormat ? 'stored row of a later format' : 'stored row damaged', {
      partition,
      row,
    });
  const store = new NotificationStore(table, newId, tell);
  const { name, isIdempotent, callsPerSecond } = line;
  const policy: Policy = {
    rules,
    serviceName,
    line: { name, isIdempotent, callsPerSecond, speaksByItself: line.media === undefined },
  };
  const destinations = DESTINATIONS.filter((to) => parts[to] !== undefined);
  const context: Context = { line, store, policy, destinations, clock, random, newId, log: ownLog };
  const cases = new Cases(context, (change) => {
    due.note(change);
    for (const publisher of publishers) publisher.tell([change.stored], ownLog);
  });
  const publishers = DESTINATIONS.flatMap((to) => {
    const topic = parts[to];
    return topic === undefined ? [] : new Publisher(context, cases, to, topic);
  });
  const driver = new Driver(context, cases);
  const due = new DueWork(context, cases, driver);
  const keepHouse = housekeeping(context, cases, publishers);
  let isEnded = false;

  const run = async (log: Log): Promise<void> => {
    await due.look(log);
    try {
      await keepHouse(log);
    } catch (error) {
      logFailure('due work unreachable', error, {}, log);
    }
  };

  const runFromNowOn = async (): Promise<void> => {
    if (isEnded) return;
    await run(ownLog);
    clock.after(RUNS_EVERY_MS, () => void runFromNowOn());
  };
  clock.after(0, () => void runFromNowOn());

  return {
    /**
     * Stores a notification and dials its recipients. If a request with the same key came within 24 hours, answers its notification.
     *
     * @param key the `Idempotency-Key` of the request
     * @throws {StorageTrouble} nothing was stored; the sender may retry
     */
    send: createSend(context, cases, driver, due),

    read: async (id: NotificationId): Promise<NotificationBody | undefined> => {
      const known = await store.load(id);
      return known && due.describe(known);
    },

    /** Notifications that match, newest first, of about a thousand rows. */
    list: async ({ isMeant, ...query }: ListQuery): Promise<Listed<NotificationBody>> => {
      const now = clock.now();
      const { found, next } = await store.list(query, (known) => isMeant(bodyOf(known, now)));
      return { found: found.map((known) => bodyOf(known, now)), next };
    },

    /** All notifications that need an operator's attention, and whether calls can be placed. */
    needingAttention: async () => {
      const now = clock.now();
      const [found, { lines }] = await Promise.all([store.needingAttention(now), store.lines()]);
      return { notifications: found.map((known) => bodyOf(known, now)), phone: standingOf(lines, now) };
    },

    /** Notes who handles a notification. That stops no call. */
    acknowledge: async (id: NotificationId, by: string, log: Log): Promise<NotificationBody | undefined> => {
      const done = await cases.take(id, { kind: 'acknowledge', by }, log);
      return done && due.describe(done.stored);
    },

    /** Stops a notification: no recipient is dialed again. */
    stop: async (id: NotificationId, log: Log): Promise<NotificationBody | undefined> => {
      const known = await driver.stop(id, log);
      return known && due.describe(known);
    },

    /**
     * Handles the events of a callback. The events of one call keep their order. Never throws.
     *
     * @param alertType of the callback path; it matters only for calls without a row
     * @returns false if storage could not be used for an event
     */
    handle: async (events: readonly CallEvent[], alertType: AlertType, log: Log): Promise<boolean> => {
      const end = clock.now() + NO_MORE_EVENTS_AFTER_MS;
      const byCall = Map.groupBy(events, ({ callId }) => callId);
      let left = 0;
      let isStored = true;
      await pLimit(CALLS_AT_A_TIME).map(byCall.values(), async (ofOneCall) => {
        for (const event of ofOneCall) {
          if (clock.now() >= end) left += 1;
          else isStored = (await driver.handle(event, alertType, log)) && isStored;
        }
      });
      if (left > 0) log.error('callback events left', { events: left, reason: 'no time left' });
      return isStored;
    },

    messageOf: async (attempt: AttemptRef | undefined, alertType: AlertType): Promise<CallMessage> =>
      driver.messageOf(attempt, alertType),

    runDue: async (log: Log): Promise<void> => {
      await run(log);
      await due.settled();
    },

    /** Fulfils when the process may end: all requests are answered. */
    end: async (): Promise<void> => {
      isEnded = true;
      await due.end();
      await Promise.all(publishers.map(async (publisher) => publisher.end()));
    },
  };
};

/** Whether calls can be placed, by the last check and by the last call; if not, since when (ISO 8601) and why. */
const standingOf = ({ check, queue: { fault } }: Lines, now: number) => {
  const refusal = check?.reason;
  if (check !== undefined && refusal !== undefined) {
    return { usable: false, since: isoTime(check.since ?? check.at), reason: refusal };
  }
  if (fault === undefined || now >= fault.until) return { usable: true };
  return { usable: false, since: isoTime(fault.toldAt), reason: fault.reason ?? 'the phone service refuses calls' };
};
