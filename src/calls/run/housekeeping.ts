import { randomUUID } from 'node:crypto';
import { type Clock, clockOf } from '../model/clock.ts';
import { DESTINATIONS } from '../model/outcomes.ts';
import type { PhoneProvider } from '../model/phone-provider.ts';
import { afterCheck, checkDueAt } from '../rules/provider-check.ts';
import { logAlert, logFailure, resultFields, resultOf } from './call-log.ts';
import type { Context } from './notifications.ts';
import { logLeft, type Publisher, withoutExpired } from './publisher.ts';
import { linesAfter } from '../state/lines.ts';
import { abandonedNotification, settlesAtOf } from '../state/notification.ts';
import { type LiveCase, Store } from '../store/store.ts';
import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';

const EXPIRY_EVERY_MS = 3_600_000;

/** Regular work that does not dial: takes over outcomes, checks the provider, deletes expired rows. */
export const housekeeping = (context: Context, publisher: Publisher): ((log: Log) => Promise<void>) => {
  const { provider, store, clock, policy } = context;
  let expiredAt = -Infinity;

  /** Checks the provider without a call: one process, which claims the check first. */
  const checkProvider = async (log: Log): Promise<void> => {
    const due = await store.lines();
    const { check } = due.lines;
    if (clock.now() < checkDueAt(check)) return;
    try {
      await store.writeLines({ ...due.lines, check: { ...check, at: clock.now() } }, due);
      const reason = await reasonAgainst(provider, log);
      if (reason === check?.reason) return;
      const read = await store.lines();
      await store.writeLines({ ...read.lines, check: afterCheck(check, reason, clock.now()) }, read);
    } catch (error) {
      // A claim, or the check of another process, came between: the next run decides again.
      if (!(error instanceof WriteConflict)) throw error;
    }
  };

  const deleteExpired = async (): Promise<void> => {
    if (clock.steady() - expiredAt < EXPIRY_EVERY_MS) return;
    await store.deleteBefore(clock.now() - policy.rules.retentionMs);
    expiredAt = clock.steady();
  };

  return async (log) =>
    doEach([async () => publisher.takeOver(log), async () => checkProvider(log), deleteExpired], log);
};

/** Does works one after the other. None stops another. */
const doEach = async (works: readonly (() => Promise<void>)[], log: Log): Promise<void> => {
  for (const work of works) {
    await work().catch((error: unknown) => logFailure('due work unreachable', error, {}, log));
  }
};

/** Why the provider surely refuses calls; undefined if it does not, or if that is not known. */
const reasonAgainst = async (provider: PhoneProvider, log: Log): Promise<string | undefined> => {
  try {
    await provider.check();
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
 * The work of the timer function with `PHONE=off`: ends live notifications as failures that need attention, with their outcomes and masked
 * numbers, frees their lines, and deletes expired rows. Never throws.
 */
export const phoneOff = ({
  table,
  retentionMs,
  clock = clockOf(() => table.now()),
}: PhoneOffParts): ((log: Log) => Promise<void>) => {
  // The outcomes are published when the phone is on again, to the destinations that are configured then.
  const store = new Store(table, DESTINATIONS, () => undefined);

  /** @throws {StorageTrouble} */
  const endOne = async (before: LiveCase, log: Log): Promise<void> => {
    try {
      const moment = { now: clock.now(), commit: randomUUID() };
      const after = abandonedNotification(before, moment);
      // Otherwise its lines would stay taken when the phone is on again.
      const read = await store.lines();
      const lines = { read, after: linesAfter(read.lines, before, after, moment.now) };
      const { stored, outcomes } = await store.commit({ before, after, moment, lines });
      for (const entry of outcomes?.entries ?? []) logAlert(entry, stored, log);
      if (outcomes !== undefined) await store.noteDelivery(outcomes, DESTINATIONS);
      if (settlesAtOf(stored) !== undefined) await store.settle(stored);
    } catch (error) {
      if (error instanceof StorageTrouble) throw error;
      store.forgetLines();
      // Another instance was faster, and a row that cannot be written must not stop the others.
      if (!(error instanceof WriteConflict)) logFailure('due work unreachable', error, {}, log);
    }
  };

  return async (log) => {
    const endAll = async (): Promise<void> => {
      for (const live of (await store.readLive()).live) await endOne(live, log);
    };
    const now = clock.now();
    const logAllLeft = async () => logLeft(store, await withoutExpired(store, 0, now, log), log);
    await doEach([endAll, logAllLeft, async () => store.deleteBefore(now - retentionMs)], log);
  };
};
