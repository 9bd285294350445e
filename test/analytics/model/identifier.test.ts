import { expect, it } from 'vitest';

import { CATEGORY_FORM, idProblem, MAX_ID_LENGTH } from '../../../src/analytics/model/identifier.ts';

it.each([
  [undefined, ['ridge-04', ' ', '/'.repeat(128), '|%#?\\', 'o\'brien "x"']],
  [undefined, ['\u3000', '🔥'.repeat(64), '\uFF0F', '\u2028', '__proto__']],
  ['is empty', ['']],
  ['is longer than 128 characters', ['x'.repeat(MAX_ID_LENGTH + 1), '🔥'.repeat(65)]],
  ['has a control character', ['a\u0000', 'a\nb', 'a\tb', '\u007F', '\u0085', '\u009F']],
  ['has a code point that is not a character', ['\uD83D', '\uDD25\uD83D']],
  ['has a code point that is not a character', ['\uFDD0', '\uFDEF', '\uFFFE', '\uFFFF', '\u{1FFFE}']],
])('an id: %s: %j', (problem, ids) => {
  expect(ids.map(idProblem)).toEqual(ids.map(() => problem));
});

it.each([
  [true, ['fire', 'F', 'a-b_c9', 'constructor', `x${'y'.repeat(63)}`]],
  [false, ['', '9a', '-a', '_a', '__proto__', 'a b', 'a\n', 'é', 'a.b', 'a/b', `x${'y'.repeat(64)}`]],
])('a category: %s: %j', (isCategory, names) => {
  expect(names.map((name) => CATEGORY_FORM.test(name))).toEqual(names.map(() => isCategory));
});
