import { isUrgent } from '../model/alert-types.ts';
import { sleepBy } from '../model/clock.ts';
import { newNotificationId, type NotificationId } from '../model/ids.ts';
import type { NotificationRequest, Sent, SentCall } from '../model/notification-request.ts';
import { type KeyUse, keyUse } from '../rules/idempotency.ts';
import { callsLeft } from '../rules/policy.ts';
import { waitsFor } from '../rules/queue.ts';
import { logNobodyCallable } from './call-log.ts';
import type { Dialing } from './dialing.ts';
import type { Change, Context, Notifications } from './notifications.ts';
import type { Publisher } from './publisher.ts';
import { queueOf } from '../state/lines.ts';
import {
  acknowledged,
  type AnyCase,
  newNotification,
  type NotificationCase,
  settlesAtOf,
} from '../state/notification.ts';
import { outcomesToDeliver } from '../state/outcomes.ts';
import { isFinal } from '../state/recipient.ts';
import { actionsOf, type NotificationEvent, step } from '../state/step.ts';
import { bodyOf, callOf, type NotificationBody, standingOf } from '../state/view.ts';
import { type Listed, SetAside } from '../store/store.ts';
import type { IdempotencyRow, NotificationsQuery } from '../store/rows.ts';
import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { backoffMs } from '../../storage/table.ts';

interface Creation {
  readonly request: NotificationRequest;
  readonly use: KeyUse | undefined;
  /** When the request came, and when its write was sent last, by the steady clock. */
  readonly cameAt: number;
  sentAt: number;
  readonly uuid: string;
  readonly commit: string;
  /** Of the first try. In milliseconds since 1970. */
  made?: { readonly id: NotificationId; readonly requestedAt: number };
}

type Created =
  | { readonly kind: 'created'; readonly change: Change }
  | { readonly kind: 'key used'; readonly earlier: IdempotencyRow }
  | { readonly kind: 'nobody callable'; readonly known: NotificationCase };

interface ListQuery extends NotificationsQuery {
  readonly most: number;
  readonly isMeant: (body: NotificationBody) => boolean;
}

/** How long a request waits for storage. */
const STORED_WITHIN_MS = 8_000;
const PAUSE_MS = 300;
/** How long the answer to a request waits for its calls to be placed, or hung up. */
const DIALED_WITHIN_MS = 8_000;
const STOPPED_WITHIN_MS = 5_000;

/** The requests of senders and operators: each reads or writes notifications, and answers them as JSON. */
export class Requests {
  readonly #context: Context;
  readonly #notifications: Notifications;
  readonly #dialing: Dialing;
  readonly #publisher: Publisher;

