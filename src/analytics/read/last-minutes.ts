import { hasIndex, indexesIn } from '../rows/bitset.ts';
import { activeFrom, activeProperties } from '../rows/hour-rows.ts';
import { hourKey, HOURS_KEY } from '../rows/keys.ts';
import type { StripeRows } from '../rows/stripes.ts';
import { listsTooShort } from '../rows/total-row.ts';
import { namesIn, readShard, type ReadingSource, rowsIn } from './shard-reading.ts';

/**
 * The last minute of a day (0 to 1439) in which each camera of a shard sent an event, if it is asked about: first its last hour, then the
 * minute, from the row of that hour.
 *
 * Only the first reading needs the totals. What it found of a stripe is in the row of the hour for good, and the names for the indexes stay:
 * lists are only appended to. Cameras and stripes that came since are not looked for.
 *
 * @throws {StorageTrouble | DamagedRow}
 */
export const lastMinutesIn = async (
  source: ReadingSource,
  isAsked: (cameraId: string) => boolean,
): Promise<ReadonlyMap<string, number>> => {
  const { partition, striped } = source;
  const stripes = await readShard(source, [{ key: HOURS_KEY, select: activeProperties(24) }], 'cameras');
  const idsOf = new Map(stripes.map((own) => [own.stripe, namesIn(own).ids]));
  const hoursRows = new Map(stripes.flatMap(({ stripe, rows }) => [...rows.values()].map((row) => [stripe, row])));
  for (const [stripe, row] of hoursRows) {
    const known = idsOf.get(stripe)?.length ?? 0;
    for (const active of activeFrom(row).values()) {
      if ((indexesIn(active).at(-1) ?? -1) >= known) throw listsTooShort(partition, stripe);
    }
  }
  const hours = lastOf(hoursRows, idsOf, isAsked);
  const minutes = await Promise.all(
    Array.from(new Set(hours.values()), async (hour) => {
      const rows = await rowsIn(source, hourKey(hour), activeProperties(60), striped.has(partition));
      const ofHour = lastOf(rows, idsOf, (id) => hours.get(id) === hour);
      return Array.from(ofHour, ([id, minute]) => [id, 60 * hour + minute] as const);
    }),
  );
  return new Map(minutes.flat());
};

/** The last bucket of a row, over its stripes, in which each camera was active, if it is asked about. */
const lastOf = (
  rows: StripeRows,
  idsOf: ReadonlyMap<number, readonly string[]>,
  isAsked: (cameraId: string) => boolean,
): ReadonlyMap<string, number> => {
  const last = new Map<string, number>();
  for (const [stripe, row] of rows) {
    const newestFirst = [...activeFrom(row)].reverse();
    for (const [index, id] of idsOf.get(stripe)?.entries() ?? []) {
      if (!isAsked(id)) continue;
      const [number = -1] = newestFirst.find(([, active]) => hasIndex(active, index)) ?? [];
      if (number > (last.get(id) ?? -1)) last.set(id, number);
    }
  }
  return last;
};
