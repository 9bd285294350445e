import { expect, it } from 'vitest';

import { csvText } from '../src/csv.ts';

it.each([
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
])('a cell %s is written as %s', (text, cell) => {
  expect(csvText([[text]])).toBe(`${cell}\r\n`);
});

it('numbers stay numbers, also negative ones', () => {
  expect(csvText([['n'], [-1], [1_234_567]])).toBe('n\r\n-1\r\n1234567\r\n');
});
