import { sleepBy } from '../model/clock.ts';
import type { Destination, OutcomeEvent, OutcomeTopic } from '../model/outcomes.ts';
import { errorKind, logAlert } from './call-log.ts';
import type { Context } from './notifications.ts';
import type { AnyCase } from '../state/notification.ts';
import type { Outcomes, Receiver } from '../state/outcomes.ts';
import { bodyOf, isoTime } from '../state/view.ts';
import { isUnreadable, type Store, type StoredOutcomes } from '../store/store.ts';
import type { Log } from '../../log.ts';
import { WriteConflict } from '../../storage/errors.ts';

/** The process that wrote outcomes delivers them at once. After this time, another process may. */
const TAKEN_OVER_AFTER_MS = 60_000;
/** The lease of a process that delivers what others have left. */
const LEASE_MS = 30_000;
const TAKEN_OVER_AT_A_TIME = 50;
/** How long a receiver is tried. */
const TRIED_FOR_MS = 24 * 3_600_000;
const MIN_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 600_000;
const MAX_WAITING = 500;

/** Outcomes that a process delivers. */
interface Delivery extends StoredOutcomes {
  /** Who has got them meanwhile. */
  readonly done: Set<Receiver>;
}

/** A destination, and what waits for it. */
interface Lane {
  readonly to: Destination;
  readonly topic: OutcomeTopic;
  readonly waiting: Set<Delivery>;
  running?: Promise<void> | undefined;
  /** By the steady clock. */
  pausedUntil: number;
  pauseMs: number;
}

/**
 * Delivers outcomes: to the log, and to the destinations, each in its own time. The rows of outcomes hold what is not delivered. No call waits
 * for that, even if a destination hangs.
 */
export class Publisher {
  readonly #context: Context;
  readonly #lanes: readonly Lane[];
  #isEnding = false;

  constructor(context: Context, topics: Readonly<Partial<Record<Destination, OutcomeTopic | undefined>>>) {
    this.#context = context;
    this.#lanes = context.destinations.flatMap((to) => {
      const topic = topics[to];
      return topic === undefined ? [] : { to, topic, waiting: new Set(), pausedUntil: 0, pauseMs: 0 };
    });
  }

  /** Delivers outcomes of a commit of this process, in the background. */
  deliver(outcomes: StoredOutcomes, known: AnyCase, log: Log): void {
    const delivery: Delivery = { ...outcomes, done: new Set() };
    if (outcomes.to.includes('log')) {
      for (const entry of outcomes.entries) logAlert(entry, known, log);
      delivery.done.add('log');
    }
    for (const to of outcomes.to) {
      const lane = this.#lanes.find((one) => one.to === to);
      // A destination that is not configured any more gets nothing.
      if (lane === undefined) delivery.done.add(to);
      else if (lane.waiting.size < MAX_WAITING) lane.waiting.add(delivery);
    }
    if (this.#isBusy(delivery)) for (const lane of this.#lanes) this.#run(lane, log);
    else void this.#note(delivery, log);
  }

  /** Takes over what other processes have left, and drops what was tried for too long. @throws {StorageTrouble} */
  async takeOver(log: Log): Promise<void> {
    const { store, clock } = this.#context;
    const now = clock.now();
    const left = await store.outcomesBefore(now - TAKEN_OVER_AFTER_MS, TAKEN_OVER_AT_A_TIME);
    if (left.some(({ at }) => now - at >= TRIED_FOR_MS)) return dropExpiredOutcomes(store, now, log);
    const [oldest] = left;
    if (oldest === undefined || now < (oldest.until ?? 0) || this.#isBusy(oldest)) return;
    const isPaused = this.#lanes.some(({ pausedUntil }) => clock.steady() < pausedUntil);
    if (isPaused && !left.some(({ to }) => to.includes('log'))) return;
    try {
      const etag = await store.noteDelivery(oldest, oldest.to, now + LEASE_MS);
      // The oldest, which has the lease, comes last.
      for (const one of [...left.slice(1).toReversed(), { ...oldest, etag }]) {
        await this.#deliverAgain(one, log);
      }
    } catch (error) {
      // Another process delivers them.
      if (!(error instanceof WriteConflict)) throw error;
    }
  }

  /** Fulfils after the current requests. Another process finds the rest, so that a destination that hangs delays no shutdown. */
  async end(): Promise<void> {
    this.#isEnding = true;
    const isRunning = ({ pausedUntil }: Lane): boolean => this.#context.clock.steady() >= pausedUntil;
    await Promise.all(this.#lanes.filter(isRunning).map(({ running }) => running));
  }

  #isBusy({ rowKey }: StoredOutcomes): boolean {
    return this.#lanes.some(({ waiting }) => [...waiting].some((one) => one.rowKey === rowKey));
  }

  async #deliverAgain(row: StoredOutcomes, log: Log): Promise<void> {
    const { store } = this.#context;
    if (this.#isBusy(row)) return;
    const known = await store.find(row.notificationId).catch(ifUnreadable);
    if (known === undefined) await store.noteDelivery(row, []);
    else this.deliver(row, known, log);
  }

  #run(lane: Lane, log: Log): void {
    lane.running ??= this.#workOff(lane, log).finally(() => {
      lane.running = undefined;
    });
  }

  async #workOff(lane: Lane, log: Log): Promise<void> {
    const { clock } = this.#context;
    for (let [one] = lane.waiting; one !== undefined && !this.#isEnding; [one] = lane.waiting) {
      const pauseMs = lane.pausedUntil - clock.steady();
      if (pauseMs > 0) await sleepBy(clock, pauseMs);
      if (await this.#publish(lane, one, log)) {
        lane.pauseMs = 0;
        one.done.add(lane.to);
        lane.waiting.delete(one);
        await this.#note(one, log);
      } else {
        lane.pauseMs = Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, lane.pauseMs * 2));
        lane.pausedUntil = clock.steady() + lane.pauseMs;
        await this.#leave(lane, log);
      }
    }
  }

  /** Leaves what waits for long to any process. */
  async #leave(lane: Lane, log: Log): Promise<void> {
    const now = this.#context.clock.now();
    for (const one of lane.waiting) {
      if (now + lane.pauseMs - one.at < TAKEN_OVER_AFTER_MS) continue;
      lane.waiting.delete(one);
      await this.#note(one, log);
    }
  }

  async #publish({ to, topic }: Lane, { notificationId, at, entries }: Outcomes, log: Log): Promise<boolean> {
    const { store, clock } = this.#context;
    const fields = { to, notification_id: notificationId };
    try {
      const known = store.recall(notificationId) ?? (await store.find(notificationId).catch(ifUnreadable));
      if (known !== undefined) await topic.publish(eventsOf(known, { notificationId, at, entries }, clock.now()));
      log.info('outcomes published', { ...fields, events: entries.length });
      return true;
    } catch (error) {
      log.warn('outcomes not published', { ...fields, kind: errorKind(error), status: httpStatusOf(error) });
      return false;
    }
  }

  /** Notes who has got outcomes, when no destination has them in hand. */
  async #note(one: Delivery, log: Log): Promise<void> {
    if (this.#lanes.some(({ waiting }) => waiting.has(one))) return;
    const left = one.to.filter((to) => !one.done.has(to));
    if (left.length === one.to.length) return;
    try {
      await this.#context.store.noteDelivery(one, left);
    } catch (error) {
      // They are delivered again.
      if (!(error instanceof WriteConflict)) {
        log.warn('outcomes not noted', { notification_id: one.notificationId, kind: errorKind(error) });
      }
    }
  }
}

