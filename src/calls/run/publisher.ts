import { type Destination, MAX_PUBLISHING_MS, type OutcomeEvent, type OutcomeTopic } from '../model/outcomes.ts';
import { errorKind, logAlert } from './call-log.ts';
import type { Context } from './notifications.ts';
import type { AnyCase } from '../state/notification.ts';
import type { Outcomes, Receiver } from '../state/outcomes.ts';
import { bodyOf, isoTime } from '../state/view.ts';
import { isUnreadable, type Store, type StoredOutcomes } from '../store/store.ts';
import type { Log } from '../../log.ts';
import { WriteConflict } from '../../storage/errors.ts';

/** For this time, only the process that wrote outcomes delivers them: at once, and again after each pause. After it, any process may deliver them. */
const TAKEN_OVER_AFTER_MS = 60_000;
/** The lease of a process that delivers what others have left. */
const LEASE_MS = 30_000;
const TAKEN_OVER_AT_A_TIME = 50;
/** How long a receiver is tried. */
const TRIED_FOR_MS = 24 * 3_600_000;
/** The pause of a destination after a failure; it doubles if the next try fails. */
const MIN_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 600_000;

/** No publishing to a destination before a time, by the steady clock. */
interface Pause {
  readonly until: number;
  readonly ms: number;
}

/**
 * Delivers outcomes: to the log, and to the destinations side by side. Their rows name the receivers that still have to get them. No call waits for
 * that.
 */
export class Publisher {
  readonly #context: Context;
  readonly #topics: Readonly<Partial<Record<Receiver, OutcomeTopic | undefined>>>;
  readonly #pauses = new Map<Receiver, Pause>();
  readonly #underWay = new Set<Promise<unknown>>();
  #isEnding = false;

  constructor(context: Context, { topic, webhook }: Readonly<Partial<Record<Destination, OutcomeTopic | undefined>>>) {
    this.#context = context;
    this.#topics = { topic, webhook };
  }

  /**
   * Delivers outcomes, and notes the receivers that still have to get them. New outcomes are delivered again after the pause of a destination. Never
   * throws.
   */
  async deliver(outcomes: StoredOutcomes, stored: AnyCase, log: Log): Promise<void> {
    const doing = this.#deliver(outcomes, stored, log);
    this.#underWay.add(doing);
    const left = await doing;
    this.#underWay.delete(doing);
    if (left !== undefined) this.#deliverAgain(left, stored);
  }

