import { microsecondOfMinute } from '../model/day.ts';
import { DamagedRow, decodingRow } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { INSTANT_PROPERTIES, instantOf } from '../rows/event-row.ts';
import { minutesOfHour, parseEventKey, parseMinuteKey, SECONDS_A_ROW } from '../rows/keys.ts';
import { minuteRowFrom, overflowedSecondsOf, secondOf } from '../rows/minute-row.ts';
import { parseStripe } from '../rows/stripe-keys.ts';

/** The properties of an event row that {@link OverflowedSeconds.needs} reads. */
export const NEEDED_PROPERTIES = INSTANT_PROPERTIES;

/**
 * The seconds of a shard that have overflowed in any stripe: their samples were dropped, and readers use their event rows. Only for
 * a closed day: in an open one more seconds may overflow.
 */
export class OverflowedSeconds {
  readonly #table: Table;
  readonly #partition: string;
  /** Event rows come in the order of their keys, so one hour is enough. */
  #hour: { readonly number: number; readonly seconds: Promise<ReadonlySet<number>> } | undefined;

  constructor(table: Table, partition: string) {
    this.#table = table;
    this.#partition = partition;
  }

  /**
   * Whether an event row is in such a second. A row that cannot be told is needed as well: where the event row or the samples of
   * its second are damaged.
   *
   * @throws {StorageTrouble}
   */
  async needs(row: StoredRow): Promise<boolean> {
    const second = secondOfEvent(row);
    if (second === undefined) return true;
    return (await this.#ofHour(Math.floor(second / 3_600))).has(second);
  }

  async #ofHour(number: number): Promise<ReadonlySet<number>> {
    if (this.#hour?.number !== number) this.#hour = { number, seconds: this.#read(number) };
    return this.#hour.seconds;
  }

  /** The overflowed seconds of an hour, as seconds of the day. */
  async #read(hour: number): Promise<ReadonlySet<number>> {
    const seconds = new Set<number>();
    for await (const page of this.#table.pages(this.#partition, minutesOfHour(hour))) {
      for (const row of page) {
        const { minute, second } = decodingRow(row, () => parseMinuteKey(parseStripe(row.rowKey).key));
        const overflowed = unlessDamaged(() => overflowedSecondsOf(minuteRowFrom(row)));
        const all = Array.from({ length: SECONDS_A_ROW }, (_, index) => second + index);
        for (const each of overflowed ?? all) seconds.add(minute * 60 + each);
      }
    }
    return seconds;
  }
}

/** The second of the day of an event row. */
const secondOfEvent = (row: StoredRow): number | undefined =>
  unlessDamaged(() => {
    const { minute } = decodingRow(row, () => parseEventKey(row.rowKey));
    return minute * 60 + secondOf(microsecondOfMinute(instantOf(row)));
  });

const unlessDamaged = <Value>(decode: () => Value): Value | undefined => {
  try {
    return decode();
  } catch (error) {
    if (error instanceof DamagedRow) return undefined;
    throw error;
  }
};
