import type { Log } from '../../log.ts';
import type { Clock } from '../model/clock.ts';
import type { NotificationId } from '../model/ids.ts';
import { type Destination, type OutcomeEvent, type OutcomeTopic } from '../model/outcome-events.ts';
import { bodyOf } from '../state/view.ts';
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
import { isTrouble, isUnreadable, type NotificationStore, type StoredCase } from '../store/notification-store.ts';
import { WriteConflict } from '../../storage/errors.ts';
import { errorKind } from './call-log.ts';

/** Where the outcomes for one destination are found, and where they go. */
export interface PublisherParts {
  readonly to: Destination;
  readonly topic: OutcomeTopic;
  readonly store: NotificationStore;
  readonly clock: Clock;
  readonly newId: () => string;
}

const TRIES = 10;

/**
 * Tells others what became of recipients. What is to be told stands in the row of the notification, from the commit that decided it until the
 * destination has taken it. Never on the way of a call: a destination that hangs delays nobody.
 */
export class Publisher {
  readonly #parts: PublisherParts;
  readonly #waiting = new Map<NotificationId, readonly OutboxEntry[] | undefined>();
  #running: Promise<void> | undefined;
  #isEnding = false;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
  }

  /** This process has committed something new, and has claimed to tell it. Does not wait for it. */
  tellNews({ notification, outbox }: StoredCase, before: NotificationCase, log: Log): void {
    const entries = outbox[this.#parts.to]?.entries ?? [];
    const known = new Set((before.outbox[this.#parts.to]?.entries ?? []).map((entry) => JSON.stringify(entry)));
    // What is older waits for its own time, and takes the new along.
    if (entries.length > 0 && known.size === 0) this.#enqueue(notification.id, entries, log);
  }

  /** Tells what is due. Does not wait for it. */
  tellDue(untold: readonly StoredCase[], log: Log): void {
    for (const { notification, outbox } of untold) {
      const isDue = dueEntries(outbox, this.#parts.to, this.#parts.clock.now()).length > 0;
      if (isDue && !this.#waiting.has(notification.id)) this.#enqueue(notification.id, undefined, log);
    }
  }

  /** Fulfils when what is being told is done. The rest is found again: a destination that hangs delays no end of a process. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#running;
  }

  /** @param claimed what this process has claimed to tell; undefined: it has to be claimed */
  #enqueue(id: NotificationId, claimed: readonly OutboxEntry[] | undefined, log: Log): void {
    this.#waiting.set(id, claimed);
    this.#running ??= this.#workOff(log).finally(() => {
      this.#running = undefined;
    });
  }

  async #workOff(log: Log): Promise<void> {
    for (let [first] = this.#waiting; first !== undefined && !this.#isEnding; [first] = this.#waiting) {
      const [id, claimed] = first;
      this.#waiting.delete(id);
      const fields = { to: this.#parts.to, notification_id: id };
      try {
        const entries = claimed ?? (await this.#claim(id));
        if (entries.length > 0) await this.#tell(id, entries, fields, log);
      } catch (error) {
        log.warn('outcomes not published', { ...fields, kind: errorKind(error) });
      }
    }
  }

  /** @returns what is due and now this instance's to tell */
  async #claim(id: NotificationId): Promise<readonly OutboxEntry[]> {
    const { to, clock } = this.#parts;
    let entries: readonly OutboxEntry[] = [];
    await this.#change(id, (outbox) => {
      entries = dueEntries(outbox, to, clock.now());
      return entries.length === 0 ? outbox : claimedOutbox(outbox, to, clock.now());
    });
    return entries;
  }

  async #tell(id: NotificationId, entries: readonly OutboxEntry[], fields: object, log: Log): Promise<void> {
    const { to, topic, store, clock } = this.#parts;
    const known = store.recall(id) ?? (await store.load(id));
    if (known === undefined) return;
    try {
      await topic.publish(eventsOf(known, entries, clock.now()));
    } catch (error) {
      log.warn('outcomes not published', { ...fields, kind: errorKind(error), status: statusOf(error) });
      await this.#putOff(id, fields, log);
      return;
    }
    log.info('outcomes published', { ...fields, events: entries.length });
    const stored = await this.#change(id, (outbox) => withoutEntries(outbox, to, entries));
    if (stored !== undefined && dueEntries(stored.outbox, to, clock.now()).length > 0) this.#waiting.set(id, undefined);
  }

  /** The destination did not take it: what was tried for a day is dropped. */
  async #putOff(id: NotificationId, fields: object, log: Log): Promise<void> {
    const { to, clock } = this.#parts;
    const now = clock.now();
    let dropped: readonly OutboxEntry[] = [];
    await this.#change(id, (outbox) => {
      dropped = expiredEntries(outbox, to, now);
      return putOff(withoutEntries(outbox, to, dropped), to, now);
    });
    if (dropped.length > 0) log.error('outcomes never published', { ...fields, events: dropped.length });
  }

  /** Changes the outbox of a notification alone. @returns what is stored then; undefined if nothing can be changed */
  async #change(id: NotificationId, change: (outbox: Outbox) => Outbox): Promise<StoredCase | undefined> {
    const { store, newId } = this.#parts;
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
        if (!(error instanceof WriteConflict) && !(isTrouble(error) && tried < TRIES / 2)) throw error;
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
        const data = { ...about, acknowledged_by: by, acknowledged_at: new Date(at).toISOString() };
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
