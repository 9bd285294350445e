import { visibleFault } from '../../visible-text.ts';

/** The maximum number of characters (UTF-16 units) of an event's or a camera's id. */
export const MAX_ID_LENGTH = 128;

/** The fault of an id, in words; undefined if it is valid: 1 to 128 characters of visible text. Keys in storage depend on the rule. */
export const idProblem = (id: string): string | undefined => {
  if (id.length === 0) return 'is empty';
  if (id.length > MAX_ID_LENGTH) return `is longer than ${MAX_ID_LENGTH} characters`;
  return visibleFault(id);
};

/** The maximum count of a category in a facet. */
export const MAX_COUNT = 10_000;

export const CATEGORY_FORM = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
