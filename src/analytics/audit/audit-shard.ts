import type { Day } from '../model/day.ts';
import { shardOf } from '../model/shard.ts';
import { shardPartition, twoDigits } from '../rows/keys.ts';
import type { CounterTable } from '../rows/table.ts';
import type { Difference } from './findings.ts';
import { ShardComparison } from './shard-comparison.ts';
import { readShardVersion } from './shard-version.ts';
import { readCounterRows, readEvents, readMinuteRows, type CountedEvent, type MinuteRows } from './stored-rows.ts';

/** What an audit of one shard of a day found. */
export interface ShardReport {
  readonly shard: number;
  /** Event rows read. */
  readonly events: number;
  /** Counters compared. */
  readonly counters: number;
  /** Whether the day is closed: its event rows are gone, and the counters were compared with its samples. */
  readonly closed: boolean;
  readonly differences: readonly Difference[];
}

const MINUTES_OF_DAY = 1_440;

/**
 * Compares every counter of one shard of a day with its event rows; of a closed day with its samples, and with the event rows of the
 * seconds that have overflowed. Reads only.
 *
 * @param shards how many the day has; undefined: unknown
 * @returns undefined where the shard was written to meanwhile, so that its rows do not fit together
 * @throws {StorageTrouble}
 */
export const auditShard = async (
  table: CounterTable,
  day: Day,
  shard: number,
  shards: number | undefined,
): Promise<ShardReport | undefined> => {
  const partition = shardPartition(day, shard);
  const before = await readShardVersion(table, partition);
  const comparison = new ShardComparison(shard, await readCounterRows(table, partition, before.stripes));
  const { findings } = comparison;
  const stream = readEvents(table, partition, day);
  let next = await stream.next();
  let events = 0;
  let minuteRows: MinuteRows = { byStripe: new Map(), strays: [] };
  for (let minute = 0; minute < MINUTES_OF_DAY; minute += 1) {
    if (minute % 60 === 0) {
      minuteRows = await readMinuteRows(table, partition, minute / 60);
      comparison.strays(minuteRows.strays);
    }
    const ofMinute: CountedEvent[] = [];
    for (; next.done !== true; next = await stream.next()) {
      const { value } = next;
      if ('damaged' in value) findings.add(`row ${value.rowKey}`, 'an event', value.damaged);
      else if (value.minute === minute) ofMinute.push(value);
      else break;
      events += 1;
    }
    if (before.closed) comparison.closedMinute(minute, ofMinute, minuteRows);
    else comparison.minute(minute, ofMinute, minuteRows);
    if (minute % 60 === 59) comparison.hour((minute - 59) / 60);
  }
  if (next.done !== true) throw new RangeError('event rows did not come in the order of their keys');
  const name = twoDigits(shard);
  comparison.day((cameraId) => (shards === undefined ? name : twoDigits(shardOf(cameraId, shards))), name);
  // While the version stays the same, all pages belong together.
  if ((await readShardVersion(table, partition)).version !== before.version) return undefined;
  return { shard, events, counters: findings.compared, closed: before.closed, differences: findings.differences };
};
