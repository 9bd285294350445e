/** A table as rows of cells, the heads first. */
export type CsvRows = readonly (readonly (string | number)[])[];

/** A text that a spreadsheet would run as a formula, even after blanks, in full width, or in a cell that starts with a line break. */
const RUNS = /^\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/;

const cell = (value: string | number): string => {
  if (typeof value === 'number') return String(value);
  const harmless = RUNS.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
};

/**
 * A table as CSV (RFC 4180). A text that a spreadsheet would run is made harmless by an apostrophe before it: ids are the senders' own.
 *
 * @example csvText([['camera_id', 'total_events'], ['=1+1', 3]]) // "camera_id,total_events\r\n'=1+1,3\r\n"
 */
export const csvText = (rows: CsvRows): string => rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');
