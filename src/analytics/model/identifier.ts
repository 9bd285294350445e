/** Most characters (UTF-16 units) of an event's or a camera's id. */
export const MAX_ID_LENGTH = 128;

/**
 * The fault of an id, in words; undefined if it is valid. Ids have 1 to 128 characters. Keys in Table Storage cannot
 * have control characters. Lone surrogates and Unicode noncharacters are not characters; keys use some of them as escapes.
 */
export const idProblem = (id: string): string | undefined => {
  if (id.length === 0) return 'is empty';
  if (id.length > MAX_ID_LENGTH) return `is longer than ${MAX_ID_LENGTH} characters`;
  if (/\p{Cc}/u.test(id)) return 'has a control character';
  if (/\p{Noncharacter_Code_Point}|\p{Cs}/u.test(id)) return 'has a code point that is not a character';
  return undefined;
};

/** How many of a category one facet says at most. */
export const MAX_COUNT = 10_000;

export const CATEGORY_FORM = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
