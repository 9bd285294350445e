import { randomUUID } from 'node:crypto';

import type { Log } from '../../log.ts';
import { WriteConflict } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { type Clock, systemClock } from '../model/clock.ts';
import { DESTINATIONS } from '../model/outcomes.ts';
import { abandoned } from '../state/notification.ts';
import { expiredEntries, withoutEntries } from '../state/outbox.ts';
import { NotificationStore, type StoredCase } from '../store/notification-store.ts';
import { logFailure } from './call-log.ts';

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
 * deleted. Calls nobody. Never throws. The day's count of calls stays.
 *
 * @example app.timer('Sweep', { schedule, handler: (_, context) => cleanUp(invocationLog(context)) });
 */
export const phoneOff = ({ table, retentionMs, clock = systemClock }: PhoneOffParts): ((log: Log) => Promise<void>) => {
  const store = new NotificationStore(table, randomUUID, () => undefined);

  const write = async (known: StoredCase, after: Parameters<NotificationStore['commit']>[1]): Promise<void> => {
    try {
      await store.commit(known, after, randomUUID(), undefined);
    } catch (error) {
      // Another instance is at it; the next look finds what is left.
      if (!(error instanceof WriteConflict)) throw error;
      store.forget(known.notification.id);
    }
  };

  return async (log) => {
    try {
      const now = clock.now();
      const { live } = await store.look(now, true);
      for (const known of live) await write(known, abandoned(known, now));
      // The rest is published when the phone is on again.
      for (const known of await store.untold(now, true)) {
        const outbox = DESTINATIONS.reduce((all, to) => {
          const expired = expiredEntries(all, to, now);
          return expired.length === 0 ? all : withoutEntries(all, to, expired);
        }, known.outbox);
        if (outbox !== known.outbox) await write(known, { ...known, outbox });
      }
      await store.deleteBefore(now - retentionMs);
    } catch (error) {
      logFailure('due work unreachable', error, {}, log);
    }
  };
};
