import { expect, it } from 'vitest';

import { csvText } from '../src/csv.ts';

it.each<[cell: string | number, written: string]>([
  ['=1+1', "'=1+1"],
  ['+1206', "'+1206"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['＝1+1', "'＝1+1"],
  [' =1', "' =1"],
  ['\tx', "'\tx"],
  ['a,b', '"a,b"'],
  ['a"b', '"a""b"'],
  ['a\nb', '"a\nb"'],
  ['ridge-04', 'ridge-04'],
  [-1, '-1'],
])('a cell %j is written as %j', (cell, written) => {
  expect(csvText([['n'], [cell, 2]])).toBe(`n\r\n${written},2\r\n`);
});
