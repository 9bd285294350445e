import { describe, expect, it } from 'vitest';
import type { ZodType } from 'zod';

import { idProblem } from '../src/analytics/model/camera-event.ts';
import { identifier, spokenText, visibleText } from '../src/http/request-values.ts';
import { visibleFault } from '../src/visible-text.ts';

it.each([
  ['an interpunct in the name of a place', 'Ust‧Kut'],
  ['signs alone', '‧', '·', '´', '゛', '̈́a', '†', '€', '๏', '〿', '⠁'],
  ['joiners in Persian, Malayalam and Sinhala', 'کوه‌سنگی', 'മലയാളം ന്‍', 'ශ්‍රී ලංකා'],
  ['vowel signs and marks in Hindi, Tamil and Burmese', 'हिन्दी', 'தமிழ்', 'မြန်မာ'],
  ['marks that are code points of their own', 'Pin\u0303on', 'Việt', 'Σάμος'],
  ['marks of direction in Arabic and Hebrew', 'جبل\u200F (4)', 'הר\u200E 7'],
  ['breaks of words in Thai and Khmer', 'เขา\u200Bใหญ่', 'ភ្នំ\u200Bពេញ'],
  ['emoji with variation selectors, joiners and tags', '⚠️', '👩‍🚒', '🏴󠁧󠁢󠁳󠁣󠁴󠁿', '1️⃣', '🇺🇸'],
  ['ideographic and full-width characters', '見張り台　4', '＝'],
  ['a soft hyphen, a filler or a Braille blank between letters', 'a\u00ADb', '가\u3164', '⠇⠀⠇'],
  ['a character of private use, and one that is not assigned yet', '\uE000', '\u{1FAFF}'],
])('accepts %s', (_what, ...texts) => {
  for (const text of texts) {
    expect([text, visibleFault(text), idProblem(text)]).toEqual([text, undefined, undefined]);
    expect(visibleText(60).safeParse(text).success).toBe(true);
  }
});

it.each([
  ['spaces', ' ', '\u00A0', '\u3000', '\u2003 \u205F'],
  ['fillers of Hangul', '\u3164', '\u115F', '\u1160', '\uFFA0'],
  ['a Braille cell without dots', '\u2800'],
  ['joiners, selectors and marks of direction', '\u200D', '\u034F', '\uFE0F', '\u200F', '\u2060', '\uFEFF', '\u180B'],
  ['tags', '\u{E0020}', '\u{E0067}\u{E007F}'],
  ['blanks of music and hieroglyphs', '\u{1D159}', '\u{13441}'],
  ['marks without a letter', '\u0301', '\u20E3', '\u093F', '\u0E31', ' \u0308', '\u{1D165}', '\u{11046}'],
  ['a placeholder for an object', '\uFFFC'],
])('refuses a text of %s alone', (_what, ...texts) => {
  for (const text of texts) {
    expect([text, visibleFault(text), idProblem(text)]).toEqual([text, ...Array(2).fill('has no visible character')]);
    for (const schema of [visibleText(60), spokenText(60), identifier])
      expect(schema.safeParse(text).success).toBe(false);
  }
});

it.each(['a\u2028b', 'a\u2029b', 'a\u0085b', 'a\u202Eb', 'a\u2066b\u2069', 'a\u007F'])(
  'refuses %j: it is no single line',
  (text) => {
    expect(visibleFault(text)).toBe('has a control character');
  },
);

const patternOf = (schema: ZodType, flags: string): RegExp => new RegExp(String(schema.meta()?.['pattern']), flags);

describe('the forms in the description', () => {
  it.each([
    ['identifier', identifier],
    ['visibleText', visibleText(60)],
    ['spokenText', spokenText(60)],
  ])('%s match no text of the basic plane that is refused, with the flag u and without', (_name, schema) => {
    const [plain, unicode] = [patternOf(schema, ''), patternOf(schema, 'u')];
    const wrong: string[] = [];
    for (let code = 0; code <= 0xff_ff; code += 1) {
      const letter = String.fromCharCode(code);
      // A lone surrogate cannot be sent in UTF-8.
      if (/\p{Cs}/u.test(letter)) continue;
      for (const text of [letter, `a${letter}b`]) {
        const isMatch = plain.test(text);
        if (isMatch !== unicode.test(text) || (isMatch && !schema.safeParse(text).success)) wrong.push(text);
      }
    }
    expect(wrong).toEqual([]);
  });
});
