/** A table as rows of cells, the heads first. */
export type CsvRows = readonly (readonly (string | number)[])[];

/** A text that a spreadsheet would run as a formula, even after blanks, in full width, or in a cell that starts with a line break. */
const RUNS = /^\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/;

/** A text that some dialect of CSV would split, shorten or join: spreadsheets of many countries separate by `;`. */
const NEEDS_QUOTES = /[,;|"\s]/;

const cell = (value: string | number): string => {
  if (typeof value === 'number') return String(value);
  // A text that begins with an apostrophe gets another. To read a cell, remove its first apostrophe.
  const harmless = RUNS.test(value) || value.startsWith("'") ? `'${value}` : value;
  return NEEDS_QUOTES.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
};

/**
 * A table as CSV (RFC 4180). A text that a spreadsheet would run is made harmless by an apostrophe before it: ids are the senders' own. Different texts stay
 * different. A text of a sender belongs into the first column: a dialect with another separator does not see the quotes of later cells.
 *
 * @example csvText([['camera_id', 'total_events'], ['=1+1', 3]]) // "camera_id,total_events\r\n'=1+1,3\r\n"
 */
export const csvText = (rows: CsvRows): string => rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');
