import type { NotificationId } from '../model/ids.ts';
import type { Destination, OutcomeEvent, OutcomeTopic } from '../model/outcomes.ts';
import { errorKind } from './call-log.ts';
import type { Context } from './cases.ts';
import type { NotificationCase } from '../state/notification.ts';
import {
  claimedOutbox,
  dueEntries,
  expiredEntries,
  type Outbox,
  type OutboxEntry,
  putOff,
  withoutEntries,
} from '../state/outbox.ts';
import { bodyOf, isoTime } from '../state/view.ts';
import { isUnreadable, type StoredCase } from '../store/notification-store.ts';
import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';

const TRIES = 10;

/**
 * Tells others what became of recipients. What is to be told stands in the row of the notification, from the commit that decided it until the
 * destination has taken it. Never on the way of a call: a destination that hangs delays nobody.
 */
export class Publisher {
  readonly #context: Context;
  readonly #to: Destination;
  readonly #topic: OutcomeTopic;
  /** Notifications of which something is to be told. */
  readonly #waiting = new Set<NotificationId>();
  #running: Promise<void> | undefined;
  #isEnding = false;

  constructor(context: Context, to: Destination, topic: OutcomeTopic) {
    this.#context = context;
    this.#to = to;
    this.#topic = topic;
  }

  /** Tells what is due of notifications. Does not wait for it. */
  tell(known: readonly StoredCase[], log: Log): void {
    for (const { notification, outbox } of known) {
      if (dueEntries(outbox, this.#to, this.#context.clock.now()).length > 0) this.#waiting.add(notification.id);
    }
    if (this.#waiting.size === 0) return;
    this.#running ??= this.#workOff(log).finally(() => {
      this.#running = undefined;
    });
  }

  /** Fulfils when what is being told is done. The rest is found again: a destination that hangs delays no end of a process. */
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

  /** Claims what is due, so that no other instance tells it meanwhile, tells it, and takes it out of the row. */
  async #tellOne(id: NotificationId, fields: object, log: Log): Promise<void> {
    const { clock } = this.#context;
    const to = this.#to;
    let entries: readonly OutboxEntry[] = [];
    const known = await this.#change(id, (outbox) => {
      entries = dueEntries(outbox, to, clock.now());
      return entries.length === 0 ? outbox : claimedOutbox(outbox, to, clock.now());
    });
    if (known === undefined || entries.length === 0) return;
    try {
      await this.#topic.publish(eventsOf(known, entries, clock.now()));
    } catch (error) {
      log.warn('outcomes not published', { ...fields, kind: errorKind(error), status: statusOf(error) });
      await this.#putOff(id, fields, log);
      return;
    }
    log.info('outcomes published', { ...fields, events: entries.length });
    const stored = await this.#change(id, (outbox) => withoutEntries(outbox, to, entries));
    // More may have come meanwhile.
    if (stored !== undefined && dueEntries(stored.outbox, to, clock.now()).length > 0) this.#waiting.add(id);
  }

  /** The destination did not take it: what was tried for a day is dropped. */
  async #putOff(id: NotificationId, fields: object, log: Log): Promise<void> {
    const to = this.#to;
    const now = this.#context.clock.now();
    let dropped: readonly OutboxEntry[] = [];
    await this.#change(id, (outbox) => {
      dropped = expiredEntries(outbox, to, now);
      return putOff(withoutEntries(outbox, to, dropped), to, now);
    });
    if (dropped.length > 0) log.error('outcomes never published', { ...fields, events: dropped.length });
  }

  /** Changes the outbox of a notification alone. @returns what is stored then; undefined if nothing can be changed */
  async #change(id: NotificationId, change: (outbox: Outbox) => Outbox): Promise<StoredCase | undefined> {
    const { store, newId } = this.#context;
    for (let tried = 1; tried <= TRIES; tried += 1) {
      try {
        const known = store.recall(id) ?? (await store.load(id));
        if (known === undefined) return undefined;
        const outbox = change(known.outbox);
        if (outbox === known.outbox) return known;
        return (await store.commit(known, { ...known, outbox }, newId(), undefined)).stored;
      } catch (error) {
        store.forget(id);
        if (isUnreadable(error)) return undefined;
        if (!(error instanceof WriteConflict) && !(error instanceof StorageTrouble && tried < TRIES / 2)) throw error;
      }
    }
    return undefined;
  }
}

/** The HTTP status that a destination answered; undefined if the error has none. Its message may hold addresses and keys. */
const statusOf = (error: unknown): number | undefined =>
  error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : undefined;

/** What is told of a notification, as events. */
const eventsOf = (known: NotificationCase, entries: readonly OutboxEntry[], now: number): readonly OutcomeEvent[] => {
  const body = bodyOf(known, now);
  const { notification_id: id, alert_type, reference, details, reached, confirmations_needed } = body;
  const about = definedOf({ notification_id: id, alert_type, reference, details, reached, confirmations_needed });
  return entries.map((entry): OutcomeEvent => {
    const common = { subject: id, time: entry.at };
    switch (entry.kind) {
      case 'recipient': {
        const { index, status } = entry;
        const one = body.recipients[index];
        const attempts = known.recipients[index]?.attempts.length;
        const data = definedOf({
          ...about,
          recipient: one?.recipient,
          name: one?.name,
          index,
          wave: one?.wave,
          status,
          attempts,
        });
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
        return { ...common, id: `${id}/${entry.kind}`, type: 'Notification.Completed', data: { ...body } };
    }
  });
};

const definedOf = (values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
