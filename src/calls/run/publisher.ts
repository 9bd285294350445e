import type { NotificationId } from '../model/ids.ts';
import type { Destination, OutcomeEvent, OutcomeTopic } from '../model/outcomes.ts';
import { errorKind } from './call-log.ts';
import type { Cases, Context } from './cases.ts';
import { dueEntries, expiredEntries, type NotificationCase, type OutboxEntry } from '../state/notification.ts';
import { bodyOf, isoTime } from '../state/view.ts';
import type { StoredCase } from '../store/notification-store.ts';
import type { Log } from '../../log.ts';

/**
 * Publishes outcomes. The row of the notification holds them from the commit that decided them until the destination has taken them.
 * Publishing never delays a call, even if a destination hangs.
 */
export class Publisher {
  readonly #context: Context;
  readonly #cases: Cases;
  readonly #to: Destination;
  readonly #topic: OutcomeTopic;
  readonly #waiting = new Set<NotificationId>();
  #running: Promise<void> | undefined;
  #isEnding = false;

  constructor(context: Context, cases: Cases, to: Destination, topic: OutcomeTopic) {
    this.#context = context;
    this.#cases = cases;
    this.#to = to;
    this.#topic = topic;
  }

  /** Starts to publish the due entries of notifications, in the background. */
  tell(known: readonly StoredCase[], log: Log): void {
    for (const { notification, outbox } of known) {
      if (dueEntries(outbox, this.#to, this.#context.clock.now()).length > 0) this.#waiting.add(notification.id);
    }
    if (this.#waiting.size === 0) return;
    this.#running ??= this.#workOff(log).finally(() => {
      this.#running = undefined;
    });
  }

  /** Fulfils after the current request. A later look finds the rest, so that a destination that hangs delays no shutdown. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#running;
  }

  async #workOff(log: Log): Promise<void> {
    for (let [id] = this.#waiting; id !== undefined && !this.#isEnding; [id] = this.#waiting) {
      this.#waiting.delete(id);
      const fields = { to: this.#to, notification_id: id };
      try {
        await this.#tellOne(id, fields, log);
      } catch (error) {
        log.warn('outcomes not published', { ...fields, kind: errorKind(error) });
      }
    }
  }

  /** Claims the due entries, so that no other instance publishes them meanwhile, publishes them, and deletes them from the row. */
  async #tellOne(id: NotificationId, fields: object, log: Log): Promise<void> {
    const to = this.#to;
    const claim = await this.#cases.take(id, { kind: 'publish', to }, log);
    if (claim?.isChanged !== true) return;
    const { stored } = claim;
    const isTaken = await this.#publish(stored, fields, log);
    const now = this.#context.clock.now();
    const entries = isTaken ? (stored.outbox[to]?.entries ?? []) : expiredEntries(stored.outbox, to, now);
    // If more entries have come meanwhile, this commit starts the next publication.
    await this.#cases.take(id, { kind: 'published', to, entries, isRefused: !isTaken }, log);
    if (!isTaken && entries.length > 0) log.error('outcomes never published', { ...fields, events: entries.length });
  }

  async #publish(stored: StoredCase, fields: object, log: Log): Promise<boolean> {
    const events = eventsOf(stored, stored.outbox[this.#to]?.entries ?? [], this.#context.clock.now());
    try {
      await this.#topic.publish(events);
      log.info('outcomes published', { ...fields, events: events.length });
      return true;
    } catch (error) {
      log.warn('outcomes not published', { ...fields, kind: errorKind(error), status: httpStatusOf(error) });
      return false;
    }
  }
}

/** The HTTP status that a destination answered. The message of the error may hold addresses and keys. */
const httpStatusOf = (error: unknown): number | undefined =>
  error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : undefined;

const eventsOf = (known: NotificationCase, entries: readonly OutboxEntry[], now: number): readonly OutcomeEvent[] => {
  const body = bodyOf(known, now);
  const { notification_id: id, alert_type, reference, details, reached, confirmations_needed } = body;
  const about = { notification_id: id, alert_type, reference, details, reached, confirmations_needed };
  return entries.map((entry): OutcomeEvent => {
    const common = { subject: id, time: entry.at };
    switch (entry.kind) {
      case 'recipient': {
        const { index, status } = entry;
        const { recipient, name, wave } = body.recipients[index] ?? {};
        const attempts = known.recipients[index]?.attempts.length;
        const data = { ...about, recipient, name, index, wave, status, attempts };
        return { ...common, id: `${id}/${index}/${status}`, type: 'Notification.RecipientFinal', data };
      }
      case 'acknowledged': {
        const { times, by, at } = entry;
        const suffix = times === 1 ? '' : `/${times}`;
        const data = { ...about, acknowledged_by: by, acknowledged_at: isoTime(at) };
        return { ...common, id: `${id}/acknowledged${suffix}`, type: 'Notification.Acknowledged', data };
      }
      case 'stopped':
      case 'completed':
        return { ...common, id: `${id}/${entry.kind}`, type: 'Notification.Completed', data: body };
    }
  });
};
