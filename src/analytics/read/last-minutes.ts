import { DamagedRow } from '../../storage/errors.ts';
import { type Hour, minuteFrom, type MinuteOfDay, type MinuteOfHour } from '../model/day.ts';
import { type Buckets, hasIndex, hourRowFrom } from '../rows/buckets.ts';
import { dayRowFrom, EMPTY_DAY } from '../rows/day-row.ts';
import { counterKey, hourCounter } from '../rows/keys.ts';
import { readCounter, readShard, type ShardSource } from './read-shard.ts';

/** How often the rows are read again if they do not fit together: a rebuild may write them in between. */
const TRIES = 3;

/**
 * The last minute of a day in which each camera of a shard sent an event, for the requested cameras. The `day` rows give the last hour, and the row
 * of that hour gives the minute.
 *
 * Only here the `day` rows are read first. This is safe, because the later read has everything that the `day` rows say: minutes are never removed,
 * and lists only grow. Cameras and stripes that came in between are left out.
 *
 * @throws {DayHeld | StorageTrouble | DamagedRow}
 */
export const lastMinutesIn = async (
  source: ShardSource,
  isAsked: (cameraId: string) => boolean,
): Promise<ReadonlyMap<string, MinuteOfDay>> => {
  for (let tries = 1; ; tries += 1) {
    const { days } = await readShard(source, { from: dayRowFrom });
    const hours = lastOf(
      Array.from(days.values(), (day) => [day.cameras, day.hours]),
      isAsked,
    );
    const found = await Promise.all(
      Array.from(new Set(hours.values()), async (hour) => {
        const rows = await readCounter(source, hourCounter(hour));
        const last = lastOf(
          Array.from(rows, ([stripe, row]) => [days.get(stripe)?.cameras ?? EMPTY_DAY.cameras, hourRowFrom(row)]),
          (id) => hours.get(id) === hour,
        );
        return Array.from(last, ([id, minute]) => [id, minuteFrom(60 * hour + minute)] as const);
      }),
    );
    const minutes = new Map(found.flat());
    const lost = [...hours].find(([id]) => !minutes.has(id));
    if (lost === undefined) return minutes;
    const rowKey = counterKey(hourCounter(lost[1]), 0);
    if (tries === TRIES) throw new DamagedRow(source.partition, rowKey, 'it lacks a camera that the day row has');
  }
};

/** The last bucket, over all stripes, in which each requested camera was active. */
const lastOf = <Number extends Hour | MinuteOfHour>(
  stripes: readonly (readonly [cameras: ReadonlyMap<string, number>, buckets: Buckets<Number>])[],
  isAsked: (cameraId: string) => boolean,
): ReadonlyMap<string, Number> => {
  const last = new Map<string, Number>();
  for (const [cameras, buckets] of stripes) {
    const newestFirst = [...buckets].sort(([left], [right]) => right - left);
    for (const [id, index] of cameras) {
      if (!isAsked(id)) continue;
      const bucket = newestFirst.find(([, { active }]) => hasIndex(active, index));
      if (bucket !== undefined && bucket[0] > (last.get(id) ?? -1)) last.set(id, bucket[0]);
    }
  }
  return last;
};