/** Drops outcomes that were tried for too long. */
export const dropExpiredOutcomes = async (store: Store, now: number, log: Log): Promise<void> => {
  for (const row of await store.outcomesBefore(now - TRIED_FOR_MS, TAKEN_OVER_AT_A_TIME)) {
    await store.noteDelivery(row, []);
    log.error('outcomes never published', { notification_id: row.notificationId, events: row.entries.length });
  }
};

/** What cannot be read cannot be published. */
const ifUnreadable = (error: unknown): undefined => {
  if (!isUnreadable(error)) throw error;
};

/** The HTTP status that a destination answered. The message of the error may hold addresses and keys. */
const httpStatusOf = (error: unknown): number | undefined =>
  error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : undefined;

const eventsOf = (known: AnyCase, { at: time, entries }: Outcomes, now: number): readonly OutcomeEvent[] => {
  const body = bodyOf(known, now);
  const { notification_id: id, alert_type, reference, details, reached, confirmations_needed } = body;
  const about = { notification_id: id, alert_type, reference, details, reached, confirmations_needed };
  return entries.map((entry): OutcomeEvent => {
    const common = { subject: id, time };
    switch (entry.kind) {
      case 'recipient': {
        const { index, status } = entry;
        const { recipient, name, wave } = body.recipients[index] ?? {};
        const attempts = known.recipients[index]?.attempts.length;
        const data = { ...about, recipient, name, index, wave, status, attempts };
        return { ...common, id: `${id}/${index}/${status}`, type: 'Notification.RecipientFinal', data };
      }
      case 'acknowledged': {
        const { times, by } = entry;
        const suffix = times === 1 ? '' : `/${times}`;
        const data = { ...about, acknowledged_by: by, acknowledged_at: isoTime(time) };
        return { ...common, id: `${id}/acknowledged${suffix}`, type: 'Notification.Acknowledged', data };
      }
      case 'stopped':
      case 'completed':
        return { ...common, id: `${id}/${entry.kind}`, type: 'Notification.Completed', data: body };
    }
  });
};
