import pLimit from 'p-limit';
import { randomUUID } from 'node:crypto';
import type { AlertType } from './model/alert-types.ts';
import { type Clock, systemClock } from './model/clock.ts';
import type { AttemptRef, NotificationId } from './model/ids.ts';
import type { NotificationRequest, Sent, SentCall } from './model/notification-request.ts';
import { DESTINATIONS, type OutcomeTopic } from './model/outcomes.ts';
import type { CallEvent, CallMessage, PhoneLine } from './model/phone-line.ts';
import { callMessage } from './rules/message.ts';
import type { PhoneRules } from './rules/policy.ts';
import { errorKind, logFailure } from './run/call-log.ts';
import { Cases, type Committed, type Context } from './run/cases.ts';
import { Driver } from './run/driver.ts';
import { DueWork, whyTheyWait } from './run/due.ts';
import { LineRequests } from './run/line-requests.ts';
import { watchProvider } from './run/provider-watch.ts';
import { Publisher } from './run/publisher.ts';
import { Sending } from './run/send.ts';
import type { Lines } from './state/lines.ts';
import type { NotificationCase } from './state/notification.ts';
import type { Policy } from './state/step.ts';
import { bodyOf, isoTime, type NotificationBody } from './state/view.ts';
import { isUnreadable, type Listed, NotificationStore } from './store/notification-store.ts';
import type { NotificationsQuery } from './store/rows.ts';
import type { Log } from '../log.ts';
import { LaterFormat, type RowKeys, StorageTrouble } from '../storage/errors.ts';
import type { Table } from '../storage/table.ts';

export type { Listed };
export type { NotificationBody, NotificationRequest, PhoneRules, Sent, SentCall };

/** What the phone is made of. */
export interface PhoneParts {
  readonly line: PhoneLine;
  /** The table `calls`. */
  readonly table: Table;
  /** Spoken in the message. */
  readonly serviceName: string;
  readonly rules: PhoneRules;
  /** Where outcomes are published; undefined: not there. */
  readonly topic?: OutcomeTopic | undefined;
  readonly webhook?: OutcomeTopic | undefined;
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
interface ListQuery extends NotificationsQuery {
  readonly most: number;
  readonly isMeant: (body: NotificationBody) => boolean;
}

/** What endpoints and the timer function use of the phone. All methods that read or write throw StorageTrouble if storage cannot be used. */
export type Phone = ReturnType<typeof createPhone>;

/** A real callback has one event. More are handled too, within bounds: the sender may be anyone. */
const CALLS_AT_A_TIME = 8;
const NO_MORE_EVENTS_AFTER_MS = 60_000;
/** What expired is deleted so often by each process. */
const EXPIRY_EVERY_MS = 3_600_000;
/** Everything that is to be told is looked for when a process starts, and so often. */
const WHOLE_EVERY_MS = 24 * 3_600_000;
/** Each process does what is due so often, whatever starts it beside. */
const RUNS_EVERY_MS = 60_000;

/** Puts the parts of this folder together, and looks for what is due from now on. */
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
  const publishers = DESTINATIONS.flatMap((to) => {
    const topic = parts[to];
    return topic === undefined ? [] : new Publisher(context, to, topic);
  });
  const onCommitted = (change: Committed): void => {
    due.note(change);
    for (const publisher of publishers) publisher.tell([change.stored], ownLog);
  };
  const cases = new Cases(context, onCommitted);
  const requests = new LineRequests(context);
  const driver = new Driver(context, cases, requests);
  const due = new DueWork(context, cases, driver);
  const sending = new Sending(context, cases, driver, due);
  const body = async (known: NotificationCase): Promise<NotificationBody> =>
    bodyOf(known, clock.now(), await whyTheyWait(known, store, cases, clock.now()));
  let expiredAt = -Infinity;
  let wholeAt = -Infinity;
  let isEnded = false;

  /** What is due beside calls. @throws {StorageTrouble} */
  const keepHouse = async (log: Log): Promise<void> => {
    const now = clock.now();
    if (publishers.length > 0) {
      const isWhole = now - wholeAt >= WHOLE_EVERY_MS;
      const untold = await store.untold(now, isWhole);
      if (isWhole) wholeAt = now;
      for (const publisher of publishers) publisher.tell(untold, log);
    }
    await watchProvider(context, log);
    if (now - expiredAt >= EXPIRY_EVERY_MS) {
      await store.deleteBefore(now - rules.retentionMs);
      expiredAt = now;
    }
  };

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
     * Stores a notification and dials its recipients. A request whose key was used for the same within 24 hours finds that notification as
     * it stands, and phones nobody anew.
     *
     * @param key the caller's `Idempotency-Key`
     * @throws {StorageTrouble} nothing is dialed; the same request may be sent again
     */
    send: async (request: NotificationRequest, key: string | undefined, log: Log): Promise<Sent> =>
      sending.send(request, key, log),

