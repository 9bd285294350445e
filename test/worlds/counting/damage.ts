import { isUint8Array } from 'node:util/types';

import { ANY_VERSION, type PropertyValue } from '../../../src/storage/row.ts';
import { copiedProperties } from '../../storage/copied-properties.ts';
import type { Chance } from '../chance.ts';
import type { WatchedTable } from './watched-table.ts';

const COUNTER_ROW = /^(day|hour\||minute\||camera\|)/;
/** Properties of counter rows that are no counters. */
const NO_COUNTERS = new Set(['format', 'stripes', 'mark', 'attempt']);

/** Deletes, garbles or alters some counter rows of partitions. @returns the damages, a line each */
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
    const { rowKey } = row;
    if (chance.happens(0.35)) {
      await table.tamper(partition, [{ kind: 'delete', rowKey }]);
      lines.push(`${partition} ${rowKey} is deleted`);
      continue;
    }
    const properties = copiedProperties(row);
    const name = chance.anyOf(Object.keys(properties).filter((each) => !NO_COUNTERS.has(each)));
    if (name === undefined) continue;
    const damaged = { ...properties, [name]: changed(properties[name], chance) };
    await table.tamper(partition, [{ kind: 'replace', rowKey, etag: ANY_VERSION, properties: damaged }]);
    lines.push(`${name} of ${partition} ${rowKey} is ${JSON.stringify(damaged[name])}`);
  }
  return lines;
};

const changed = (value: PropertyValue | undefined, chance: Chance): PropertyValue | undefined => {
  if (chance.happens(0.1)) return undefined;
  if (typeof value === 'number') return Math.max(0, value + chance.wholeBetween(-3, 7));
  if (typeof value === 'string') {
    // A number in it is changed, or it can no longer be parsed.
    return chance.happens(0.7) ? value.replace(/\d+/, (digits) => String(Number(digits) + 7)) : `${value}{`;
  }
  if (!isUint8Array(value)) return 'x';
  const bytes = Uint8Array.from(value);
  const index = chance.wholeBetween(0, bytes.length - 1);
  if (chance.happens(0.3)) return bytes.slice(0, index);
  bytes[index] = (bytes[index] ?? 0) ^ (1 << chance.wholeBetween(0, 7));
  return bytes;
};
