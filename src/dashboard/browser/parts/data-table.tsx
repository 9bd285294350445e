import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

import type { Question } from '../model/questions.ts';
import { daysText, periodOf } from '../model/spans.ts';
import { Button } from './button.tsx';
import { numbers } from './numbers.ts';
import { useShown } from './shown.ts';

export interface Column<Row> {
  readonly name: string;
  /** Shown in place of the name. */
  readonly head?: ComponentChildren;
  readonly cell: (row: Row) => ComponentChildren;
  readonly isNumber?: boolean;
  readonly sort?: 'descending' | undefined;
}

/** A column of counts: `12,345`; `–` without a count. */
export const numberColumn = <Row,>(
  name: string,
  count: (row: Row) => number | string | undefined,
  rest: Partial<Column<Row>> = {},
): Column<Row> => ({
  name,
  isNumber: true,
  cell: (row) => {
    const found = count(row) ?? '–';
    return typeof found === 'number' ? numbers.count(found) : found;
  },
  ...rest,
});

interface DataTableProps<Row> {
  readonly title: string;
  readonly class?: string;
  /** The first column heads the rows. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** If `rows` are only some of the rows. */
  readonly total?: number;
  readonly rowKey: (row: Row) => string | number;
  /** The question for a CSV file with all rows. */
  readonly file?: Question;
}

/** More rows are slow to draw. */
const MOST_ROWS = 400;

/** The style sheet prints no more rows. */
const MOST_PRINTED = 50;

export const DataTable = <Row,>(table: DataTableProps<Row>) => {
  const { title, class: className = '', columns, rows, total = rows.length, rowKey, file } = table;
  const shown = rows.slice(0, MOST_ROWS);
  const ofTotal = (count: number, where: string) =>
    count < total ? <p class={where}>{`${numbers.count(count)} of ${numbers.count(total)}`}</p> : null;
  return (
    <>
      <div class="scroll" role="region" aria-label={`${title}, table`} tabIndex={0}>
        <table class={className} aria-rowcount={total + 1}>
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
            {shown.map((row) => (
              <tr key={rowKey(row)}>
                {columns.map(({ name, cell, isNumber }, at) =>
                  at === 0 ? (
                    <th key={name} scope="row">
                      {cell(row)}
                    </th>
                  ) : (
                    <td key={name} class={isNumber ? 'number' : ''}>
                      {cell(row)}
                    </td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {ofTotal(shown.length, 'note screen')}
      {ofTotal(Math.min(shown.length, MOST_PRINTED), 'note paper')}
      {file === undefined ? null : <FileButton title={title} file={file} />}
    </>
  );
};

const FileButton = ({ title, file }: { readonly title: string; readonly file: Question }) => {
  const { view, times, now, actions } = useShown();
  const [isMissing, setMissing] = useState(false);
  const save = async (): Promise<void> => {
    const text = await actions.file(file);
    setMissing(text === undefined);
    if (text !== undefined) download(`${title} ${daysText(periodOf(view.span, now, times), times)}.csv`, text);
  };
  return (
    <p class="file">
      <Button look="small" aria-label={`Download CSV: ${title}`} onClick={() => void save()}>
        Download CSV
      </Button>{' '}
      {isMissing ? (
        <span class="trouble" role="alert">
          The service did not answer. Try again.
        </span>
      ) : null}
    </p>
  );
};

/** Without it, spreadsheets read UTF-8 as another encoding. */
const BYTE_ORDER_MARK = '\uFEFF';

const download = (name: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([BYTE_ORDER_MARK, text], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name.replaceAll(/[^\w.,() -]+/g, '-');
  link.click();
  URL.revokeObjectURL(url);
};
