import { isUrgent } from '../model/alert-types.ts';
import { sleepBy } from '../model/clock.ts';
import { newNotificationId, type NotificationId } from '../model/ids.ts';
import type { NotificationRequest, Sent, SentCall } from '../model/notification-request.ts';
import { type KeyUse, keyUse } from '../rules/idempotency.ts';
import { callsLeft } from '../rules/policy.ts';
import { waitsFor } from '../rules/queue.ts';
import type { Actions } from './actions.ts';
import { logNobodyCallable } from './call-log.ts';
import type { Dialing } from './dialing.ts';
import { type Context, type Notifications, REQUEST_MS } from './notifications.ts';
import type { Publisher } from './publisher.ts';
import { queueOf } from '../state/lines.ts';
import {
  acknowledged,
  type AnyCase,
  newNotification,
  type NotificationCase,
  settlesAtOf,
} from '../state/notification.ts';
import { isFinal } from '../state/recipient.ts';
import type { NotificationEvent } from '../state/step.ts';
import { bodyOf, callOf, type NotificationBody, standingOf } from '../state/view.ts';
import { type Committed, type Listed, SetAside } from '../store/store.ts';
import type { IdempotencyRow, NotificationsQuery } from '../store/rows.ts';
import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';

interface Creation {
  readonly request: NotificationRequest;
  readonly use: KeyUse | undefined;
  /** When the request came, by the steady clock. */
  readonly cameAt: number;
  readonly uuid: string;
  /** Made by the first try. */
  made?: { readonly id: NotificationId; readonly requestedAt: number };
}

type Created =
  | ({ readonly kind: 'created' } & Committed)
  | { readonly kind: 'key used'; readonly earlier: IdempotencyRow }
  | { readonly kind: 'nobody callable'; readonly refused: NotificationCase };

interface ListQuery extends NotificationsQuery {
  readonly most: number;
  readonly isMeant: (body: NotificationBody) => boolean;
}

/** How long the answer to a request waits for its calls to be placed, or hung up. */
const DIALED_WITHIN_MS = 8_000;
const STOPPED_WITHIN_MS = 5_000;

/** The requests of senders and operators: each reads or writes notifications, and answers them as JSON. */
export class Requests {
  readonly #context: Context;
  readonly #notifications: Notifications;
  readonly #dialing: Dialing;
  readonly #actions: Actions;
  readonly #publisher: Publisher;

  constructor(
    context: Context,
    notifications: Notifications,
    dialing: Dialing,
    actions: Actions,
    publisher: Publisher,
  ) {
    this.#context = context;
    this.#notifications = notifications;
    this.#dialing = dialing;
    this.#actions = actions;
    this.#publisher = publisher;
  }

