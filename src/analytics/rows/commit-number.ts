import { DecodeError, decodingRow } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';

/**
 * The property of every counter row that says in which commit of its stripe the row was last written. Each commit writes the `total`
 * row of its stripe with the next number, and the same number into every counter row that it touches. So a `total` whose number is
 * not below that of another row cannot be older than it.
 */
export const COMMIT_NUMBER = 'n';

/** The commit in which a counter row was last written; 0: the row is not stored. @throws {DamagedRow} */
export const commitNumberOf = (row: StoredRow | undefined): number => {
  if (row === undefined) return 0;
  const number = row.properties[COMMIT_NUMBER];
  return decodingRow(row, () => {
    if (typeof number !== 'number') throw new DecodeError(`${COMMIT_NUMBER} is not a number`);
    return number;
  });
};
