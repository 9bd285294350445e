import { decodingRow } from '../../storage/row.ts';
import { contributionOf } from '../model/camera-event.ts';
import { type Hour, hourOf, type MinuteOfDay, minuteOfHour } from '../model/day.ts';
import { sortableInstant } from '../model/instant.ts';
import { type DayPiece, type PartialMinute, type Period, widened } from '../model/period.ts';
import { type DayTally, growingTally, sumOf, type Tally } from '../model/tally.ts';
import { type Bucket, endOf, hasIndex, type HourRow, hourRowFrom } from '../rows/buckets.ts';
import { cameraRowFrom, minutesIn } from '../rows/camera-row.ts';
import { DAY_STATE, dayRowFrom, listsTooShort } from '../rows/day-row.ts';
import { eventFrom } from '../rows/event-row.ts';
import { cameraCounter, type Counter, counterKey, DAY_COUNTER, eventsOfMinute, hourCounter } from '../rows/keys.ts';
import { ByteReader, readTallyBytes } from '../rows/properties.ts';
import { readShard, type ShardSource } from './read-shard.ts';

// README.md ("Reading") has the rows that each piece of a period is read from. All of one event is in one row of a
// piece, and each row is read as of one moment over all stripes, so no event is ever half visible.

/** The counts of some events. */
interface Counted {
  readonly tally: Tally;
  /** The ids of the cameras that sent the events. They are looked up on demand: the minutes of a network have more than a million. */
  readonly cameras: () => Iterable<string>;
}

/** The activity in a period. */
export interface Activity extends Counted {
  /** The period of the question; an end in a closed day is widened to a whole minute. */
  readonly period: Period;
  /** The ids of the cameras that sent events, removed or not; in no order. */
  readonly cameras: () => ReadonlySet<string>;
}

/** Adds up the counts of a period. */
export const activityOf = (period: Period, counts: readonly Counted[]): Activity => ({
  period,
  tally: sumOf(counts.map(({ tally }) => tally)),
  cameras: () => {
    const ids = new Set<string>();
    for (const { cameras } of counts) for (const id of cameras()) ids.add(id);
    return ids;
  },
});

/**
 * The activity of all cameras or one in disjoint pieces of a day, in their order. The partial minutes of a closed day are answered as whole minutes.
 *
 * @param sources the shards of the day
 * @throws {DayHeld | StorageTrouble | DamagedRow}
 */
export const readPieces = async (
  sources: readonly ShardSource[],
  pieces: readonly DayPiece[],
  cameraId: string | undefined,
): Promise<readonly Activity[]> => {
  const partial = pieces.flatMap(({ partialMinutes }) => partialMinutes);
  const shards = await Promise.all(
    sources.map(async (source) => {
      // Partial minutes and counters are read at the same time, and the `day` rows after them.
      const events = Promise.all(partial.map(async (minute) => readPartialMinute(source, minute, cameraId)));
      const counters =
        cameraId === undefined ? readAllCameras(source, pieces, events) : readCamera(source, pieces, cameraId, events);
      const [{ stripes, isClosed }, counted] = await Promise.all([counters, events]);
      return { stripes, isClosed, events: new Map(counted) };
    }),
  );
  // The event rows of a closed day may be gone.
  if (partial.length > 0 && shards.some(({ isClosed }) => isClosed)) {
    return readPieces(sources, pieces.map(widened), cameraId);
  }
  return pieces.map((piece) => {
    const counts: (Counted | undefined)[] = [];
    for (const { stripes, events } of shards) {
      for (const { day, hour, minute } of stripes) {
        if (piece.whole) counts.push(day);
        for (const each of piece.hours) counts.push(hour(each));
        for (const each of piece.minutes) counts.push(minute(each));
      }
      for (const each of piece.partialMinutes) counts.push(events.get(each));
    }
    return activityOf(
      piece,
      counts.filter((each) => each !== undefined),
    );
  });
};

/** The counts of a stripe. The functions throw a DamagedRow. */
interface StripeCounts {
  readonly day: Counted & { readonly tally: DayTally };
  readonly hour: (hour: Hour) => Counted | undefined;
  readonly minute: (minute: MinuteOfDay) => Counted | undefined;
}

