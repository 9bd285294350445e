import { randomUUID } from 'node:crypto';
import { type Clock, clockOf } from './model/clock.ts';
import type { NotificationRequest, Sent, SentCall } from './model/notification-request.ts';
import { DESTINATIONS, type OutcomeTopic } from './model/outcomes.ts';
import type { PhoneProvider } from './model/phone-provider.ts';
import type { PhoneRules } from './rules/policy.ts';
import { Actions } from './run/actions.ts';
import { CallEvents } from './run/call-events.ts';
import { Dialing } from './run/dialing.ts';
import { housekeeping } from './run/housekeeping.ts';
import { type Context, Notifications } from './run/notifications.ts';
import { Publisher } from './run/publisher.ts';
import { Requests } from './run/requests.ts';
import type { Policy } from './state/step.ts';
import type { NotificationBody } from './state/view.ts';
import { type Listed, Store } from './store/store.ts';
import type { Log } from '../log.ts';
import { LaterFormat, type RowKeys } from '../storage/errors.ts';
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
  const notifications: Notifications = new Notifications(context, () => ({ actions, dialing, publisher }));
  const actions = new Actions(context, notifications);
  const dialing = new Dialing(context, notifications);
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

    handle: callEvents.handle.bind(callEvents),
    messageOf: callEvents.messageOf.bind(callEvents),

    runDue: async (log: Log): Promise<void> => {
      await run(log);
      await actions.allAnswered();
    },

    /** Fulfills when the process may end: all requests are answered. Nothing is claimed from now on. */
    end: async (): Promise<void> => {
      isEnded = true;
      await dialing.end();
      await actions.allAnswered();
      await publisher.end();
    },
  };
};
