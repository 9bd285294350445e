/** What the callee says with a key; every other key says nothing. */
export type Answer = 'confirms' | 'repeat' | 'cannot go';

const ANSWERS: ReadonlyMap<string, Answer> = new Map([
  ['1', 'confirms'],
  ['2', 'repeat'],
  ['3', 'cannot go'],
]);

/** What a key says; undefined if it says nothing. */
export const answerOfKey = (key: string | undefined): Answer | undefined =>
  key === undefined ? undefined : ANSWERS.get(key);

/** How long a call waits for keys after the last word, in milliseconds: a thumb needs 5 s, and callees hang up a silent phone after 10. */
export const KEYS_AFTER_MS = 8_000;
