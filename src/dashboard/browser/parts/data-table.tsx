import type { ComponentChildren } from 'preact';

import { csvText } from '../../../csv.ts';

/** One column of a table: what the page shows, and what a spreadsheet gets. */
export interface Column<Row> {
  /** The head in the file; on the page as well, if there is no `head`. */
  readonly name: string;
  readonly head?: ComponentChildren;
  /** The raw value: whole numbers, ISO times. */
  readonly value: (row: Row) => string | number;
  /** What the page shows; the value if it is not given. */
  readonly cell?: (row: Row) => ComponentChildren;
  readonly isNumber?: boolean;
  readonly sort?: 'descending' | 'none' | undefined;
}

/** What a table needs. */
export interface DataTableProps<Row> {
  /** Also the name of the file. */
  readonly title: string;
  readonly class?: string;
  /** The first one heads its row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row, index: number) => string | number;
  readonly rowClass?: (row: Row) => string;
}

/** A table that scrolls in itself, and the same to download, made here from what is shown. */
export const DataTable = <Row,>({ title, class: className, columns, rows, rowKey, rowClass }: DataTableProps<Row>) => (
  <>
    <div class="scroll" role="region" aria-label={`${title}, table`} tabIndex={0}>
      <table class={className}>
        <caption class="unseen">{title}</caption>
        <thead>
          <tr>
            {columns.map(({ name, head, isNumber, sort }) => (
              <th key={name} scope="col" class={isNumber ? 'number' : ''} aria-sort={sort}>
                {head ?? name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={rowKey(row, index)} class={rowClass?.(row) ?? ''}>
              {columns.map(({ name, value, cell, isNumber }, at) =>
                at === 0 ? (
                  <th key={name} scope="row">
                    {cell?.(row) ?? value(row)}
                  </th>
                ) : (
                  <td key={name} class={isNumber ? 'number' : ''}>
                    {cell?.(row) ?? value(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
    <button
      type="button"
      class="button small"
      aria-label={`Download CSV: ${title}`}
      onClick={() =>
        download(`${title}.csv`, [
          columns.map(({ name }) => name),
          ...rows.map((row) => columns.map(({ value }) => value(row))),
        ])
      }
    >
      Download CSV
    </button>
  </>
);

const download = (name: string, rows: readonly (readonly (string | number)[])[]): void => {
  const url = URL.createObjectURL(new Blob([csvText(rows)], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name.replace(/[^\w.-]+/g, '-');
  link.click();
  URL.revokeObjectURL(url);
};
