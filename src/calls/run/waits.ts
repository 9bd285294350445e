import { StorageTrouble } from '../../storage/errors.ts';
import type { WaitingCode } from '../model/notification-request.ts';
import { waitsFor } from '../rules/queue.ts';
import { queueOf } from '../state/lines.ts';
import type { NotificationCase } from '../state/notification.ts';
import type { NotificationStore } from '../store/notification-store.ts';
import type { Cases } from './cases.ts';

/** Why recipients of a notification wait that could be dialed now, by index, from all that is open now. Empty while storage cannot be used. */
export const whyTheyWait = async (
  known: NotificationCase,
  store: NotificationStore,
  cases: Cases,
  now: number,
): Promise<ReadonlyMap<number, WaitingCode>> => {
  const own = queueOf(known).filter(({ dueAt }) => dueAt <= now);
  if (own.length === 0) return new Map();
  try {
    const snapshot = await store.look(now);
    const open = cases.openCalls(snapshot);
    return new Map(own.map((one) => [one.index, waitsFor(one, open, snapshot.lines.queue, now)]));
  } catch (error) {
    if (error instanceof StorageTrouble) return new Map();
    throw error;
  }
};
