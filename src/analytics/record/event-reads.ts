import { eventRowFrom } from '../rows/event-row.ts';
import type { RowReads } from './row-reads.ts';
import type { KnownRow } from './shard-snapshot.ts';
import type { WantedRows } from './wanted-rows.ts';

const EVENTS_A_KEY_FOR_RANGE = 20;

/**
 * The rows of events that are stored, by row key: from memory, or read and kept there. Those of new frames from memory only.
 *
 * @param eventsIn about how many events a minute of the day (0 to 1439) has
 * @throws {StorageTrouble | DamagedRow}
 */
export const eventRows = async (
  reads: RowReads,
  { events, inserted }: WantedRows,
  eventsIn: (minute: number) => number,
): Promise<ReadonlyMap<string, KnownRow>> => {
  const rows = new Map<string, KnownRow>();
  const missing = new Map<number, string[]>();
  for (const key of [...events.keys(), ...inserted]) {
    const known = reads.known.get(key);
    const minute = events.get(key)?.minute;
    if (known !== undefined) rows.set(key, known);
    else if (minute !== undefined) missing.set(minute, [...(missing.get(minute) ?? []), key]);
  }
  await Promise.all(
    Array.from(missing, async ([minute, keys]) => {
      const found = await reads.many(keys, eventsIn(minute), EVENTS_A_KEY_FOR_RANGE * keys.length);
      for (const [key, row] of found) {
        rows.set(key, reads.known.keep(key, { kind: 'event', etag: row.etag, value: eventRowFrom(row) }));
      }
    }),
  );
  return rows;
};
