import type { KeyRange } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { parseMinuteKey } from '../rows/keys.ts';
import { minuteRowFrom, type MinuteRow } from '../rows/minute-row.ts';
import { keyed, type KeyedRow } from './audited-row.ts';

/** The minute rows of a shard or of a part of it. Each minute has up to two rows a stripe. */
export interface MinuteRows {
  /** By minute of the day. */
  readonly byMinute: ReadonlyMap<number, readonly KeyedRow<MinuteKey, MinuteRow>[]>;
  readonly strays: readonly string[];
}

/** What the key of a minute row says. */
interface MinuteKey {
  readonly minute: number;
  readonly second: number;
}

/** Reads the minute rows of a key range. @throws {StorageTrouble} */
export const readMinuteRows = async (table: Table, partition: string, range: KeyRange): Promise<MinuteRows> => {
  const { rows, strays } = keyed(await table.all(partition, range), parseMinuteKey, minuteRowFrom);
  return { byMinute: Map.groupBy(rows, ({ key }) => key.minute), strays };
};

/** The versions of the minute rows of a key range, by minute of the day, and the keys that cannot be parsed. */
export interface MinuteVersions {
  readonly versions: ReadonlyMap<number, string>;
  readonly strays: readonly string[];
}

/** Reads the versions of the minute rows of a key range: every change of an event changes one. @throws {StorageTrouble} */
export const readMinuteVersions = async (table: Table, partition: string, range: KeyRange): Promise<MinuteVersions> => {
  const { rows, strays } = keyed(await table.all(partition, range, { select: [] }), parseMinuteKey, () => undefined);
  return { versions: versionsByMinute(rows), strays };
};

/** The versions of minute rows, by minute of the day. */
export const versionsByMinute = (rows: readonly KeyedRow<MinuteKey, unknown>[]): ReadonlyMap<number, string> =>
  new Map(
    Array.from(
      Map.groupBy(rows, ({ key }) => key.minute),
      ([minute, own]) => [minute, own.map(({ rowKey, etag }) => `${rowKey} ${etag}`).join('\n')],
    ),
  );