interface ShardCounts {
  readonly stripes: readonly StripeCounts[];
  readonly isClosed: boolean;
}

const readAllCameras = async (
  source: ShardSource,
  pieces: readonly DayPiece[],
  earlier?: Promise<unknown>,
): Promise<ShardCounts> => {
  const { partition } = source;
  const counters = new Set(pieces.flatMap(({ minutes }) => minutes.map((minute) => hourCounter(hourOf(minute)))));
  const { days, rows, isClosed } = await readShard(source, { from: dayRowFrom }, [...counters], earlier);
  const stripes = Array.from(days, ([stripe, day]): StripeCounts => {
    // Lists only grow, so a list that was read later names the indexes of other rows, too.
    const categories = [...day.tally.categories.keys()];
    const hours = new Map<Counter, HourRow>();
    for (const [counter, ofStripes] of rows) {
      const row = ofStripes.get(stripe);
      if (row !== undefined) hours.set(counter, hourRowFrom(row));
    }
    const counted = (counter: Counter, bucket: Bucket | undefined): Counted | undefined => {
      if (bucket === undefined) return undefined;
      const row = { partitionKey: partition, rowKey: counterKey(counter, stripe) };
      const tally = decodingRow(row, () => readTallyBytes(new ByteReader(bucket.tally), categories));
      if (tally === undefined || endOf(bucket.active) > day.cameras.size) throw listsTooShort(partition, stripe);
      return { tally, cameras: () => [...day.cameras.keys()].filter((_, index) => hasIndex(bucket.active, index)) };
    };
    return {
      day: { tally: day.tally, cameras: () => day.cameras.keys() },
      hour: (hour) => counted(DAY_COUNTER, day.hours.get(hour)),
      minute: (minute) => {
        const counter = hourCounter(hourOf(minute));
        return counted(counter, hours.get(counter)?.get(minuteOfHour(minute)));
      },
    };
  });
  return { stripes, isClosed };
};

/** The counts of a camera in each stripe. @param earlier work that must be done before the `day` rows are read */
export const readCamera = async (
  source: ShardSource,
  pieces: readonly DayPiece[],
  cameraId: string,
  earlier?: Promise<unknown>,
): Promise<ShardCounts> => {
  const counter = cameraCounter(cameraId);
  const { rows, isClosed } = await readShard(source, DAY_STATE, [counter], earlier);
  const asked = new Set(pieces.flatMap(({ hours, minutes }) => [...hours, ...minutes.map(hourOf)]));
  const cameras = (): readonly string[] => [cameraId];
  const stripes = Array.from(rows.get(counter)?.values() ?? [], (row): StripeCounts => {
    const camera = cameraRowFrom(row);
    const hours = new Map(Array.from(asked, (hour) => [hour, decodingRow(row, () => minutesIn(camera, hour))]));
    return {
      day: { tally: camera.tally, cameras },
      // A tally that exists says that the camera sent an event, even if it was removed.
      hour: (hour) => {
        const minutes = hours.get(hour);
        return minutes && minutes.size > 0 ? { tally: sumOf(minutes.values()), cameras } : undefined;
      },
      minute: (minute) => {
        const tally = hours.get(hourOf(minute))?.get(minuteOfHour(minute));
        return tally && { tally, cameras };
      },
    };
  });
  return { stripes, isClosed };
};

/**
 * Adds up the event rows of a part of a minute, page by page. Each event is as of some moment since the question.
 *
 * @param cameraId undefined: all cameras
 */
const readPartialMinute = async (
  { table, partition, limit }: ShardSource,
  partial: PartialMinute,
  cameraId: string | undefined,
): Promise<readonly [PartialMinute, Counted]> => {
  const tally = growingTally();
  const cameras = new Set<string>();
  const where = { property: 'ts_utc', from: sortableInstant(partial.start), to: sortableInstant(partial.end) };
  await limit(async () => {
    for await (const rows of table.pages(partition, eventsOfMinute(partial.minute, cameraId), { where })) {
      for (const row of rows) {
        const event = eventFrom(row);
        tally.add(contributionOf(event.facets));
        cameras.add(event.cameraId);
      }
    }
  });
  return [partial, { tally, cameras: () => cameras }];
};
