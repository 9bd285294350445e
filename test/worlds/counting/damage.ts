import { isUint8Array } from 'node:util/types';

import { ANY_VERSION, type NewProperties, type PropertyValue, type StoredRow } from '../../../src/storage/row.ts';
import { DAYS_PARTITION } from '../../../src/analytics/rows/keys.ts';
import type { Chance } from '../chance.ts';
import type { WatchedTable } from './watched-table.ts';
import { copiedProperties } from '../../storage/copied-properties.ts';

const COUNTER_ROW = /^(day|hour\||minute\||camera\|)/;
/** Properties of counter rows that are no counters: storage's own, the row's format. */
const NO_COUNTERS = new Set(['timestamp', 'format', 'stripes', 'mark', 'attempt']);

/** Deletes, garbles or alters some counter rows of partitions. @returns what was done, a line each */
export const damageSome = async (
  table: WatchedTable,
  partitions: readonly string[],
  chance: Chance,
): Promise<readonly string[]> => {
  const lines: string[] = [];
  for (let left = chance.wholeBetween(1, 4); left > 0; left -= 1) {
    const partition = chance.anyOf(partitions);
    if (partition === undefined) continue;
    const row = chance.anyOf(table.rows(partition).filter(({ rowKey }) => COUNTER_ROW.test(rowKey)));
    if (row === undefined) continue;
    const name = `${partition} ${row.rowKey}`;
    if (chance.happens(0.35)) {
      await table.tamper(partition, [{ kind: 'delete', rowKey: row.rowKey }]);
      lines.push(`${name} is deleted`);
      continue;
    }
    const [property, value] = changedProperty(row, chance) ?? [];
    if (property === undefined) continue;
    const { timestamp: _, ...properties } = copiedProperties(row);
    await table.tamper(partition, [
      { kind: 'replace', rowKey: row.rowKey, etag: ANY_VERSION, properties: { ...properties, [property]: value } },
    ]);
    lines.push(
      `${property} of ${name} is changed to ${isUint8Array(value) ? Buffer.from(value).toString('hex') : JSON.stringify(value)}`,
    );
  }
  return lines;
};

/** Deletes the row of a day that has other rows. @returns what was done, a line each */
export const loseDay = async (table: WatchedTable, day: string): Promise<readonly string[]> => {
  await table.tamper(DAYS_PARTITION, [{ kind: 'delete', rowKey: day }]);
  return [`the row of ${day} is lost`];
};

const changedProperty = (row: StoredRow, chance: Chance): readonly [string, NewProperties[string]] | undefined => {
  const name = chance.anyOf(Object.keys(row.properties).filter((each) => !NO_COUNTERS.has(each)));
  const value = name === undefined ? undefined : row.properties[name];
  return name === undefined ? undefined : [name, changed(value, chance)];
};

const changed = (value: unknown, chance: Chance): PropertyValue | undefined => {
  if (chance.happens(0.1)) return undefined;
  if (typeof value === 'number') return Math.max(0, value + chance.wholeBetween(-3, 7));
  if (typeof value === 'string') {
    // A number in it is another one, or it cannot be parsed any more.
    return chance.happens(0.7) ? value.replace(/\d+/, (digits) => String(Number(digits) + 7)) : `${value}{`;
  }
  if (isUint8Array(value)) {
    const bytes = Uint8Array.from(value);
    const index = chance.wholeBetween(0, bytes.length - 1);
    if (chance.happens(0.3)) return bytes.slice(0, index);
    bytes[index] = (bytes[index] ?? 0) ^ (1 << chance.wholeBetween(0, 7));
    return bytes;
  }
  return 'x';
};
