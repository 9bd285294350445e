import { applyFacets } from '../model/camera-event.ts';
import { StorageTrouble } from '../../storage/errors.ts';
import type { Pending } from './batch.ts';
import type { ShardRows } from './shard-rows.ts';

/** The reason why a closed day takes no event. */
export const CLOSED_DAY = 'the day of data.ts_utc is closed: its counts are final';

/**
 * Refuses a message because its day is closed, unless it was recorded before, by a transaction whose answer never came. Where the
 * event's row is gone, nothing tells whether it was: then storage is said to have failed.
 */
export const refuseClosed = async (rows: ShardRows, pending: Pending): Promise<void> => {
  const { message, eventKey, uncertain } = pending;
  if (!uncertain) {
    pending.resolve({ refused: CLOSED_DAY });
    return;
  }
  try {
    const stored = await rows.storedEvent(eventKey);
    if (stored === undefined) throw new StorageTrouble(0);
    const recorded = stored.ts === message.ts && applyFacets(stored.facets, message.facets) === stored.facets;
    pending.resolve(recorded ? 'recorded' : { refused: CLOSED_DAY });
  } catch (error) {
    pending.reject(error);
  }
};
