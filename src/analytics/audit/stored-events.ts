import { contributionOf } from '../model/camera-event.ts';
import { dayOf, microsecondOfMinute, minuteOfDay, type Day } from '../model/day.ts';
import type { Tally } from '../model/tally.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import type { KeyRange, StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { parseEventKey } from '../rows/keys.ts';
import { DAMAGED, decodedOr } from './findings.ts';

/** An event as an audit needs it. */
export interface CountedEvent {
  readonly cameraId: string;
  /** Minute of the day, 0 to 1439. */
  readonly minute: number;
  /** Microsecond of the minute. */
  readonly microsecond: number;
  readonly contribution: Tally;
}

/** An event row: its contribution, or why that cannot be known. */
export type AuditedEvent = CountedEvent | { readonly damaged: string };

const auditedEvent = (day: Day, row: StoredRow): AuditedEvent => {
  const { cameraId, minute } = parseEventKey(row.rowKey);
  const { ts, facets } = eventRowFrom(row);
  if (dayOf(ts) !== day || minuteOfDay(ts) !== minute) return { damaged: 'its ts_utc is not in the minute of its key' };
  return { cameraId, minute, microsecond: microsecondOfMinute(ts), contribution: contributionOf(facets) };
};

/** Reads the event rows of a key range in the order of their minutes. @throws {StorageTrouble} */
export async function* readEvents(
  table: Table,
  partition: string,
  day: Day,
  range: KeyRange,
): AsyncGenerator<AuditedEvent & { readonly rowKey: string }> {
  for await (const page of table.pages(partition, range)) {
    for (const row of page) {
      const event = decodedOr(() => auditedEvent(day, row));
      yield { rowKey: row.rowKey, ...(event === DAMAGED ? { damaged: DAMAGED } : event) };
    }
  }
}
