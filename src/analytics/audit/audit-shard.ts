import type { Day } from '../model/day.ts';
import { readFence } from '../rows/fence-row.ts';
import { ALL_MINUTES, shardPartition } from '../rows/keys.ts';
import type { Table } from '../../storage/table.ts';
import { CameraMinutes, compareCameras } from './camera-comparison.ts';
import { damageOf, type Difference } from './findings.ts';
import { isClosed, ShardScan } from './shard-scan.ts';
import { readCameras } from './stored-cameras.ts';
import { readMinuteVersions } from './stored-minutes.ts';
import { readTop, readTotals } from './stored-top.ts';
import { compareTop, stripesWithLongerLists } from './top-comparison.ts';

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
  /** The cameras that have events. */
  readonly cameras: ReadonlySet<string>;
}

/**
 * Compares every counter of one shard of a day with its event rows; of a closed day with its samples, and with the event rows of the
 * seconds that have overflowed. Reads only.
 *
 * The shard may be written to meanwhile. How much a counter differs from the event rows does not change by a commit, which changes
 * both. So each counter may be compared at a moment of its own, where what it is compared with is read at the same moment:
 *
 * - the counters of a minute with its events. Every change of an event changes a minute row of its minute. Where none changed from
 *   before the first read of the scan until after the last, all reads of that minute fit together. The other minutes are read
 *   again one by one.
 * - a camera's hours and day with its minutes: the rows of one camera are read together.
 * - the hours with their minutes, and the total with the hours: these rows are read together.
 *
 * @param shards how many the day has; undefined: unknown
 * @returns undefined where one of them changed during every try, or the day was closed meanwhile
 * @throws {StorageTrouble}
 */
export const auditShard = async (
  table: Table,
  day: Day,
  shard: number,
  shards: number | undefined,
): Promise<ShardReport | undefined> => {
  const partition = shardPartition(day, shard);
  const before = await readMinuteVersions(table, partition, ALL_MINUTES);
  const top = await readTop(table, partition);
  if (top === undefined) return undefined;
  const scan = new ShardScan(table, day, shard, top);
  const cameras = await readCameras(table, partition);
  const changed = await scan.all(before, new CameraMinutes(cameras));
  for (const minute of changed) if (!(await scan.again(minute))) return undefined;

  const totals = await readTotals(table, partition, scan.stripes);
  const fence = await readFence(table, partition).catch(damageOf);
  // Closing a day marks its totals before it deletes event rows.
  if (!scan.closed && isClosed(totals.values(), fence)) return undefined;
  // A total that is read after a list has at least as many active cameras as the list.
  const later = await readTotals(table, partition, stripesWithLongerLists(totals));
  const { findings, minutes, withEvents } = scan;
  for (const { findings: own } of minutes.values()) findings.takeOver(own);
  compareCameras(findings, { cameras, minutes, withEvents, totals, shard, shards });
  compareTop(findings, { top, minutes, withEvents, totals, later, camerasOfHour: scan.camerasOfHour, cameras });
  const { differences, compared } = findings;
  const { closed, events } = scan;
  return { shard, events, counters: compared, closed, differences, cameras: withEvents };
};
