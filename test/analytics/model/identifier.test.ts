import { describe, expect, it } from 'vitest';

import { CATEGORY_FORM, idProblem, MAX_ID_LENGTH } from '../../../src/analytics/model/identifier.ts';

describe('an id', () => {
  it.each([
    'ridge-04',
    'a',
    ' ',
    '/'.repeat(128),
    '|%#?\\',
    'o\'brien "x"',
    '\u3000',
    '🔥'.repeat(64),
    '\uFF0F\uFF5C',
    'ends with space ',
    '\u2028',
    '__proto__',
  ])('%j is fine', (id) => {
    expect(idProblem(id)).toBeUndefined();
  });

  it.each([
    ['', 'is empty'],
    ['x'.repeat(MAX_ID_LENGTH + 1), 'is longer than 128 characters'],
    ['🔥'.repeat(65), 'is longer than 128 characters'],
    ['a\u0000', 'has a control character'],
    ['a\nb', 'has a control character'],
    ['a\tb', 'has a control character'],
    ['\u007F', 'has a control character'],
    ['\u0085', 'has a control character'],
    ['\u009F', 'has a control character'],
    ['\uD83D', 'has a code point that is not a character'],
    ['\uDD25\uD83D', 'has a code point that is not a character'],
    ['\uFDD0', 'has a code point that is not a character'],
    ['\uFDEF', 'has a code point that is not a character'],
    ['\uFFFE', 'has a code point that is not a character'],
    ['\uFFFF', 'has a code point that is not a character'],
    ['\u{1FFFE}', 'has a code point that is not a character'],
  ])('%j %s', (id, problem) => {
    expect(idProblem(id)).toBe(problem);
  });
});

describe('a category', () => {
  it.each(['fire', 'F', 'a-b_c9', 'constructor', `x${'y'.repeat(63)}`])('%s is one', (name) => {
    expect(CATEGORY_FORM.test(name)).toBe(true);
  });

  it.each(['', '9a', '-a', '_a', '__proto__', 'a b', 'a\n', 'é', 'a.b', 'a/b', `x${'y'.repeat(64)}`])(
    '%j is none',
    (name) => {
      expect(CATEGORY_FORM.test(name)).toBe(false);
    },
  );
});
