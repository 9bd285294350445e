const ASCII = /^\p{ASCII}*$/u;

/**
 * A text in the form in which filters compare it: capital letters are small letters, `ß` is `ss`, `İ` is `i`. Each code point is folded alone, because a
 * complete text has rules by position: the last `Σ` of a word would become `ς`.
 *
 * @example folded('ΔΑΣ') === folded('δας') // true
 */
export const folded = (text: string): string => {
  if (ASCII.test(text)) return text.toLowerCase();
  // NFD: an accented letter in one code point is the same as a letter and its accent.
  const letters = Array.from(text.normalize('NFD'), foldedLetter).join('');
  return letters.replaceAll('i\u0307', 'i');
};

/** First small, because `ẞ` has no capitals; then capital, which `ς` and `σ` share. */
const foldedLetter = (letter: string): string => letter.toLowerCase().toUpperCase().toLowerCase();

/**
 * The filter of names in the service and on the page.
 *
 * @param wanted finds every text if it is empty
 * @returns whether a text contains `wanted`, in capital or small letters
 * @example textFilter('iz')('İzmir') // true
 */
export const textFilter = (wanted: string): ((text: string) => boolean) => {
  const part = folded(wanted);
  return (text) => folded(text).includes(part);
};
