import { decodingRow } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { ALL_CAMERAS, cameraKey, parseCameraKey } from '../rows/keys.ts';
import { parseStripe, readStripes } from '../rows/stripes.ts';

const cameraOf = (row: StoredRow): string => decodingRow(row, () => parseCameraKey(parseStripe(row.rowKey).key));

/**
 * The rows of each camera of a shard, the rows in all stripes as of one moment. They are neighbors, so a page has them together. Only the
 * first camera of a later page may have rows before it, of an earlier moment or written since: those are read again together.
 */
export async function* camerasIn(
  table: Table,
  partition: string,
  select: readonly string[],
): AsyncGenerator<readonly [cameraId: string, rows: readonly StoredRow[]]> {
  let last: readonly [cameraId: string, rows: readonly StoredRow[]] | undefined;
  let isLaterPage = false;
  for await (const page of table.pages(partition, ALL_CAMERAS, { select })) {
    let mayLackSome = isLaterPage;
    for (const [cameraId, own] of Map.groupBy(page, cameraOf)) {
      const rows = mayLackSome ? [...(await readStripes(table, partition, cameraKey(cameraId), select)).values()] : own;
      if (last !== undefined && last[0] !== cameraId) yield last;
      last = [cameraId, rows];
      mayLackSome = false;
    }
    isLaterPage = true;
  }
  if (last !== undefined) yield last;
}
