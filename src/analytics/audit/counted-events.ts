import { DamagedRow, DecodeError, decodingRow, unlessDamaged } from '../../storage/errors.ts';
import type { KeyRange, StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { contributionOf, type EventMessage } from '../model/camera-event.ts';
import { type Day, dayOf, microsecondOfMinute, MICROSECONDS, minuteOfDay, startOfDay } from '../model/day.ts';
import { type Instant, instantFrom } from '../model/instant.ts';
import type { Tally } from '../model/tally.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import {
  ALL_EVENTS,
  ALL_MINUTES,
  DAY_KEY,
  eventKey,
  parseEventKey,
  parseMinuteKey,
  parseShardPartition,
  partitionsOf,
  SEALED_KEY,
} from '../rows/keys.ts';
import { minuteRowFrom, overflowedSecondsOf, samplesOf, SECOND, secondOf } from '../rows/minute-row.ts';
import { type StripeRow, stripeRowFrom } from '../rows/stripe-row.ts';
import { parseStripe, stripesOf } from '../rows/stripes.ts';
import { ByteReader, readTally } from '../rows/tally-bytes.ts';

/** The partition of a shard of a day, in one generation. */
export interface ShardPartition {
  readonly partition: string;
  readonly generation: number;
  readonly shard: number;
}

/** The partitions of a day that have rows, in all generations. @throws {StorageTrouble} */
export const shardPartitionsIn = async (table: Table, day: Day): Promise<readonly ShardPartition[]> => {
  const { from, before } = partitionsOf(day);
  const found: ShardPartition[] = [];
  for (let next = from; ;) {
    const partition = await table.firstPartition({ from: next, before });
    if (partition === undefined) return found;
    const parsed = unlessDamaged(() => parseShardPartition(day, partition));
    if (parsed !== undefined) found.push({ partition, ...parsed });
    // `!` comes before every character of a partition's key.
    next = `${partition}!`;
  }
};

/** An event row: the whole event as one message. */
export interface StoredEvent extends EventMessage {
  readonly rowKey: string;
  readonly etag: string;
}

/** A row that cannot be decoded. */
export interface UnreadableRow {
  readonly row: StoredRow;
  readonly damage: string;
}

/** Event rows that were read together. */
export interface EventPage {
  readonly events: readonly StoredEvent[];
  readonly unreadable: readonly UnreadableRow[];
}

/** The event rows of a shard in the order of their keys, page by page. @throws {StorageTrouble | LaterFormat} */
export async function* eventPages(
  table: Table,
  partition: string,
  day: Day,
  range: KeyRange = ALL_EVENTS,
): AsyncGenerator<EventPage> {
  for await (const rows of table.pages(partition, range)) {
    const unreadable: UnreadableRow[] = [];
    const events = rows.flatMap((row) => {
      const note = ({ message }: Error) => unreadable.push({ row, damage: message });
      return unlessDamaged(() => storedEvent(row, day), note) ?? [];
    });
    yield { events, unreadable };
  }
}

/** @throws {DecodeError} */
const storedEvent = (row: StoredRow, day: Day): StoredEvent => {
  const { minute, cameraId, eventId } = parseEventKey(row.rowKey);
  const { ts, facets } = eventRowFrom(row);
  if (dayOf(ts) !== day || minuteOfDay(ts) !== minute) throw new DecodeError('its time is not that of its key');
  if (eventKey(minute, cameraId, eventId) !== row.rowKey) throw new DecodeError('its key is not that of its event');
  return { cameraId, eventId, ts, facets, rowKey: row.rowKey, etag: row.etag };
};

/** What one event row, or one sample of a closed day, counts. */
export interface Counted {
  readonly cameraId: string;
  readonly ts: Instant;
  readonly tally: Tally;
  /** Another one whenever the row changed. */
  readonly version: string;
}

/** What the event rows of a shard count. @throws {StorageTrouble | LaterFormat} */
export const countedEvents = async (
  table: Table,
  partition: string,
  day: Day,
): Promise<{ readonly counted: readonly Counted[]; readonly unreadable: readonly UnreadableRow[] }> => {
  const [counted, unreadable]: [Counted[], UnreadableRow[]] = [[], []];
  for await (const page of eventPages(table, partition, day)) {
    unreadable.push(...page.unreadable);
    for (const { cameraId, ts, facets, rowKey, etag } of page.events) {
      counted.push({ cameraId, ts, tally: contributionOf(facets), version: `${rowKey} ${etag}` });
    }
  }
  return { counted, unreadable };
};

/**
 * What the samples of a shard count. Event rows stand for the seconds that have overflowed.
 *
 * @throws {StorageTrouble | LaterFormat | DamagedRow}
 */
export const countedSamples = async (table: Table, partition: string, day: Day): ReturnType<typeof countedEvents> => {
  const stripes = new Map<number, StripeRow>();
  for (const row of await table.all(partition, stripesOf(DAY_KEY))) {
    if (row.rowKey !== SEALED_KEY) stripes.set(parseStripe(row.rowKey).stripe, stripeRowFrom(row));
  }
  const minutes = (await table.all(partition, ALL_MINUTES)).map((row) => {
    const { key, stripe } = parseStripe(row.rowKey);
    return { row, names: stripes.get(stripe), minute: parseMinuteKey(key).minute, seconds: minuteRowFrom(row) };
  });
  const overflowed = new Set(
    minutes.flatMap(({ minute, seconds }) => overflowedSecondsOf(seconds).map((second) => minute * 60 + second)),
  );
  const { counted: events, unreadable } = await countedEvents(table, partition, day);
  const counted = events.filter(({ ts }) => overflowed.has(minuteOfDay(ts) * 60 + secondOf(microsecondOfMinute(ts))));
  for (const { row, names, minute, seconds } of minutes) {
    const start = startOfDay(day) + BigInt(minute) * MICROSECONDS.minute;
    const without = new Set([...seconds.keys()].filter((second) => overflowed.has(minute * 60 + second)));
    for (const sample of decodingRow(row, () => samplesOf(seconds, 0, 60 * SECOND - 1, without))) {
      const cameraId = names?.cameras.ids[sample.cameraIndex];
      const tally = names && readTally(new ByteReader(sample.tally), [...names.tally.categories.keys()]);
      if (cameraId === undefined || tally === undefined) {
        throw new DamagedRow(partition, row.rowKey, 'its stripe lacks a camera or a category');
      }
      const ts = instantFrom(start + BigInt(sample.microsecond));
      counted.push({ cameraId, ts, tally, version: `${row.rowKey} ${row.etag}` });
    }
  }
  return { counted, unreadable };
};
