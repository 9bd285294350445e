import { DecodeError } from '../../storage/errors.ts';
import type { KeyRange, StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { contributionOf, type EventMessage } from '../model/camera-event.ts';
import { type Day, dayOf, MICROSECONDS, minuteOfDay, offsetIn, startOfDay } from '../model/day.ts';
import { type Instant, instantFrom } from '../model/instant.ts';
import type { Tally } from '../model/tally.ts';
import { decodedPages, type UnreadableRow } from '../rows/decoded-pages.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { ALL_EVENTS, ALL_MINUTES, DAY_KEY, eventKey, parseEventKey, parseMinuteKey, SEALED_KEY } from '../rows/keys.ts';
import { minuteRowFrom, overflowedSecondsOf, samplesOf, SECOND } from '../rows/minute-row.ts';
import { stripeRowFrom } from '../rows/stripe-row.ts';
import { parseStripe, stripesOf } from '../rows/stripes.ts';
import { ByteReader, readTally } from '../rows/tally-bytes.ts';

/** An event row: the whole event as one message. */
export interface StoredEvent extends EventMessage {
  readonly rowKey: string;
  readonly etag: string;
}

/** The event rows of a shard of a day, page by page. */
export const eventPages = (table: Table, partition: string, day: Day, range: KeyRange = ALL_EVENTS) =>
  decodedPages(table, partition, range, (row): StoredEvent => {
    const { minute, cameraId, eventId } = parseEventKey(row.rowKey);
    const { ts, facets } = eventRowFrom(row);
    if (dayOf(ts) !== day || minuteOfDay(ts) !== minute) throw new DecodeError('its time is not that of its key');
    if (eventKey(minute, cameraId, eventId) !== row.rowKey) throw new DecodeError('its key is not that of its event');
    return { cameraId, eventId, ts, facets, rowKey: row.rowKey, etag: row.etag };
  });

/** What one event row, or one sample of a closed day, counts. */
export interface Counted {
  readonly cameraId: string;
  readonly ts: Instant;
  readonly tally: Tally;
  /** Every change of the row changes it. */
  readonly version: string;
}

interface CountedRows {
  readonly counted: readonly Counted[];
  readonly unreadable: UnreadableRow[];
}

/** What the event rows of a shard count. @throws {StorageTrouble | LaterFormat} */
export const countedEvents = async (table: Table, partition: string, day: Day): Promise<CountedRows> => {
  const [counted, unreadable]: [Counted[], UnreadableRow[]] = [[], []];
  for await (const page of eventPages(table, partition, day)) {
    unreadable.push(...page.unreadable);
    for (const { cameraId, ts, facets, rowKey, etag } of page.decoded) {
      counted.push({ cameraId, ts, tally: contributionOf(facets), version: `${rowKey} ${etag}` });
    }
  }
  return { counted, unreadable };
};

/**
 * What the samples of a shard count, and what its event rows count. The event rows replace the samples of overflowed seconds.
 *
 * @throws {StorageTrouble | LaterFormat}
 */
export const countedSamples = async (
  table: Table,
  partition: string,
  day: Day,
): Promise<CountedRows & { readonly events: readonly Counted[] }> => {
  const unreadable: UnreadableRow[] = [];
  const readAll = async <Value>(range: KeyRange, decode: (row: StoredRow) => Value): Promise<readonly Value[]> => {
    const all: Value[] = [];
    for await (const page of decodedPages(table, partition, range, decode)) {
      all.push(...page.decoded);
      unreadable.push(...page.unreadable);
    }
    return all;
  };
  const stripes = await readAll(stripesOf(DAY_KEY), (row) =>
    row.rowKey === SEALED_KEY ? [] : [[parseStripe(row.rowKey).stripe, stripeRowFrom(row)] as const],
  );
  const namesOf = new Map(stripes.flat());
  const rows = await readAll(ALL_MINUTES, (row) => {
    const { key, stripe } = parseStripe(row.rowKey);
    const { minute } = parseMinuteKey(key);
    const seconds = minuteRowFrom(row);
    const overflowed = overflowedSecondsOf(seconds);
    const names = namesOf.get(stripe);
    const samples = samplesOf(seconds, 0, 60 * SECOND - 1, new Set(overflowed)).map((sample): Counted => {
      const cameraId = names?.cameras.ids[sample.cameraIndex];
      const tally = names && readTally(new ByteReader(sample.tally), [...names.tally.categories.keys()]);
      if (cameraId === undefined || tally === undefined) throw new DecodeError('its stripe lacks a name');
      const ts = startOfDay(day) + BigInt(minute) * MICROSECONDS.minute + BigInt(sample.microsecond);
      return { cameraId, ts: instantFrom(ts), tally, version: `${row.rowKey} ${row.etag}` };
    });
    return { samples, overflowed: overflowed.map((second) => 60 * minute + second) };
  });
  // After the samples: a commit in between adds events that no sample counts, and never samples without events.
  const { counted: events, unreadable: unreadableEvents } = await countedEvents(table, partition, day);
  unreadable.push(...unreadableEvents);
  // A second that has overflowed in one stripe is read from event rows for all of them.
  const overflowed = new Set(rows.flatMap((row) => row.overflowed));
  const hasOverflowed = ({ ts }: Counted): boolean =>
    overflowed.has(Number(offsetIn(ts, MICROSECONDS.day) / BigInt(SECOND)));
  const samples = rows.flatMap((row) => row.samples).filter((sample) => !hasOverflowed(sample));
  return { counted: [...events.filter(hasOverflowed), ...samples], unreadable, events };
};
