/**
 * Characters that no text may have: they end a line, or change the order of the characters after them. Marks of direction, joiners and variation selectors
 * are parts of words and emoji, and are accepted.
 */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/u;

/** Lone surrogates and noncharacters: Unicode gives them no character, and keys in storage use some of them as escapes. */
const NO_CHARACTER = /[\p{Cs}\p{Noncharacter_Code_Point}]/u;

/**
 * Characters that show nothing by themselves: they are drawn as nothing, change another character, or stand for an object. Some letters and symbols
 * have an empty picture, such as a Braille cell without dots.
 */
const INVISIBLE = String.raw`\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\p{M}\u2800\uFFFC\u{13441}\u{13442}\u{1D159}`;
const VISIBLE = new RegExp(`[^${INVISIBLE}]`, 'u');

/**
 * Why a text is not visible, as the end of a sentence; undefined if it is visible. One rule for ids, names and all texts.
 *
 * @example visibleFault('Ust‧Kut') // undefined
 * @example visibleFault('\u0301') // 'has no visible character': the accent has no letter
 */
export const visibleFault = (text: string): string | undefined => {
  if (CONTROL.test(text)) return 'has a control character';
  if (NO_CHARACTER.test(text)) return 'has a code point that is not a character';
  return VISIBLE.test(text) ? undefined : 'has no visible character';
};
