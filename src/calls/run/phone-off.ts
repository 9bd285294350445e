import { randomUUID } from 'node:crypto';

import type { Log } from '../../log.ts';
import { WriteConflict } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { logNotDone } from './call-log.ts';
import { type Clock, systemClock } from '../model/clock.ts';
import { abandoned, attemptIn } from '../state/notification.ts';
import { LINE_KEY } from '../store/keys.ts';
import { NotificationStore } from '../store/notification-store.ts';
import { isUnreadable } from '../store/row-reader.ts';
import type { Due } from '../store/snapshot.ts';

// All that is under way is due within a day: the longest deadline, and the end of the day.
const UNDER_WAY_MS = 48 * 3_600_000;
const PUBLISHED_WITHIN_MS = 24 * 3_600_000;

/** What is left to do with the phone off. */
export interface PhoneOffParts {
  /** The table `calls`. */
  readonly table: Table;
  /** How long rows about calls are kept, in milliseconds. */
  readonly retentionMs: number;
  readonly clock?: Clock;
}

/**
 * Cleans up behind a phone that was switched off: what was under way ends as `stopped`, with its numbers masked, and what has expired is
 * deleted. Calls nobody. Never throws.
 *
 * @example app.timer('Sweep', { schedule, handler: (_, context) => cleanUp(invocationLog(context)) });
 */
export const phoneOff = ({ table, retentionMs, clock = systemClock }: PhoneOffParts): ((log: Log) => Promise<void>) => {
  const store = new NotificationStore({ table, retentionMs, callsPerDay: 0, destinations: [], newId: randomUUID });

  const attend = async (due: Due): Promise<void> => {
    const now = clock.now();
    if (due.kind === 'publish') {
      // Whoever switches the phone on again publishes it.
      if (now - due.at > PUBLISHED_WITHIN_MS) await store.drop(due);
      return;
    }
    if (due.kind === 'expired_notification' || due.kind === 'expired_day') {
      if (due.at <= now) await store.deleteExpired(due);
      return;
    }
    const stored = await store.load(due.notificationId);
    if (stored === undefined || stored.notification.completedAt !== undefined) await store.drop(due);
    else {
      // Thirty people at a time.
      let known = stored;
      for (let isMore = true; isMore;) {
        const written = await store.commit(known, abandoned(known, now), now);
        isMore = typeof written !== 'string' && written.notification.completedAt === undefined;
        if (typeof written !== 'string') known = written;
      }
    }
  };

  return async (log) => {
    try {
      // Not only what is due now: nothing more will happen to any of it.
      const { due: found, open, etags } = await store.look(clock.now() + UNDER_WAY_MS);
      for (const due of found) {
        try {
          await attend(due);
        } catch (error) {
          // Another instance is at it; the next look finds what is left.
          if (!(error instanceof WriteConflict || isUnreadable(error))) throw error;
        }
      }
      // Their calls are over, or cannot be read.
      for (const row of open) {
        const stored = row.attempt && (await store.loadReadable(row.attempt.notificationId));
        const isHeld = stored && row.attempt && attemptIn(stored, row.attempt)?.holdsNumber;
        if (isHeld !== true) await store.drop(row);
      }
      if (etags.has(LINE_KEY)) await store.drop({ rowKey: LINE_KEY });
    } catch (error) {
      logNotDone(error, {}, log);
    }
  };
};
