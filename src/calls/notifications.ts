import { hash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import pLimit from 'p-limit';

import type { Log } from '../log.ts';
import type { Alarm } from './alarm.ts';
import type { AlertType, AlertTypeName } from './alert-types.ts';
import { errorKind } from './call-log.ts';
import {
  isCompleted,
  newRecipients,
  type NewNotificationRules,
  type Notification,
  type NotificationWithRecipients,
  type RecipientView,
  START_WITHIN_MS,
  viewOf,
} from './notification.ts';
import { newNotificationId, type NotificationId } from './notification-id.ts';
import type { PhoneNumber } from './phone-number.ts';
import type { Reaching } from './reaching.ts';
import { currentAttempt, type Recipient } from './recipient-state.ts';
import type { CallLedger } from './store/call-ledger.ts';
import { endOfDay } from './store/day-calls.ts';
import type { Created, KeyUse } from './store/notification-store.ts';
import type { NotificationStores } from './store/notification-stores.ts';
import { RowsUnavailable } from './store/rows.ts';

/** What a notification request asks for. Two requests that ask for the same are the same request. */
export interface NotificationRequest {
  readonly alertType: AlertType;
  readonly recipients: readonly PhoneNumber[];
  /** Where the events of its calls go, if not to the usual place. */
  readonly callbackBaseUrl?: string | undefined;
}

/** What became of a notification request. */
export type Sent =
  | { readonly kind: 'sent'; readonly id: NotificationId; readonly recipients: readonly Recipient[] }
  /** The key was used before, for another request. */
  | { readonly kind: 'key of another request' }
  /** The day's calls do not suffice. `until`: in milliseconds since 1970. */
  | { readonly kind: 'no calls left'; readonly callsLeft: number; readonly until: number };

/** A notification as it stands. */
export interface NotificationView {
  readonly id: NotificationId;
  readonly alertType: AlertTypeName;
  /** In milliseconds since 1970. */
  readonly createdAt: number;
  readonly status: 'in_progress' | 'completed';
  readonly recipients: readonly RecipientView[];
}

/** What notifications need. */
export interface NotificationsParts {
  readonly stores: NotificationStores;
  readonly reaching: Reaching;
  readonly ledger: CallLedger;
  readonly rules: NewNotificationRules;
  readonly alarm: Alarm;
}

const DIALS_AT_A_TIME = 10;
// Some seconds of outage are waited for: what is only in memory ends with the process.
const WRITTEN_WITHIN_MS = 8_000;
const PAUSE_MS = 300;
const CALLS_AT_A_TIME = 10;

/** Sends notifications and tells what became of them. */
export class Notifications {
  readonly #parts: NotificationsParts;

  constructor(parts: NotificationsParts) {
    this.#parts = parts;
  }

  /**
   * Writes a notification down and dials its recipients. A request whose key was used for the same within 24 hours finds that
   * notification, and dials only whom nobody has dialled yet.
   *
   * @param key the caller's `Idempotency-Key`
   */
  async send(request: NotificationRequest, key: string | undefined, log: Log): Promise<Sent> {
    const now = Date.now();
    const use = key === undefined ? undefined : keyUse(key, request);
    const notification: Notification = {
      id: newNotificationId(now),
      alertType: request.alertType.name,
      createdAt: now,
      dueAt: now + START_WITHIN_MS,
      callbackBaseUrl: request.callbackBaseUrl,
      keyHash: use?.keyHash,
    };
    const recipients = newRecipients(request.recipients, this.#parts.rules, randomUUID, now);
    const created = await this.#create(notification, recipients, use, log);
    if (created === 'created') return this.#start({ notification, recipients }, log);
    if ('callsLeft' in created) {
      const until = endOfDay(now);
      log.error('day limit reached', { calls_left: created.callsLeft, until: new Date(until).toISOString() });
      return { kind: 'no calls left', callsLeft: created.callsLeft, until };
    }
    const { earlier } = created;
    if (earlier.fingerprint !== use?.fingerprint) return { kind: 'key of another request' };
    const found = await this.#parts.stores.of(earlier.notificationId).read(earlier.notificationId);
    if (found === undefined) throw new RowsUnavailable('unknown row');
    return this.#start(found, log);
  }

  /** A notification as it stands; undefined where there is none. @throws {RowsUnavailable} */
  async read(id: NotificationId, log: Log): Promise<NotificationView | undefined> {
    const found = await this.#parts.stores.of(id).read(id);
    return found && this.#view(found, log);
  }

  /** The newest notifications as they stand, the newest first. @throws {RowsUnavailable} */
  async newest(most: number, log: Log): Promise<readonly NotificationView[]> {
    const found = await this.#parts.stores.table.newest(most);
    return pLimit(CALLS_AT_A_TIME).map(found, (one) => this.#view(one, log));
  }

  async #create(
    notification: Notification,
    recipients: readonly Recipient[],
    use: KeyUse | undefined,
    log: Log,
  ): Promise<Created> {
    const { stores, alarm } = this.#parts;
    const { createdAt } = notification;
    const remembered = use && (await stores.memory.earlierUse(use.keyHash, createdAt));
    if (remembered !== undefined) return { earlier: remembered };
    const end = performance.now() + WRITTEN_WITHIN_MS;
    for (;;) {
      try {
        const created = await stores.table.create(notification, recipients, use, createdAt);
        alarm.ringAt(notification.dueAt ?? createdAt);
        return created;
      } catch (error) {
        if (!(error instanceof RowsUnavailable)) throw error;
        if (performance.now() + PAUSE_MS < end) {
          await sleep(PAUSE_MS);
          continue;
        }
        log.error('notification only in memory', { notification_id: notification.id, kind: error.kind });
        stores.keepInMemory(notification.id);
        return stores.memory.create(notification, recipients, use, createdAt);
      }
    }
  }

  /** Dials those whom nobody has dialled or queued yet. */
  async #start({ notification, recipients }: NotificationWithRecipients, log: Log): Promise<Sent> {
    const { id, createdAt } = notification;
    const { stores, reaching } = this.#parts;
    const store = stores.of(id);
    const end = performance.now() + START_WITHIN_MS / 2;
    const untouched = recipients.flatMap((recipient, index) => (isUntouched(recipient) ? index : []));
    await pLimit(DIALS_AT_A_TIME).map(untouched, async (index) => {
      if (performance.now() >= end) return;
      await unlessUnreachable(reaching.dial({ notification, index }, createdAt, log), log);
    });
    const found = await unlessUnreachable(store.read(id), log);
    if (found?.recipients.some(isUntouched) === true) {
      await unlessUnreachable(store.enqueue(id, createdAt, createdAt + START_WITHIN_MS), log);
    } else if (found !== undefined && isCompleted(found.recipients)) {
      await unlessUnreachable(store.complete(id, Date.now()), log);
    }
    return { kind: 'sent', id, recipients: found?.recipients ?? recipients };
  }

  async #view({ notification, recipients }: NotificationWithRecipients, log: Log): Promise<NotificationView> {
    const now = Date.now();
    const views = await pLimit(CALLS_AT_A_TIME).map(recipients, async (recipient) => {
      const callId = currentAttempt(recipient)?.callId;
      const call = callId === undefined ? undefined : await this.#parts.ledger.read(callId, log);
      return viewOf(recipient, call?.record, now);
    });
    return {
      id: notification.id,
      alertType: notification.alertType,
      createdAt: notification.createdAt,
      status: isCompleted(recipients) ? 'completed' : 'in_progress',
      recipients: views,
    };
  }
}

/** Whether only the notification's own entry covers this recipient. */
const isUntouched = ({ state, dueAt }: Recipient): boolean => state === 'waiting' && dueAt === undefined;

/** What is not done now is found and done later: the rows are there. */
const unlessUnreachable = async <Answer>(doing: Promise<Answer>, log: Log): Promise<Answer | undefined> => {
  try {
    return await doing;
  } catch (error) {
    if (error instanceof RowsUnavailable) log.warn('due work unreachable', { kind: error.kind });
    else log.error('unexpected error', { kind: errorKind(error) });
    return undefined;
  }
};

// The key is part of the hash of the request: without it, the few possible phone numbers could be tried.
const keyUse = (key: string, { alertType, recipients }: NotificationRequest): KeyUse => ({
  keyHash: hash('sha256', key),
  fingerprint: hash('sha256', JSON.stringify([key, alertType.name, recipients])),
});
