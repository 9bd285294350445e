import type { Log } from '../../log.ts';
import { errorKind } from './call-log.ts';
import type { Clock } from '../model/clock.ts';
import type { NotificationCase } from '../state/notification.ts';
import type { NotificationId } from '../model/ids.ts';
import {
  type Destination,
  LONGEST_PUBLISHING_MS,
  type OutcomeEvent,
  type OutcomeTopic,
} from '../model/outcome-events.ts';
import { maskPhoneNumber } from '../model/phone-number.ts';
import { FINAL_STATES, finalWord, isFinal } from '../state/recipient.ts';
import type { NotificationStore } from '../store/notification-store.ts';
import type { Due } from '../store/snapshot.ts';
import { viewOf } from '../state/view.ts';

/** Where the outcomes for one destination are found, and where they go. */
export interface PublisherParts {
  /** Which destination this is; its own entries are published, and nothing of another's holds them up. */
  readonly to: Destination;
  /** Undefined: there is none (any more). What is due for it is dropped when its time is over. */
  readonly topic: OutcomeTopic | undefined;
  readonly store: NotificationStore;
  readonly clock: Clock;
  /** What this process wrote last, if it remembers. */
  readonly recall: (id: NotificationId) => NotificationCase | undefined;
  /** A notification as `GET` answers it: the data of `Notification.Completed`. */
  readonly bodyOf: (view: ReturnType<typeof viewOf>) => Readonly<Record<string, unknown>>;
}

type PublishDue = Due & { readonly kind: 'publish' };

const TRIED_FOR_MS = 24 * 3_600_000;
// Longer than publishing takes: nobody else publishes it meanwhile, and if this process dies, another does after this time.
const CLAIMED_FOR_MS = 3 * LONGEST_PUBLISHING_MS;
const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 600_000;

/**
 * Tells others what became of people. What is to be published is due from the transaction that decided it, until the topic has taken it.
 * Never on the way of a call: a topic that hangs delays nobody.
 */
export class Publisher {
  readonly #parts: PublisherParts;
  #running: Promise<void> | undefined;
  #isEnding = false;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
  }

  /** Publishes what is due, in this process once at a time. Does not wait for it. */
  run(due: readonly Due[], log: Log): void {
    const batches = due.filter(
      (entry): entry is PublishDue => entry.kind === 'publish' && (entry.to ?? 'topic') === this.#parts.to,
    );
    if (batches.length === 0 || this.#running !== undefined || this.#isEnding) return;
    this.#running = this.#publishAll(batches, log).finally(() => {
      this.#running = undefined;
    });
  }

  /** Fulfils when the batch under way is done. The others are left to whoever looks next: a topic that hangs holds up no end of the process. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#running;
  }

  async #publishAll(batches: readonly PublishDue[], log: Log): Promise<void> {
    for (const due of batches) {
      if (this.#isEnding) return;
      try {
        await this.#publish(due, log);
      } catch (error) {
        const { to } = this.#parts;
        log.warn('outcomes not published', { to, notification_id: due.notificationId, kind: errorKind(error) });
      }
    }
  }

  async #publish(due: PublishDue, log: Log): Promise<void> {
    const { to, topic, store, clock } = this.#parts;
    const fields = { to, notification_id: due.notificationId };
    const triedMs = () => clock.now() - (due.firstAt ?? due.at);
    if (topic === undefined) {
      if (triedMs() >= TRIED_FOR_MS) await store.drop(due);
      return;
    }
    const claimed = await store.moveEntry(due, clock.now() + CLAIMED_FOR_MS);
    if (claimed === undefined) return;
    try {
      const events = await this.#eventsOf(claimed);
      if (events.length > 0) await topic.publish(events);
      log.info('outcomes published', { ...fields, events: events.length });
    } catch (error) {
      if (triedMs() < TRIED_FOR_MS) {
        // Twice as long as before: the time since the first try tells how often.
        const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, triedMs()));
        await store.moveEntry(claimed, clock.now() + pauseMs);
        throw error;
      }
      log.error('outcomes never published', { ...fields, kind: errorKind(error) });
    }
    await store.drop(claimed);
  }

  async #eventsOf({
    notificationId,
    indexes = '',
    words = '',
    isCompleted,
    end,
    isAcknowledged,
    at,
    firstAt = at,
  }: PublishDue): Promise<readonly OutcomeEvent[]> {
    const recipients = indexes === '' ? [] : indexes.split(',').map(Number);
    const told = words.split(',');
    const remembered = this.#parts.recall(notificationId);
    // What is remembered may be older than what is to be published.
    const isNewEnough = recipients.every((index) => {
      const recipient = remembered?.recipients[index];
      return recipient !== undefined && isFinal(recipient);
    });
    const isOverThere = isCompleted !== true || isOver(remembered);
    const isSeenThere = isAcknowledged !== true || remembered?.notification.acknowledgedAt !== undefined;
    const known = isNewEnough && isOverThere && isSeenThere ? remembered : await this.#parts.store.load(notificationId);
    if (known === undefined) return [];
    const view = viewOf(known, this.#parts.clock.now());
    const { alertType, reference, details, reached, confirmationsNeeded } = view;
    const about = {
      notification_id: notificationId,
      alert_type: alertType,
      ...(reference === undefined ? {} : { reference }),
      ...(details === undefined ? {} : { details }),
      reached,
      ...(confirmationsNeeded === undefined ? {} : { confirmations_needed: confirmationsNeeded }),
    };
    const common = { subject: notificationId, time: firstAt };
    return [
      ...recipients.flatMap((index, position): readonly OutcomeEvent[] => {
        const recipient = known.recipients[index];
        // A row may say something else by now, which has an entry of its own.
        const status = FINAL_STATES.find((word) => word === told[position]) ?? (recipient && finalWord(recipient));
        if (recipient?.number === undefined || status === undefined) return [];
        const { attempts } = recipient;
        const wave = known.notification.waveMs === undefined ? undefined : recipient.wave;
        const masked = maskPhoneNumber(recipient.number);
        const data = { ...about, recipient: masked, index, wave, status, attempts: attempts.length };
        return [{ ...common, id: `${notificationId}/${index}/${status}`, type: 'Notification.RecipientFinal', data }];
      }),
      ...(isAcknowledged === true
        ? [
            {
              ...common,
              id: `${notificationId}/acknowledged`,
              type: 'Notification.Acknowledged',
              data: {
                ...about,
                acknowledged_by: view.acknowledgedBy,
                acknowledged_at: view.acknowledgedAt && new Date(view.acknowledgedAt).toISOString(),
              },
            } as const,
          ]
        : []),
      ...(isCompleted === true
        ? [
            {
              ...common,
              // A stop is told at once; its end, with what became of who was being spoken to, is told as well.
              id: `${notificationId}/${end ?? (known.notification.completedAt === undefined ? 'stopped' : 'completed')}`,
              type: 'Notification.Completed',
              data: this.#parts.bodyOf(view),
            } as const,
          ]
        : []),
    ];
  }
}

const isOver = (known: NotificationCase | undefined): boolean =>
  known?.notification.completedAt !== undefined || known?.notification.stoppedAt !== undefined;
