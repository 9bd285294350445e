import { DecodeError, unlessDamaged } from '../../storage/errors.ts';
import type { KeyRange, StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { contributionOf, type EventMessage } from '../model/camera-event.ts';
import { type Day, dayOf, microsecondOfMinute, MICROSECONDS, minuteOfDay, startOfDay } from '../model/day.ts';
import { type Instant, instantFrom } from '../model/instant.ts';
import type { Tally } from '../model/tally.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { ALL_EVENTS, ALL_MINUTES, DAY_KEY, eventKey, parseEventKey, parseMinuteKey, SEALED_KEY } from '../rows/keys.ts';
import { minuteRowFrom, overflowedSecondsOf, samplesOf, SECOND, secondOf } from '../rows/minute-row.ts';
import { stripeRowFrom } from '../rows/stripe-row.ts';
import { parseStripe, stripesOf } from '../rows/stripes.ts';
import { ByteReader, readTally } from '../rows/tally-bytes.ts';

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
  /** Every change of the row changes it. */
  readonly version: string;
}

/** What the rows of a shard count. */
interface CountedRows {
  readonly counted: readonly Counted[];
  readonly unreadable: readonly UnreadableRow[];
}

/** What the event rows of a shard count. @throws {StorageTrouble | LaterFormat} */
export const countedEvents = async (table: Table, partition: string, day: Day): Promise<CountedRows> => {
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
 * What the samples of a shard count, and what its event rows do, which were read for it: they stand for the seconds that have overflowed.
 *
 * @throws {StorageTrouble | LaterFormat}
 */
export const countedSamples = async (
  table: Table,
  partition: string,
  day: Day,
): Promise<CountedRows & { readonly events: readonly Counted[] }> => {
  const { counted: events, unreadable: unreadableEvents } = await countedEvents(table, partition, day);
  const unreadable = [...unreadableEvents];
  const readable = <Value>(rows: readonly StoredRow[], decode: (row: StoredRow) => Value): readonly Value[] =>
    rows.flatMap((row) => {
      const note = ({ message }: Error) => unreadable.push({ row, damage: message });
      return unlessDamaged(() => [decode(row)], note) ?? [];
    });
  const days = (await table.all(partition, stripesOf(DAY_KEY))).filter(({ rowKey }) => rowKey !== SEALED_KEY);
  const stripes = new Map(readable(days, (row) => [parseStripe(row.rowKey).stripe, stripeRowFrom(row)]));
  const rows = readable(await table.all(partition, ALL_MINUTES), (row) => {
    const { key, stripe } = parseStripe(row.rowKey);
    return { row, names: stripes.get(stripe), minute: parseMinuteKey(key).minute, seconds: minuteRowFrom(row) };
  });
  const overflowed = new Set(
    rows.flatMap(({ minute, seconds }) => overflowedSecondsOf(seconds).map((second) => minute * 60 + second)),
  );
  const ofRows = rows.flatMap(({ row, names, minute, seconds }) =>
    readable([row], () => {
      const without = new Set([...seconds.keys()].filter((second) => overflowed.has(minute * 60 + second)));
      return samplesOf(seconds, 0, 60 * SECOND - 1, without).map((sample): Counted => {
        const cameraId = names?.cameras.ids[sample.cameraIndex];
        const tally = names && readTally(new ByteReader(sample.tally), [...names.tally.categories.keys()]);
        if (cameraId === undefined || tally === undefined) throw new DecodeError('its stripe lacks a name');
        const ts = startOfDay(day) + BigInt(minute) * MICROSECONDS.minute + BigInt(sample.microsecond);
        return { cameraId, ts: instantFrom(ts), tally, version: `${row.rowKey} ${row.etag}` };
      });
    }),
  );
  const inOverflowed = ({ ts }: Counted): boolean =>
    overflowed.has(minuteOfDay(ts) * 60 + secondOf(microsecondOfMinute(ts)));
  return { counted: [...events.filter(inOverflowed), ...ofRows.flat()], unreadable, events };
};