  constructor(context: Context, notifications: Notifications, dialing: Dialing, publisher: Publisher) {
    this.#context = context;
    this.#notifications = notifications;
    this.#dialing = dialing;
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
    const cameAt = clock.steady();
    const ids = { uuid: newId(), commit: newId() };
    const creation: Creation = { request, use, cameAt, sentAt: cameAt, ...ids };
    const created = await this.#patiently(async (tried) => this.#create(creation, tried === 1));
    switch (created.kind) {
      case 'nobody callable': {
        const calls = await this.#callsOf(request, created.known);
        logNobodyCallable(calls, request, clock.now(), log);
        return { kind: 'nobody callable', calls };
      }
      case 'key used': {
        const { notificationId: id, fingerprint } = created.earlier;
        if (fingerprint !== use?.fingerprint) return { kind: 'key of another request' };
        const known = await store.find(id);
        if (known === undefined) throw new StorageTrouble(0, { reason: 'unknown notification' });
        return { kind: 'sent', id, calls: await this.#callsOf(request, known) };
      }
      case 'created': {
        const { id } = created.change.stored.notification;
        await this.#dial(created.change, log);
        return { kind: 'sent', id, calls: await this.#callsOf(request, store.recall(id) ?? created.change.stored) };
      }
    }
  }

  /** @returns undefined if there is no such notification */
  async read(id: NotificationId): Promise<NotificationBody | undefined> {
    const known = await this.#context.store.find(id);
    return known && this.#describe(known);
  }

  /** Notifications that match, newest first, of about a thousand rows. */
  async list({ isMeant, ...query }: ListQuery): Promise<Listed<NotificationBody>> {
    const { store, clock } = this.#context;
    const now = clock.now();
    const { found, next: cursor } = await store.list(query, (known) => isMeant(bodyOf(known, now)));
    return { found: found.map((known) => bodyOf(known, now)), next: cursor };
  }

  /** All notifications that need an operator's attention, and whether calls can be placed. */
  async needingAttention() {
    const { store, clock } = this.#context;
    const now = clock.now();
    const [found, { lines }] = await Promise.all([store.needingAttention(now), store.readLines()]);
    return { notifications: found.map((known) => bodyOf(known, now)), phone: standingOf(lines, now) };
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
    // Some minutes after its last call any process may settle it: it is settled first, so that the note is not lost.
    const isSettling = live !== undefined && (settlesAtOf(live) ?? Infinity) <= clock.now();
    if (isSettling) await this.#patiently(async () => store.settle(live).catch(ifConflict));
    const taken = isSettling ? undefined : await this.#take(id, { kind: 'acknowledge', by }, log);
    return taken === undefined ? this.#acknowledgeSettled(id, by, log) : this.#describe(taken.stored);
  }

  async #acknowledgeSettled(id: NotificationId, by: string, log: Log): Promise<NotificationBody | undefined> {
    const { store, clock, newId, destinations } = this.#context;
    return this.#patiently(async () => {
      const before = await store.loadDone(id);
      const now = clock.now();
      const after = before && acknowledged(before, by, now);
      if (before === undefined || after === undefined || after === before) return before && bodyOf(before, now);
      const outcomes = await store.replaceDone(
        before,
        after,
        newId(),
        outcomesToDeliver(before, after, destinations, now),
      );
      log.info('notification acknowledged', { notification_id: id });
      if (outcomes !== undefined) void this.#publisher.deliver(outcomes, after, log);
      return bodyOf(after, now);
    });
  }

  async #take(id: NotificationId, event: NotificationEvent, log: Log) {
    try {
      return await this.#notifications.take(id, event, log);
    } catch (error) {
      // To send the request again does not help: it is no trouble with storage.
      throw error instanceof SetAside ? error.cause : error;
    }
  }

  /** Repeats after conflicts and some seconds of trouble. */
  async #patiently<Result>(once: (tried: number) => Promise<Result>): Promise<Result> {
    const { store, clock, random } = this.#context;
    const until = clock.steady() + STORED_WITHIN_MS;
    for (let tried = 1; ; tried += 1) {
      try {
        return await once(tried);
      } catch (error) {
        const isConflict = error instanceof WriteConflict;
        if (!isConflict && !(error instanceof StorageTrouble)) throw error;
        store.forgetLines();
        const pauseMs = isConflict ? backoffMs(tried, 20, 400, random) : PAUSE_MS;
        if (clock.steady() + pauseMs > until) throw isConflict ? new StorageTrouble(0, { reason: 'contended' }) : error;
        await sleepBy(clock, pauseMs);
      }
    }
  }

  /** Stores a notification, its key, and the claim of its first call. A further try recognizes an earlier try that was carried out. */
  async #create(creation: Creation, isFirst: boolean): Promise<Created> {
    const { store, policy, clock } = this.#context;
    const { request, use, cameAt, commit } = creation;
    const stored = creation.made && (await store.load(creation.made.id));
    if (stored !== undefined) {
      const actions = actionsOf(stored, commit);
      const change = { before: undefined, stored, outcomes: undefined, actions, sentAt: creation.sentAt };
      return { kind: 'created', change };
    }
    // Most keys are new: the first try inserts without a read.
    const used = isFirst || use === undefined ? {} : await store.readKey(use, clock.now());
    if (used.earlier !== undefined) return { kind: 'key used', earlier: used.earlier };
    const { live, ...read } = await store.readLive();
    const now = clock.now();
    // From the request on, so that a late answer of storage does not move the deadline.
    const requestedAt = now - Math.floor(clock.steady() - cameAt);
    const made = (creation.made ??= { id: newNotificationId(requestedAt, creation.uuid), requestedAt });
    const isOverDayLimit =
      callsLeft(read.lines.day, policy.rules.callsPerDay, isUrgent(request.alertType.name), now) === 0;
    const facts = { id: made.id, keyHash: use?.keyHash, isOverDayLimit, rules: policy.rules };
    const known = newNotification(request, facts, made.requestedAt);
    if (known.recipients.every(isFinal)) {
      const earlier = use && (await store.readKey(use, now)).earlier;
      return earlier === undefined ? { kind: 'nobody callable', known } : { kind: 'key used', earlier };
    }
    const others = live.flatMap(queueOf);
    const { known: after, lines: then = read.lines } = this.#dialing.isEnded
      ? { known }
      : step({ known, lines: read.lines }, { kind: 'claim', others }, this.#context, { now, commit });
    const lines = then === read.lines ? undefined : { read, after: then };
    const key = use && { ...use, etag: used.etag };
    creation.sentAt = clock.steady();
    const write = { before: undefined, after, commit, lines, key };
    return { kind: 'created', change: await this.#notifications.store(write, now) };
  }

  /** Sends the call requests of the recipients that were claimed, and looks for the others. */
  async #dial(change: Change, log: Log): Promise<void> {
    const dialing = this.#notifications.follow(change, log);
    const isMore = change.stored.recipients.some(({ state }) => state === 'waiting');
    const others = isMore ? this.#dialing.run(log).then(async () => this.#dialing.settled()) : undefined;
    await Promise.race([Promise.all([dialing, others]), sleepBy(this.#context.clock, DIALED_WITHIN_MS)]);
  }

  /** A notification, with the reasons of recipients that wait. Without storage, the reasons are rough. */
  async #describe(known: AnyCase): Promise<NotificationBody> {
    const { store, clock } = this.#context;
    const now = clock.now();
    const due = queueOf(known).filter(({ dueAt }) => dueAt <= now);
    if (due.length === 0) return bodyOf(known, now);
    try {
      const { lines } = await store.readLines();
      return bodyOf(known, now, new Map(due.map((one) => [one.position, waitsFor(one, lines.slots, lines, now)])));
    } catch (error) {
      if (error instanceof StorageTrouble) return bodyOf(known, now);
      throw error;
    }
  }

  async #callsOf({ waves }: NotificationRequest, known: AnyCase): Promise<readonly SentCall[]> {
    const { recipients } = await this.#describe(known);
    return waves.flat().map(({ number }, index) => {
      const recipient = known.recipients[index];
      const notCalled = recipient !== undefined && isFinal(recipient) ? recipient.notCalled : undefined;
      return callOf(number, recipients[index], notCalled);
    });
  }
}

const ifConflict = (error: unknown): void => {
  if (!(error instanceof WriteConflict)) throw error;
};
