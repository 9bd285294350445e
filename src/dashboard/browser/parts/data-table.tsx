import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { csvText } from '../../../csv.ts';
import { useShown } from './shown.ts';

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
  readonly title: string;
  readonly class?: string;
  /** The first one heads its row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row, index: number) => string | number;
  readonly rowClass?: (row: Row) => string;
  /** All rows, where the page has only some of them, and their columns; undefined: they could not be had. */
  readonly wholeTable?: (() => Promise<WholeTable<Row> | undefined>) | undefined;
  /** Said beside the button: what is in the file. */
  readonly hint?: string | undefined;
}

/** A table with all of its rows. */
export type WholeTable<Row> = Pick<DataTableProps<Row>, 'columns' | 'rows'>;

/** A table that scrolls in itself, and the same to download. */
export const DataTable = <Row,>(table: DataTableProps<Row>) => {
  const { title, class: className = '', columns, rows, rowKey, rowClass, wholeTable, hint } = table;
  const { days } = useShown();
  const { region, first, shown, before, after } = useWindow(rows);
  const [isMissing, setMissing] = useState(false);
  const save = async (): Promise<void> => {
    const whole = wholeTable === undefined ? table : await wholeTable();
    setMissing(whole === undefined);
    if (whole !== undefined) download(`${title} ${days}.csv`, whole);
  };
  return (
    <>
      <div class="scroll" role="region" aria-label={`${title}, table`} tabIndex={0} ref={region}>
        <table class={shown.length < rows.length ? `${className} windowed` : className} aria-rowcount={rows.length + 1}>
          <caption class="unseen">{title}</caption>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map(({ name, head, isNumber, sort }) => (
                <th key={name} scope="col" class={isNumber ? 'number' : ''} aria-sort={sort}>
                  {head ?? name}
                </th>
              ))}
            </tr>
          </thead>
          <Gap height={before} />
          <tbody>
            {shown.map((row, index) => (
              <tr key={rowKey(row, first + index)} class={rowClass?.(row) ?? ''} aria-rowindex={first + index + 2}>
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
          <Gap height={after} />
        </table>
      </div>
      <p class="file">
        <button type="button" class="button small" aria-label={`Download CSV: ${title}`} onClick={() => void save()}>
          Download CSV
        </button>{' '}
        <span class="note">{hint}</span>{' '}
        {isMissing ? (
          <span class="trouble" role="alert">
            The service did not answer. Try again.
          </span>
        ) : null}
      </p>
    </>
  );
};

/** The place of rows that are out of sight. */
const Gap = ({ height }: { readonly height: number }) =>
  height === 0 ? null : (
    <tbody aria-hidden="true">
      <tr style={{ height: `${height}px` }} />
    </tbody>
  );

/** Up to so many rows are all on the page; of more, so many before the first one in sight and twice as many from it on: a screen shows 15. */
const MOST_ROWS = 100;
const AROUND = 15;

/** The rows that are on the page, and the height in pixels of those before and after them. Where there is a window, all rows are of one height. */
const useWindow = <Row,>(rows: readonly Row[]) => {
  const region = useRef<HTMLDivElement>(null);
  const isPrinted = useIsPrinted();
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(36);
  const isWhole = isPrinted || rows.length <= MOST_ROWS;
  useLayoutEffect(() => {
    const row = isWhole ? undefined : region.current?.querySelector('tbody:not([aria-hidden]) tr');
    const measured = row?.getBoundingClientRect().height ?? 0;
    if (measured > 0 && Math.abs(measured - height) > 0.5) setHeight(measured);
  });
  useEffect(() => {
    const { current } = region;
    if (isWhole || current === null) return undefined;
    const onScroll = (): void => setTop(Math.floor(current.scrollTop / height / 10) * 10);
    onScroll();
    current.addEventListener('scroll', onScroll, { passive: true });
    return () => current.removeEventListener('scroll', onScroll);
  }, [isWhole, height]);
  if (isWhole) return { region, first: 0, shown: rows, before: 0, after: 0 };
  const first = Math.max(0, Math.min(top, rows.length - 1) - AROUND);
  const shown = rows.slice(first, first + 3 * AROUND);
  return { region, first, shown, before: first * height, after: (rows.length - first - shown.length) * height };
};

const useIsPrinted = (): boolean => {
  const [isPrinted, setPrinted] = useState(false);
  useEffect(() => {
    const print = matchMedia('print');
    const changed = (): void => setPrinted(print.matches);
    print.addEventListener('change', changed);
    return () => print.removeEventListener('change', changed);
  }, []);
  return isPrinted;
};

/** Without it, spreadsheets take UTF-8 for something else. */
const BYTE_ORDER_MARK = '\uFEFF';

const download = <Row,>(name: string, { columns, rows }: WholeTable<Row>): void => {
  const text = csvText([
    columns.map((column) => column.name),
    ...rows.map((row) => columns.map(({ value }) => value(row))),
  ]);
  const url = URL.createObjectURL(new Blob([BYTE_ORDER_MARK, text], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name.replace(/[^\w.-]+/g, '-');
  link.click();
  URL.revokeObjectURL(url);
};
