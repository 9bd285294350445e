import { LRUCache } from 'lru-cache';
import type { NotificationId } from '../model/ids.ts';
import { logSilence } from './call-log.ts';
import { busyWithOthers, type Lines } from '../state/lines.ts';
import { checkAtOfNotification, hasRung, isUrgentNotification, type NotificationCase } from '../state/notification.ts';
import { type Policy, termsOf } from '../state/step.ts';
import type { Log } from '../../log.ts';

/** If no phone rings for an urgent notification within this time, an operator is told. */
const RINGS_WITHIN_MS = 120_000;
/** If a check is later than this, an operator is told. */
const LATE_MS = 120_000;
/** How often the log confirms that this process runs its checks. */
const TOLD_EVERY_MS = 300_000;
const MAX_TOLD = 1_000;

/** Tells operators of late checks and of silent fires, once per process. From time to time it tells that this process runs its checks. */
export class Telling {
  readonly #policy: Policy;
  readonly #told = new LRUCache<string, true>({ max: MAX_TOLD });
  #toldAt = -Infinity;

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  /** When an operator is told that no phone has rung for a notification; undefined: never, or already told. */
  silentAt({ notification, recipients }: NotificationCase, now: number): number | undefined {
    const at = notification.createdAt + RINGS_WITHIN_MS;
    const isOver = notification.completedAt !== undefined || notification.stoppedAt !== undefined;
    if (!isUrgentNotification(notification) || isOver || this.#told.has(silenceOf(notification))) return undefined;
    return hasRung({ recipients }, Math.max(at, now)) ? undefined : at;
  }

  tell(live: readonly NotificationCase[], lines: Lines, now: number, log: Log): void {
    if (now - this.#toldAt >= TOLD_EVERY_MS) {
      this.#toldAt = now;
      log.info('calls checked', { notifications: live.length });
    }
    for (const one of live) {
      const { id } = one.notification;
      const lateMs = now - (checkAtOfNotification(one, termsOf(one, this.#policy)) ?? now);
      if (lateMs >= LATE_MS && this.#isNews(`late ${id}`)) {
        log.error('call is late', { notification_id: id, seconds: Math.round(lateMs / 1_000) });
      }
      if ((this.silentAt(one, now) ?? Infinity) > now) continue;
      if (this.#isNews(silenceOf(one.notification))) logSilence(one, busyWithOthers(one, lines, now), log);
    }
  }

  #isNews(name: string): boolean {
    if (this.#told.has(name)) return false;
    this.#told.set(name, true);
    return true;
  }
}

const silenceOf = ({ id }: { readonly id: NotificationId }): `silent ${NotificationId}` => `silent ${id}`;