    /** A notification as it stands; undefined if there is none. */
    read: async (id: NotificationId): Promise<NotificationBody | undefined> => {
      const known = await store.load(id);
      return known && body(known);
    },

    /** Notifications as they stand, newest first: those that are meant, of about a thousand rows. */
    list: async ({ isMeant, ...query }: ListQuery): Promise<Listed<NotificationBody>> => {
      const now = clock.now();
      const { found, next } = await store.list(query, (known) => isMeant(bodyOf(known, now)));
      return { found: found.map((known) => bodyOf(known, now)), next };
    },

    /** All notifications that run or ended within a day, were not stopped and have reached too few; and whether calls can be placed. */
    needingAttention: async () => {
      const now = clock.now();
      const [found, { lines }] = await Promise.all([store.needingAttention(now), store.lines()]);
      return { notifications: found.map((known) => bodyOf(known, now)), phone: standingOf(lines, now) };
    },

    /** Somebody has a notification in hand. That wakes nobody and stops nothing. Answers it as it stands then; undefined if there is none. */
    acknowledge: async (id: NotificationId, by: string, log: Log): Promise<NotificationBody | undefined> => {
      const done = await cases.take(id, { kind: 'acknowledge', by }, log);
      return done && body(done.stored);
    },

    /** Stops a notification: nobody is dialed any more. Answers it as it stands then; undefined if there is none. */
    stop: async (id: NotificationId, log: Log): Promise<NotificationBody | undefined> => {
      const known = await driver.stop(id, log);
      return known && body(known);
    },

    /**
     * Does what a callback's events ask for: those of one call in order. Never throws.
     *
     * @param alertType that of the callback path; a known call is spoken to in the words of its own notification
     * @returns false if storage could not be used for one of them
     */
    handle: async (events: readonly CallEvent[], alertType: AlertType, log: Log): Promise<boolean> => {
      const end = clock.now() + NO_MORE_EVENTS_AFTER_MS;
      const byCall = Map.groupBy(events, ({ callId }) => callId);
      let left = 0;
      let isStored = true;
      await pLimit(CALLS_AT_A_TIME).map(byCall.values(), async (ofOneCall) => {
        for (const event of ofOneCall) {
          if (clock.now() >= end) left += 1;
          else isStored = (await handleSafely(driver, event, alertType, log)) && isStored;
        }
      });
      if (left > 0) log.error('callback events left', { events: left, reason: 'no time left' });
      return isStored;
    },

    /** What the call of an attempt says; that of the alert type if its notification is not known, or cannot be read. */
    messageOf: async (attempt: AttemptRef | undefined, alertType: AlertType): Promise<CallMessage> => {
      const known = attempt && (await loadReadable(store, attempt.notificationId));
      return known === undefined ? callMessage(serviceName, alertType) : requests.messageOf(known);
    },

    /** Does what is due now. Never throws. */
    runDue: async (log: Log): Promise<void> => {
      await run(log);
      await due.settled();
    },

    /** Before the process ends: fulfils when nothing is under way. */
    end: async (): Promise<void> => {
      isEnded = true;
      await due.end();
      await Promise.all(publishers.map(async (publisher) => publisher.end()));
    },
  };
};

/** A failure does not stop the other events. */
const handleSafely = async (driver: Driver, event: CallEvent, alertType: AlertType, log: Log): Promise<boolean> => {
  try {
    return await driver.handle(event, alertType, log);
  } catch (error) {
    log.error('unexpected error', { call_id: event.callId, event_kind: event.kind, kind: errorKind(error) });
    return false;
  }
};

const loadReadable = async (store: NotificationStore, id: NotificationId): Promise<NotificationCase | undefined> => {
  try {
    return store.recall(id) ?? (await store.load(id));
  } catch (error) {
    if (isUnreadable(error) || error instanceof StorageTrouble) return undefined;
    throw error;
  }
};

/** Whether calls can be placed: the last check counts, and a fault that the last call met. Since when not, as ISO 8601, and why. */
const standingOf = ({ check, queue: { fault } }: Lines, now: number) => {
  const refusal = check?.reason;
  if (check !== undefined && refusal !== undefined) {
    return { usable: false, since: isoTime(check.since ?? check.at), reason: refusal };
  }
  if (fault === undefined || now >= fault.until) return { usable: true };
  return { usable: false, since: isoTime(fault.toldAt), reason: fault.reason ?? 'the phone service refuses calls' };
};
