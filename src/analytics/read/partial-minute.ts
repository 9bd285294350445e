import { decodingRow } from '../../storage/errors.ts';
import { contributionOf } from '../model/camera-event.ts';
import { sortableInstant } from '../model/instant.ts';
import type { PartialMinute } from '../model/period.ts';
import { growingTally, type Tally } from '../model/tally.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { eventsOfMinute, parseEventKey } from '../rows/keys.ts';
import type { ShardSource } from './read-shard.ts';

/** The tally of events, and the cameras that sent them. */
export interface EventSum {
  readonly tally: Tally;
  readonly cameras: ReadonlySet<string>;
}

/**
 * Adds up the event rows of a part of a minute, page by page. Each event is as of some moment since the question.
 *
 * @param cameraId undefined: all cameras
 */
export const readPartialMinute = async (
  { table, partition, read }: ShardSource,
  { minute, start, end }: PartialMinute,
  cameraId: string | undefined,
): Promise<EventSum> => {
  const tally = growingTally();
  const cameras = new Set<string>();
  const where = { property: 'ts_utc', from: sortableInstant(start), to: sortableInstant(end) };
  await read(async () => {
    for await (const rows of table.pages(partition, eventsOfMinute(minute, cameraId), { where })) {
      for (const row of rows) {
        tally.add(contributionOf(eventRowFrom(row).facets));
        cameras.add(decodingRow(row, () => parseEventKey(row.rowKey).cameraId));
      }
    }
  });
  return { tally, cameras };
};
