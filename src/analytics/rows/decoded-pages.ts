import { unlessDamaged } from '../../storage/errors.ts';
import type { KeyRange, StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';

export interface UnreadableRow {
  readonly row: StoredRow;
  readonly damage: string;
}

/** A page of rows, decoded. */
interface DecodedPage<Value> {
  readonly decoded: readonly Value[];
  readonly unreadable: readonly UnreadableRow[];
  /** The key of its last row. */
  readonly lastKey: string | undefined;
}

/** The rows of a key range in order, page by page. @throws {StorageTrouble | LaterFormat} */
export async function* decodedPages<Value>(
  table: Table,
  partition: string,
  range: KeyRange,
  decode: (row: StoredRow) => Value,
): AsyncGenerator<DecodedPage<Value>> {
  for await (const rows of table.pages(partition, range)) {
    const unreadable: UnreadableRow[] = [];
    const decoded = rows.flatMap((row) => {
      const note = ({ message }: Error) => unreadable.push({ row, damage: message });
      return unlessDamaged(() => [decode(row)], note) ?? [];
    });
    yield { decoded, unreadable, lastKey: rows.at(-1)?.rowKey };
  }
}
