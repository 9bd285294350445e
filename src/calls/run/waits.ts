import { StorageTrouble } from '../../storage/errors.ts';
import { isWaiting, whyWaiting } from '../rules/queue.ts';
import type { NotificationCase } from '../state/notification.ts';
import type { NotificationStore } from '../store/notification-store.ts';
import { queueOf } from '../store/snapshot.ts';

/** Why those of a notification wait who could be dialled now, by their index, from the queue as it is now. Empty without the table. */
export const whyTheyWait = async (
  known: NotificationCase,
  store: NotificationStore,
  now: number,
): Promise<ReadonlyMap<number, string>> => {
  const own = queueOf(known).filter((one) => isWaiting(one, now));
  if (own.length === 0) return new Map();
  try {
    const { queue, open, line } = await store.look(now);
    return new Map(own.map((one) => [one.index, whyWaiting(one, queue, open, line, now)]));
  } catch (error) {
    if (error instanceof StorageTrouble) return new Map();
    throw error;
  }
};
