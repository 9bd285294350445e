import pLimit from 'p-limit';

import type { Log } from '../log.ts';
import type { CallFlow } from './call-flow.ts';
import { errorKind } from './call-log.ts';
import { type CallOutcome, outcomeOf } from './call-outcome.ts';
import type { LinePause } from './line-pause.ts';
import type { Notification } from './notification.ts';
import type { PhoneLine } from './phone-line.ts';
import type { Reaching } from './reaching.ts';
import { currentAttempt } from './recipient-state.ts';
import type { Due } from './store/due-rows.ts';
import type { NotificationStore } from './store/notification-store.ts';
import type { NotificationStores } from './store/notification-stores.ts';
import { RowsUnavailable } from './store/rows.ts';

/** What looking for due work needs. */
export interface DueWorkParts {
  readonly stores: NotificationStores;
  readonly reaching: Reaching;
  readonly flow: CallFlow;
  readonly line: PhoneLine;
  readonly pause: LinePause;
}

const AT_A_TIME = 8;
/** A notification that is not completed by then is looked at again after so long, in milliseconds. */
const NOTIFICATION_AGAIN_MS = 10 * 60_000;
// A line about which nothing can be read is left alone for so long.
const LOOK_AGAIN_MS = 10_000;
// Azure ends a timer function after minutes; what is left is found by the next look.
const NO_MORE_AFTER_MS = 90_000;

/**
 * Finds what is due and does it: dials who waits, looks after lines of which nothing was heard, deletes what has expired. Three call it:
 * the timer function, the end of a call (a line is free), and the alarm. Where nothing is due, it costs one request to storage.
 */
export class DueWork {
  readonly #parts: DueWorkParts;
  #running: Promise<void> | undefined;
  #again = false;

  constructor(parts: DueWorkParts) {
    this.#parts = parts;
  }

  /** Does what is due. While that is under way in this process, a further call has it look once more, and waits for that. */
  async run(log: Log): Promise<void> {
    if (this.#running !== undefined) {
      this.#again = true;
      return this.#running;
    }
    this.#running = this.#runAll(log).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Fulfils when nothing is under way. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async #runAll(log: Log): Promise<void> {
    const end = performance.now() + NO_MORE_AFTER_MS;
    do {
      this.#again = false;
      await this.#parts.reaching.settleAgain(log);
      await this.#lookAfterWatched(log);
      for (const store of this.#parts.stores.inUse()) await this.#runStore(store, end, log);
    } while (this.#again && performance.now() < end);
  }

  /** Lines that only this process can look after: there was no table. */
  async #lookAfterWatched(log: Log): Promise<void> {
    const { reaching, flow } = this.#parts;
    for (const callId of reaching.takeWatched(Date.now())) {
      const found = await flow.lookAfter(callId, log);
      if (typeof found === 'object' && found.overdueAt !== undefined) reaching.watch(callId, later(found.overdueAt));
    }
  }

  async #runStore(store: NotificationStore, end: number, log: Log): Promise<void> {
    let due: readonly Due[];
    try {
      due = await store.dueList.until(Date.now());
    } catch (error) {
      this.#failed(error, undefined, log);
      return;
    }
    const notifications = new Map<string, Promise<Notification | undefined>>();
    const notificationOf = (id: Notification['id']) => {
      const known = notifications.get(id) ?? store.read(id).then((found) => found?.notification);
      notifications.set(id, known);
      return known;
    };
    const attend = async (entry: Due) => {
      if (performance.now() >= end) return;
      try {
        await this.#attend(store, entry, notificationOf, log);
      } catch (error) {
        this.#failed(error, entry, log);
      }
    };
    // First what ends calls and so frees lines; then who waits for one, in the order of their waiting.
    const dials = due.filter(({ kind }) => kind === 'dial');
    await pLimit(AT_A_TIME).map(
      due.filter(({ kind }) => kind !== 'dial'),
      attend,
    );
    await pLimit(AT_A_TIME).map(dials, attend);
  }