  /**
   * Stores a notification and dials its recipients. If a request with the same key came within 24 hours, answers its notification.
   *
   * @param key the `Idempotency-Key` of the request
   * @throws {StorageTrouble} perhaps nothing was stored; the sender repeats the request with its key
   */
  async send(request: NotificationRequest, key: string | undefined, log: Log): Promise<Sent> {
    const { policy, clock, newId, store } = this.#context;
    const { waves, waveMs = 0 } = request;
    if ((waves.length - 1) * waveMs >= policy.rules.deadlineMs) return { kind: 'waves too late' };
    const use = key === undefined ? undefined : keyUse(key, request);
    const creation: Creation = { request, use, cameAt: clock.steady(), uuid: newId() };
    const created = await this.#notifications.retryFor(REQUEST_MS, async () => this.#create(creation));
    switch (created.kind) {
      case 'nobody callable': {
        const calls = await this.#callsOf(request, created.refused);
        logNobodyCallable(calls, request, clock.now(), log);
        return { kind: 'nobody callable', calls };
      }
      case 'key used': {
        const { notificationId: id, fingerprint } = created.earlier;
        if (fingerprint !== use?.fingerprint) return { kind: 'key of another request' };
        const stored = await store.find(id);
        if (stored === undefined) throw new StorageTrouble(0, { reason: 'unknown notification' });
        return { kind: 'sent', id, calls: await this.#callsOf(request, stored) };
      }
      case 'created': {
        const { id } = created.stored.notification;
        this.#notifications.followUp(created, log);
        const dialed = this.#dialing.run(log).then(async () => this.#actions.allAnswered(id));
        await Promise.race([dialed, sleepBy(clock, DIALED_WITHIN_MS)]);
        return { kind: 'sent', id, calls: await this.#callsOf(request, store.recall(id) ?? created.stored) };
      }
    }
  }

  /** @returns undefined if there is no such notification */
  async read(id: NotificationId): Promise<NotificationBody | undefined> {
    const stored = await this.#context.store.find(id);
    return stored && this.#describe(stored);
  }

  /** The matching notifications among about a thousand rows, newest first. */
  async list({ isMeant, ...query }: ListQuery): Promise<Listed<NotificationBody>> {
    const { store, clock } = this.#context;
    const now = clock.now();
    const { found, next: cursor } = await store.list(query, (stored) => isMeant(bodyOf(stored, now)));
    return { found: found.map((stored) => bodyOf(stored, now)), next: cursor };
  }

  /** All notifications that need an operator's attention, and whether calls can be placed. */
  async needingAttention() {
    const { store, clock } = this.#context;
    const now = clock.now();
    const [found, { lines }] = await Promise.all([store.needingAttention(now), store.readLines()]);
    return { notifications: found.map((stored) => bodyOf(stored, now)), phone: standingOf(lines, now) };
  }

  /** Stops a notification: no recipient is dialed again. @param by the person who stops it, if the request names one */
  async stop(id: NotificationId, log: Log, by?: string): Promise<NotificationBody | undefined> {
    const { store, clock } = this.#context;
    const taken = await this.#take(id, { kind: 'stop', by }, log);
    if (taken === undefined) return this.read(id);
    await Promise.race([taken.acting, sleepBy(clock, STOPPED_WITHIN_MS)]);
    return this.#describe(store.recall(id) ?? taken.stored);
  }

  /** Notes who handles a notification. That stops no call. */
  async acknowledge(id: NotificationId, by: string, log: Log): Promise<NotificationBody | undefined> {
    const { store, clock } = this.#context;
    const live = await store.load(id);
    // Minutes after its last call, any process may settle it. Settle it first: otherwise the note could be lost.
    const isSettling = live !== undefined && (settlesAtOf(live) ?? Infinity) <= clock.now();
    if (isSettling) await this.#notifications.retryFor(REQUEST_MS, async () => store.settle(live).catch(ifConflict));
    const taken = isSettling ? undefined : await this.#take(id, { kind: 'acknowledge', by }, log);
    return taken === undefined ? this.#acknowledgeSettled(id, by, log) : this.#describe(taken.stored);
  }

  async #acknowledgeSettled(id: NotificationId, by: string, log: Log): Promise<NotificationBody | undefined> {
    const { store, clock, newId } = this.#context;
    return this.#notifications.retryFor(REQUEST_MS, async () => {
      const before = await store.loadSettled(id);
      const now = clock.now();
      const after = before && acknowledged(before, by, now);
      if (before === undefined || after === undefined || after === before) return before && bodyOf(before, now);
      const outcomes = await store.commitSettled(before, after, { now, commit: newId() });
      log.info('notification acknowledged', { notification_id: id });
      if (outcomes !== undefined) void this.#publisher.deliver(outcomes, after, log);
      return bodyOf(after, now);
    });
  }

  async #take(id: NotificationId, event: NotificationEvent, log: Log) {
    try {
      return await this.#notifications.take(id, event, log);
    } catch (error) {
      // The cause, which is answered 500 and not 503: sending the request again does not help.
      throw error instanceof SetAside ? error.cause : error;
    }
  }

  /** Stores a notification and its key. A further try recognizes an earlier try that was carried out. */
  async #create(creation: Creation): Promise<Created> {
    const { store, policy, clock, newId } = this.#context;
    const { request, use, cameAt, made } = creation;
    const earlier = made && (await store.load(made.id));
    if (earlier !== undefined) return { kind: 'created', before: undefined, stored: earlier, outcomes: undefined };
    // Most keys are new: the first try inserts without a read.
    const used = made === undefined || use === undefined ? {} : await store.readKey(use, clock.now());
    if (used.earlier !== undefined) return { kind: 'key used', earlier: used.earlier };
    const { lines } = await store.lines();
    const now = clock.now();
    // Measured from the arrival of the request: a late answer of storage must not move the deadline.
    const requestedAt = now - Math.floor(clock.steady() - cameAt);
    const { id } = (creation.made ??= { id: newNotificationId(requestedAt, creation.uuid), requestedAt });
    const isOverDayLimit = callsLeft(lines.day, policy.rules.callsPerDay, isUrgent(request.alertType.name), now) === 0;
    const facts = { id, keyHash: use?.keyHash, isOverDayLimit, rules: policy.rules };
    const after = newNotification(request, facts, creation.made.requestedAt);
    if (after.recipients.every(isFinal)) {
      const repeated = use && (await store.readKey(use, now)).earlier;
      return repeated === undefined
        ? { kind: 'nobody callable', refused: after }
        : { kind: 'key used', earlier: repeated };
    }
    const key = use && { ...use, etag: used.etag };
    const moment = { now, commit: newId() };
    return { kind: 'created', ...(await store.commit({ before: undefined, after, moment, key })) };
  }

  /** A notification, with the reasons of recipients that wait. Without storage, the reasons are rough. */
  async #describe(stored: AnyCase): Promise<NotificationBody> {
    const { store, clock } = this.#context;
    const now = clock.now();
    const due = queueOf(stored).filter(({ dueAt }) => dueAt <= now);
    if (due.length === 0) return bodyOf(stored, now);
    try {
      const { lines } = await store.readLines();
      return bodyOf(
        stored,
        now,
        new Map(due.map((recipient) => [recipient.position, waitsFor(recipient, lines.slots, lines, now)])),
      );
    } catch (error) {
      if (error instanceof StorageTrouble) return bodyOf(stored, now);
      throw error;
    }
  }

  async #callsOf({ waves }: NotificationRequest, stored: AnyCase): Promise<readonly SentCall[]> {
    const { recipients } = await this.#describe(stored);
    return waves.flat().map(({ number }, index) => {
      const recipient = stored.recipients[index];
      const notCalled = recipient !== undefined && isFinal(recipient) ? recipient.notCalled : undefined;
      return callOf(number, recipients[index], notCalled);
    });
  }
}

const ifConflict = (error: unknown): void => {
  if (!(error instanceof WriteConflict)) throw error;
};