  /** Delivers the outcomes that other processes have left. @throws {StorageTrouble} */
  async takeOver(log: Log): Promise<void> {
    const { store, clock } = this.#context;
    const now = clock.now();
    const rows = await withoutExpired(store, TAKEN_OVER_AFTER_MS, now, log);
    const [oldest] = rows;
    if (oldest === undefined || now < (oldest.until ?? 0)) return;
    // Outcomes for a destination that fails must not delay the others, and above all no alert.
    const due = rows.filter(({ to }) => to.some((receiver) => this.#pauseMs(receiver) === 0));
    if (due.length === 0) return;
    const others = due.filter((outcomes) => outcomes !== oldest);
    const alertsFirst = [...others.filter(isForLog), ...others.filter((outcomes) => !isForLog(outcomes))];
    try {
      const etag = await store.noteDelivery(oldest, oldest.to, now + LEASE_MS);
      // The oldest, which has the lease, comes last.
      const last = due.includes(oldest) ? [{ ...oldest, etag }] : [];
      for (const outcomes of [...alertsFirst.slice(0, TAKEN_OVER_AT_A_TIME), ...last]) {
        const stored = await store.find(outcomes.notificationId).catch(ifUnreadable);
        if (stored === undefined || this.#isEnding) continue;
        await this.deliver(outcomes, stored, log);
      }
    } catch (error) {
      // Another process delivers them.
      if (!(error instanceof WriteConflict)) throw error;
    }
  }

  /** Starts nothing more; fulfills when all destinations have answered. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#underWay);
  }

  /** @returns the outcomes with the receivers that have not got them; undefined: all have got them, or another process delivers them */
  async #deliver(outcomes: StoredOutcomes, stored: AnyCase, log: Log): Promise<StoredOutcomes | undefined> {
    const { to, notificationId } = outcomes;
    const areTaken = await Promise.all(to.map(async (receiver) => this.#deliverTo(receiver, outcomes, stored, log)));
    const left = to.filter((_, index) => areTaken[index] === false);
    if (left.length === to.length) return outcomes;
    try {
      const etag = await this.#context.store.noteDelivery(outcomes, left);
      return left.length === 0 ? undefined : { ...outcomes, to: left, etag };
    } catch (error) {
      // They are delivered again.
      if (!(error instanceof WriteConflict))
        log.warn('outcomes not noted', { notification_id: notificationId, kind: errorKind(error) });
      return undefined;
    }
  }

  #deliverAgain(left: StoredOutcomes, stored: AnyCase): void {
    const { clock, log } = this.#context;
    const pauseMs = Math.min(...left.to.map((to) => this.#pauseMs(to)));
    // A try must end before another process takes the outcomes over.
    if (clock.now() - left.at + pauseMs + MAX_PUBLISHING_MS >= TAKEN_OVER_AFTER_MS) return;
    clock.after(pauseMs, () => {
      if (!this.#isEnding) void this.deliver(left, stored, log);
    });
  }

  #pauseMs(to: Receiver): number {
    return Math.max(0, (this.#pauses.get(to)?.until ?? 0) - this.#context.clock.steady());
  }

  /** @returns whether the receiver has got the outcomes; a destination that is no longer configured gets nothing */
  async #deliverTo(to: Receiver, outcomes: Outcomes, stored: AnyCase, log: Log): Promise<boolean> {
    const { clock } = this.#context;
    const { notificationId, entries } = outcomes;
    if (to === 'log') for (const entry of entries) logAlert(entry, stored, log);
    const topic = this.#topics[to];
    if (topic === undefined) return true;
    if (this.#pauseMs(to) > 0) return false;
    const fields = { to, notification_id: notificationId };
    try {
      await topic.publish(eventsOf(stored, outcomes, clock.now()));
      this.#pauses.delete(to);
      log.info('outcomes published', { ...fields, events: entries.length });
      return true;
    } catch (error) {
      const ms = Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, (this.#pauses.get(to)?.ms ?? 0) * 2));
      // Requests that were sent before the pause began say nothing new.
      if (this.#pauseMs(to) === 0) this.#pauses.set(to, { ms, until: clock.steady() + ms });
      log.warn('outcomes not published', { ...fields, kind: errorKind(error), status: httpStatusOf(error) });
      return false;
    }
  }
}

/** The outcomes that are older than a time. Outcomes that were tried for too long are dropped. @throws {StorageTrouble} */
export const withoutExpired = async (
  store: Store,
  olderThanMs: number,
  now: number,
  log: Log,
): Promise<readonly StoredOutcomes[]> => {
  const rows = await store.outcomesBefore(now - olderThanMs);
  const expired = rows.filter(({ at }) => now - at >= TRIED_FOR_MS);
  for (const row of expired) {
    // The app may have been away for a day: an alert is late, but not lost.
    if (isForLog(row)) await logAlertsOf(row, store, log);
    await store.noteDelivery(row, []);
    log.error('outcomes never published', { notification_id: row.notificationId, events: row.entries.length });
  }
  return rows.filter((row) => !expired.includes(row));
};

/** Whether outcomes alert an operator, and that is not yet logged. */
const isForLog = ({ to }: StoredOutcomes): boolean => to.includes('log');

/** Logs the alerts that a process has left. @throws {StorageTrouble} */
export const logLeft = async (store: Store, outcomes: readonly StoredOutcomes[], log: Log): Promise<void> => {
  for (const left of outcomes.filter(isForLog)) {
    if (!(await logAlertsOf(left, store, log))) continue;
    const others = left.to.filter((receiver) => receiver !== 'log');
    await store.noteDelivery(left, others).catch((error: unknown) => {
      // Another process has logged them, too.
      if (!(error instanceof WriteConflict)) throw error;
    });
  }
};

/** @returns whether the notification was found @throws {StorageTrouble} */
const logAlertsOf = async ({ notificationId, entries }: StoredOutcomes, store: Store, log: Log): Promise<boolean> => {
  const stored = await store.find(notificationId).catch(ifUnreadable);
  if (stored === undefined) return false;
  for (const entry of entries) logAlert(entry, stored, log);
  return true;
};

/** A row that cannot be read now may be readable later. */
const ifUnreadable = (error: unknown): undefined => {
  if (!isUnreadable(error)) throw error;
};

/** The HTTP status that a destination answered. The message of the error may hold addresses and keys. */
const httpStatusOf = (error: unknown): number | undefined =>
  error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : undefined;

const eventsOf = (stored: AnyCase, { at: time, entries }: Outcomes, now: number): readonly OutcomeEvent[] => {
  const body = bodyOf(stored, now);
  const { notification_id: id, alert_type, reference, details, reached, confirmations_needed } = body;
  const about = { notification_id: id, alert_type, reference, details, reached, confirmations_needed };
  return entries.map((entry): OutcomeEvent => {
    const common = { subject: id, time };
    switch (entry.kind) {
      case 'recipient': {
        const { index, status } = entry;
        const { recipient, name, wave } = body.recipients[index] ?? {};
        const attempts = stored.recipients[index]?.attempts.length;
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