  async #attend(
    store: NotificationStore,
    due: Due,
    notificationOf: (id: Notification['id']) => Promise<Notification | undefined>,
    log: Log,
  ): Promise<void> {
    switch (due.kind) {
      case 'dial': {
        if (this.#parts.pause.isOn(Date.now())) return;
        const notification = await notificationOf(due.notificationId);
        if (notification === undefined) await store.dueList.drop(due);
        else await this.#parts.reaching.dial({ notification, index: due.index }, due.at, log);
        return;
      }
      case 'look': {
        const notification = await notificationOf(due.notificationId);
        if (notification === undefined) await store.dueList.drop(due);
        else await this.#look(store, notification, due.index, log);
        return;
      }
      case 'notification':
        await this.#attendNotification(store, due.notificationId, log);
        return;
      case 'call': {
        const found = await this.#parts.flow.lookAfter(due.callId, log);
        if (found === 'no record') await store.dueList.drop(due);
        else if (found === 'unreadable') await store.dueList.moveCall(due, later(0));
        else await store.dueList.moveCall(due, found.overdueAt === undefined ? undefined : later(found.overdueAt));
        return;
      }
      case 'expired_notification':
      case 'expired_call':
      case 'expired_day':
        await store.dueList.deleteExpired(due);
    }
  }

  /** A recipient of whose call nothing was heard. */
  async #look(store: NotificationStore, notification: Notification, index: number, log: Log): Promise<void> {
    const { reaching, flow, line } = this.#parts;
    if ((await reaching.lookAfterCallRequest({ notification, index }, log)) !== 'call') return;
    const recipient = (await store.read(notification.id))?.recipients[index];
    const attempt = recipient && currentAttempt(recipient);
    if (attempt?.callId === undefined) return;
    const ref = { notificationId: notification.id, index, attemptId: attempt.id };
    const found = await flow.lookAfter(attempt.callId, log);
    if (found === 'unreadable') {
      await reaching.lookAgain(ref, later(0));
      return;
    }
    if (found === 'no record') {
      // Its record was never written. It can be ended all the same.
      await line.hangUp(attempt.callId);
      await reaching.end(ref, attempt.callId, nothingHeard(Date.now()), log);
      return;
    }
    const outcome = outcomeOf(found.known);
    if (outcome !== undefined) await reaching.end(ref, attempt.callId, outcome, log);
    else await reaching.lookAgain(ref, later(found.overdueAt ?? 0));
  }

  /** A notification whose request did not get round to everybody, or that is not completed long after. */
  async #attendNotification(store: NotificationStore, id: Notification['id'], log: Log): Promise<void> {
    const now = Date.now();
    const found = await store.read(id);
    if (found === undefined) return;
    await store.enqueue(id, found.notification.createdAt, now + NOTIFICATION_AGAIN_MS);
    if (found.recipients.some((recipient) => recipient.state === 'waiting' && recipient.dueAt === undefined)) {
      log.warn('notification taken over', { notification_id: id });
      this.#again = true;
    }
    if ((await store.complete(id, now)) === 'completed') log.info('notification completed', { notification_id: id });
  }

  #failed(error: unknown, due: Due | undefined, log: Log): void {
    const fields = {
      due: due?.kind,
      ...(due !== undefined && 'notificationId' in due ? { notification_id: due.notificationId } : {}),
    };
    if (error instanceof RowsUnavailable) log.warn('due work unreachable', { ...fields, kind: error.kind });
    else log.error('unexpected error', { ...fields, kind: errorKind(error) });
  }
}

const later = (at: number): number => Math.max(at, Date.now() + LOOK_AGAIN_MS);

const nothingHeard = (now: number): CallOutcome => ({
  outcome: 'unknown',
  reason: 'nothing was heard of the call',
  endedAt: now,
  isLost: true,
});
