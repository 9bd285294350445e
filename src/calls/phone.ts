import pLimit from 'p-limit';
import { randomUUID } from 'node:crypto';
import { type AlertType, alertTypeOf } from './model/alert-types.ts';
import { type Clock, clockOf } from './model/clock.ts';
import type { AttemptRef } from './model/ids.ts';
import type { NotificationRequest, Sent, SentCall } from './model/notification-request.ts';
import { DESTINATIONS, type OutcomeTopic } from './model/outcomes.ts';
import type { CallEvent, CallMessage, PhoneProvider } from './model/phone-provider.ts';
import { callMessage } from './rules/message.ts';
import type { PhoneRules } from './rules/policy.ts';
import { Actions } from './run/actions.ts';
import { Dialing } from './run/dialing.ts';
import { housekeeping } from './run/housekeeping.ts';
import { type Context, Notifications } from './run/notifications.ts';
import { Publisher } from './run/publisher.ts';
import { Requests } from './run/requests.ts';
import { CallEvents } from './run/call-events.ts';
import { Telling } from './run/telling.ts';
import type { Policy } from './state/step.ts';
import type { NotificationBody } from './state/view.ts';
import { isUnreadable, type Listed, Store } from './store/store.ts';
import type { Log } from '../log.ts';
import { LaterFormat, type RowKeys, StorageTrouble } from '../storage/errors.ts';
import type { Table } from '../storage/table.ts';

export type { Listed };
export type { NotificationBody, NotificationRequest, PhoneRules, Sent, SentCall };

export interface PhoneParts {
  readonly provider: PhoneProvider;
  readonly table: Table;
  readonly serviceName: string;
  readonly rules: PhoneRules;
  /** Where outcomes are published; undefined: nowhere. */
  readonly topic?: OutcomeTopic | undefined;
  readonly webhook?: OutcomeTopic | undefined;
  readonly log: Log;
  /** By default, the clock of storage. */
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly newId?: () => string;
}

/** The phone, as endpoints and the timer function use it. Methods throw StorageTrouble if storage cannot be used. */
export type Phone = ReturnType<typeof createPhone>;

/** A real callback has one event. An unknown sender may post many: they are handled within these bounds. */
const CALLS_AT_A_TIME = 8;
const NO_MORE_EVENTS_AFTER_MS = 60_000;
/** How often each process looks for due work, in addition to the other triggers. */
const RUNS_EVERY_MS = 60_000;

/** Connects the parts of this folder, and starts to look for due work. */
export const createPhone = (parts: PhoneParts) => {
  const { provider, table, serviceName, rules, log: ownLog } = parts;
  const { clock = clockOf(() => table.now()), random = Math.random, newId = randomUUID } = parts;
  const destinations = DESTINATIONS.filter((to) => parts[to] !== undefined);
  const store = new Store(
    table,
    destinations,
    ({ partitionKey: partition, rowKey: row }: RowKeys, error: Error): void =>
      ownLog.error(error instanceof LaterFormat ? 'stored row of a later format' : 'stored row damaged', {
        partition,
        row,
      }),
  );
  const { name, isIdempotent, callsPerSecond } = provider;
  const policy: Policy = {
    rules,
    serviceName,
    provider: { name, isIdempotent, callsPerSecond, speaksByItself: provider.media === undefined },
  };
  const context: Context = { provider, store, policy, clock, random, newId, log: ownLog };
  const publisher = new Publisher(context, parts);
  const notifications = new Notifications(context, {
    carryOut: async (claimed, log) => actions.carryOut(claimed, log),
    note: (committed, log) => {
      dialing.note(committed);
      if (committed.outcomes !== undefined) void publisher.deliver(committed.outcomes, committed.stored, log);
    },
    noteTrouble: () => dialing.noteTrouble(),
  });
  const actions = new Actions(context, async ({ notificationId, index, attemptId }, event, log) =>
    notifications.take(notificationId, { kind: 'call', index, attemptId, event }, log),
  );
  const dialing = new Dialing(context, notifications, new Telling(policy));
  const requests = new Requests(context, notifications, dialing, actions, publisher);
  const callEvents = new CallEvents(context, notifications, actions);
  const keepHouse = housekeeping(context, publisher);
  let isEnded = false;

  const run = async (log: Log): Promise<void> => {
    await dialing.run(log);
    await keepHouse(log);
  };

  const runFromNowOn = async (): Promise<void> => {
    if (isEnded) return;
    await run(ownLog);
    clock.after(RUNS_EVERY_MS, () => void runFromNowOn());
  };
  clock.after(0, () => void runFromNowOn());

  return {
    send: requests.send.bind(requests),
    read: requests.read.bind(requests),
    list: requests.list.bind(requests),
    needingAttention: requests.needingAttention.bind(requests),
    acknowledge: requests.acknowledge.bind(requests),
    stop: requests.stop.bind(requests),

    /**
     * Handles the events of a callback. The events of one call keep their order. Never throws.
     *
     * @param alertType of the callback path; it matters only for calls without a row
     * @returns false if storage could not be used for an event
     */
    handle: async (events: readonly CallEvent[], alertType: AlertType, log: Log): Promise<boolean> => {
      const end = clock.steady() + NO_MORE_EVENTS_AFTER_MS;
      const byCall = Map.groupBy(events, ({ callId }) => callId);
      let left = 0;
      let isStored = true;
      await pLimit(CALLS_AT_A_TIME).map(byCall.values(), async (ofOneCall) => {
        for (const event of ofOneCall) {
          if (clock.steady() >= end) left += 1;
          else isStored = (await callEvents.handle(event, alertType, log)) && isStored;
        }
      });
      if (left > 0) log.error('callback events left', { events: left, reason: 'no time left' });
      return isStored;
    },

    /**
     * The message of an attempt, or of the alert type if its notification does not exist or cannot be read. With an attempt, the message has the
     * menu: a provider asks only after a key, and the call listens for the next.
     */
    messageOf: async (attempt: AttemptRef | undefined, alertType: AlertType): Promise<CallMessage> => {
      const id = attempt?.notificationId;
      let known = id && store.spokenOf(id);
      try {
        known ??= id && (await store.find(id))?.notification;
      } catch (error) {
        if (!(error instanceof StorageTrouble) && !isUnreadable(error)) throw error;
      }
      const type = known === undefined ? alertType : alertTypeOf(known.alertType);
      return callMessage(serviceName, type, { confirm: attempt !== undefined, details: known?.details });
    },

    runDue: async (log: Log): Promise<void> => {
      await run(log);
      await actions.settled();
    },

    /** Fulfills when the process may end: all requests are answered. Nothing is claimed from now on. */
    end: async (): Promise<void> => {
      isEnded = true;
      await dialing.end();
      await actions.settled();
      await publisher.end();
    },
  };
};
