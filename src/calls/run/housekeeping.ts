import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../model/clock.ts';
import { DESTINATIONS } from '../model/outcomes.ts';
import type { PhoneProvider } from '../model/phone-provider.ts';
import { afterCheck, checkDueAt } from '../rules/provider-check.ts';
import { logFailure, resultFields, resultOf } from './call-log.ts';
import type { Cases, Context } from './cases.ts';
import { WHOLE_EVERY_MS } from './due.ts';
import type { Publisher } from './publisher.ts';
import { abandoned, expiredEntries, type NotificationCase, withoutEntries } from '../state/notification.ts';
import { NotificationStore, type StoredCase } from '../store/notification-store.ts';
import type { Log } from '../../log.ts';
import { WriteConflict } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';

const EXPIRY_EVERY_MS = 3_600_000;

/** Regular work that does not dial: publishes outcomes, checks the provider, deletes expired rows. */
export const housekeeping = (context: Context, cases: Cases, publishers: readonly Publisher[]) => {
  const { line, store, clock, policy } = context;
  let expiredAt = -Infinity;
  let wholeAt = -Infinity;

  const publish = async (now: number, log: Log): Promise<void> => {
    if (publishers.length === 0) return;
    const isWhole = now - wholeAt >= WHOLE_EVERY_MS;
    const untold = await store.untold(now, isWhole);
    if (isWhole) wholeAt = now;
    for (const publisher of publishers) publisher.tell(untold, log);
  };

  /** Checks the provider without a call, if the last check of all instances is too old. */
  const checkProvider = async (log: Log): Promise<void> => {
    const { lines, etag } = await cases.shared();
    if (clock.now() < checkDueAt(lines.check)) return;
    const refusal = await refusalOf(line, log);
    const checked = { ...lines, check: afterCheck(lines.check, refusal, clock.now()) };
    try {
      cases.learn({ lines: checked, etag: await store.writeLines({ lines: checked, etag }) });
    } catch (error) {
      // A claim, or the check of another instance, came between: the next run decides again.
      if (!(error instanceof WriteConflict)) throw error;
      cases.learn(undefined);
    }
  };

  /** Does the work that is due. @throws {StorageTrouble} */
  return async (log: Log): Promise<void> => {
    const now = clock.now();
    await publish(now, log);
    await checkProvider(log);
    if (now - expiredAt < EXPIRY_EVERY_MS) return;
    await store.deleteBefore(now - policy.rules.retentionMs);
    expiredAt = now;
  };
};

/** Why the provider surely refuses calls; undefined if it does not, or if that is not known. */
const refusalOf = async (line: PhoneProvider, log: Log): Promise<string | undefined> => {
  try {
    await line.check();
    return undefined;
  } catch (error) {
    const result = resultOf(error);
    if (result.failure !== 'set_up') {
      log.warn('phone service not checked', resultFields(result));
      return undefined;
    }
    log.error('phone service not usable', resultFields(result));
    return result.reason ?? 'the phone service does not accept this app';
  }
};

export interface PhoneOffParts {
  readonly table: Table;
  /** How long rows are kept, in milliseconds. */
  readonly retentionMs: number;
  readonly clock?: Clock;
}

/**
 * The work of the timer function with `PHONE=off`: ends live notifications as `stopped`, with masked numbers, and deletes expired rows. It
 * keeps the count of the day's calls. Never throws.
 */
export const phoneOff = ({ table, retentionMs, clock = systemClock }: PhoneOffParts): ((log: Log) => Promise<void>) => {
  const store = new NotificationStore(table, randomUUID, () => undefined);

  const write = async (known: StoredCase, after: NotificationCase): Promise<void> => {
    try {
      await store.commit(known, after, randomUUID(), undefined);
    } catch (error) {
      // Another instance was faster. The next run does the rest.
      if (!(error instanceof WriteConflict)) throw error;
      store.forget(known.notification.id);
    }
  };

  return async (log) => {
    try {
      const now = clock.now();
      const { live } = await store.look(now, true);
      for (const known of live) await write(known, abandoned(known, now));
      // Newer outcomes are published when the phone is on again.
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
