import type { Table } from '../../storage/table.ts';
import { DayClosed } from '../errors.ts';
import type { Day } from '../model/day.ts';
import { dayPartitions } from '../rows/keys.ts';
import { readSeal } from '../rows/seal.ts';
import { eventLines, type EventsRead } from './day-events.ts';

/** How a day is exported. */
interface Exporting {
  /** Counts the rows that were read. */
  readonly read: EventsRead;
  /** Receives the shard and the last key of each page. */
  readonly onPage?: (shard: number, lastKey: string) => void;
}

/**
 * The events of a day as CloudEvents, a line each, shard by shard. Each event is as of some moment since the export began.
 *
 * @param shards how many shards each day has
 * @throws {DayClosed} even after the last line: the day was closed meanwhile, and its event rows may have been deleted
 * @throws {StorageTrouble | LaterFormat}
 */
export async function* exportDay(
  table: Table,
  shards: number,
  day: Day,
  { read, onPage }: Exporting,
): AsyncGenerator<string> {
  const partitions = dayPartitions(day, shards);
  const demandOpen = async (): Promise<void> => {
    for (const partition of partitions)
      if ((await readSeal(table, partition)).sealed === 'closed') throw new DayClosed();
  };
  await demandOpen();
  for (const [shard, partition] of partitions.entries()) {
    yield* eventLines(table, partition, { read, onPage: (lastKey) => onPage?.(shard, lastKey) });
  }
  await demandOpen();
}
