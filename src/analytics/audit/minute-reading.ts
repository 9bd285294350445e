import type { Tally } from '../model/tally.ts';
import type { HoursRow } from '../rows/hour-rows.ts';
import type { MinuteRow } from '../rows/minute-row.ts';
import type { Stored } from './findings.ts';
import type { AuditedRow, KeyedRow } from './audited-row.ts';
import type { CountedEvent } from './stored-events.ts';
import type { Names } from './stored-sums.ts';

/** What was read of one minute of a shard; its event rows did not change meanwhile, except that closing the day deletes them. */
export interface MinuteReading {
  /** Minute of the day, 0 to 1439. */
  readonly minute: number;
  /** Its event rows; of a closed day those that are left. */
  readonly events: readonly CountedEvent[];
  /** Whether the day is closed: its samples stand for the event rows that are gone. */
  readonly closed: boolean;
  /** Its minute rows. */
  readonly rows: readonly KeyedRow<unknown, MinuteRow>[];
  /** The rows of its hour, by stripe. */
  readonly hourRows: ReadonlyMap<number, Stored<AuditedRow<HoursRow>>>;
  /** Its tally in the camera rows, by camera id; damaged where a row of the camera is, which is reported there. */
  readonly cameras: ReadonlyMap<string, Stored<Tally>>;
  /** The names for the indexes in the rows of a stripe; none where its total is damaged, which is reported there. */
  readonly namesOf: (stripe: number) => Names;
}
