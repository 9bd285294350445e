import { LRUCache } from 'lru-cache';
import { logSilence } from './call-log.ts';
import { busyWithOthers, type Lines } from '../state/lines.ts';
import { hasRung, isUrgentNotification, type NotificationCase } from '../state/notification.ts';
import type { Log } from '../../log.ts';

/** If no phone rings for an urgent notification within this time, an operator is alerted. */
const RINGS_WITHIN_MS = 120_000;
/** If a check is later than this, an operator is alerted. */
const LATE_MS = 120_000;
/** How often the log confirms that this process runs its checks. */
const CONFIRMED_EVERY_MS = 300_000;
const MAX_REMEMBERED = 1_000;

/** A live notification, and when a check of it is due. */
interface Checked {
  readonly live: NotificationCase;
  readonly checkAt: number | undefined;
}

/** Alerts operators of late checks and of silent fires, once per process. From time to time it confirms that this process runs its checks. */
export class OperatorAlerts {
  readonly #raised = new LRUCache<string, true>({ max: MAX_REMEMBERED });
  #confirmedAt = -Infinity;

  /** When to alert that no phone has rung for a notification; undefined: never, or not again. */
  silentAt({ notification, recipients }: NotificationCase, now: number): number | undefined {
    const at = notification.createdAt + RINGS_WITHIN_MS;
    const isOver = notification.completedAt !== undefined || notification.stoppedAt !== undefined;
    if (!isUrgentNotification(notification) || isOver || this.#raised.has(`silent ${notification.id}`))
      return undefined;
    return hasRung({ recipients }, Math.max(at, now)) ? undefined : at;
  }

  raise(checked: readonly Checked[], lines: Lines, now: number, log: Log): void {
    if (now - this.#confirmedAt >= CONFIRMED_EVERY_MS) {
      this.#confirmedAt = now;
      log.info('calls checked', { notifications: checked.length });
    }
    for (const { live, checkAt = now } of checked) {
      const { id } = live.notification;
      const lateMs = now - checkAt;
      if (lateMs >= LATE_MS && this.#isNew(`late ${id}`)) {
        log.error('call is late', { notification_id: id, seconds: Math.round(lateMs / 1_000) });
      }
      const isSilent = (this.silentAt(live, now) ?? Infinity) <= now;
      if (isSilent && this.#isNew(`silent ${id}`)) logSilence(live, busyWithOthers(live, lines, now), log);
    }
  }

  #isNew(name: string): boolean {
    if (this.#raised.has(name)) return false;
    this.#raised.set(name, true);
    return true;
  }
}
