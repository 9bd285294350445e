import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { csvText } from '../src/csv.ts';

it.each<[cell: string | number, written: string]>([
  ['=1+1', "'=1+1"],
  ['+1206', "'+1206"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['＝1+1', "'＝1+1"],
  [' =1', '"\' =1"'],
  ['\tx', '"\'\tx"'],
  ["'=1+1", "''=1+1"],
  ["''", "'''"],
  ["o'brien", "o'brien"],
  ['a,b', '"a,b"'],
  ['x;=1+1', '"x;=1+1"'],
  ['x\t=1+1', '"x\t=1+1"'],
  ['x|=1+1', '"x|=1+1"'],
  ['x =1+1', '"x =1+1"'],
  ['a"b', '"a""b"'],
  ['a\nb', '"a\nb"'],
  ['ridge-04', 'ridge-04'],
  [-1, '-1'],
])('a cell %j is written as %j', (cell, written) => {
  expect(csvText([['n'], [cell, 2]])).toBe(`n\r\n${written},2\r\n`);
});

const TEXTS = fc.array(fc.constantFrom("'", '=', '1', ' ', ';', ',', '|', '\t', '"', '\n', 'x'), {
  minLength: 1,
  maxLength: 6,
});

/** A row of CSV as a spreadsheet reads it that separates by another character. */
const cellsOf = (row: string, separator: string): readonly string[] => {
  const cells = [''];
  let isQuoted = false;
  for (let at = 0; at < row.length; at += 1) {
    const letter = row.charAt(at);
    const isDoubled = isQuoted && row.startsWith('""', at);
    if (letter === '"' && !isDoubled) isQuoted = !isQuoted;
    else if (letter === separator && !isQuoted) cells.push('');
    else cells.push(`${cells.pop()}${letter}`);
    if (isDoubled) at += 1;
  }
  return cells;
};

it('no dialect of CSV finds a formula in a text, and different texts are different cells', () => {
  const written = new Map<string, string>();
  const check = (letters: readonly string[]) => {
    const text = letters.join('');
    const row = csvText([[text, 1]]).slice(0, -2);
    for (const separator of [',', ';', '\t', '|', ' ']) {
      expect(cellsOf(row, separator).filter((one) => /^\s*=/.test(one))).toEqual([]);
    }
    expect(cellsOf(row, ',')[0]?.replace(/^'/, '')).toBe(text);
    expect(written.get(row) ?? text).toBe(text);
    written.set(row, text);
  };
  fc.assert(fc.property(TEXTS, check), { numRuns: 2_000 });
});
