import { hasIndex, indexesIn } from '../rows/bitset.ts';
import { type Buckets, bucketProperties, bucketsFrom } from '../rows/buckets.ts';
import { hourKey } from '../rows/keys.ts';
import { listsTooShort } from '../rows/stripe-row.ts';
import { demandCurrentStill, readShard, type ReadingSource, rowsIn } from './counter-page.ts';

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);
const MINUTES = Array.from({ length: 60 }, (_, minute) => minute);

/**
 * The last minute of a day (0 to 1439) in which each camera of a shard sent an event, for the requested cameras. First the last hour, then the minute,
 * from the row of that hour.
 *
 * Only the first reading needs the lists. What it found of a stripe is in the row of the hour for good, and the names for the indexes stay:
 * lists are only appended to. Cameras and stripes that came since are not looked for.
 *
 * @throws {DayMoved | StorageTrouble | DamagedRow}
 */
export const lastMinutesIn = async (
  source: ReadingSource,
  isAsked: (cameraId: string) => boolean,
): Promise<ReadonlyMap<string, number>> => {
  const { partition, striped } = source;
  const stripes = await readShard(source, [], { tally: false, cameras: true, hours: HOURS });
  const idsOf = new Map(stripes.map(({ stripe, day }) => [stripe, day.cameras.ids]));
  for (const { stripe, day } of stripes) {
    for (const { active } of day.hours.values()) {
      if ((indexesIn(active).at(-1) ?? -1) >= day.cameras.ids.length) throw listsTooShort(partition, stripe);
    }
  }
  const hours = lastOf(new Map(stripes.map(({ stripe, day }) => [stripe, day.hours])), idsOf, isAsked);
  if (hours.size === 0) return new Map();
  const minutes = await Promise.all(
    Array.from(new Set(hours.values()), async (hour) => {
      const rows = await rowsIn(source, hourKey(hour), bucketProperties(MINUTES), striped.has(partition));
      const minutesOf = new Map(Array.from(rows, ([stripe, row]) => [stripe, bucketsFrom(row)]));
      const ofHour = lastOf(minutesOf, idsOf, (id) => hours.get(id) === hour);
      return Array.from(ofHour, ([id, minute]) => [id, 60 * hour + minute] as const);
    }),
  );
  await demandCurrentStill(source);
  return new Map(minutes.flat());
};

/** The last bucket, over all stripes, in which each requested camera was active. */
const lastOf = (
  bucketsOf: ReadonlyMap<number, Buckets>,
  idsOf: ReadonlyMap<number, readonly string[]>,
  isAsked: (cameraId: string) => boolean,
): ReadonlyMap<string, number> => {
  const last = new Map<string, number>();
  for (const [stripe, buckets] of bucketsOf) {
    const newestFirst = [...buckets].sort(([left], [right]) => right - left);
    for (const [index, id] of idsOf.get(stripe)?.entries() ?? []) {
      if (!isAsked(id)) continue;
      const [number = -1] = newestFirst.find(([, { active }]) => hasIndex(active, index)) ?? [];
      if (number > (last.get(id) ?? -1)) last.set(id, number);
    }
  }
  return last;
};
