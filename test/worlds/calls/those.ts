/** Those of the things said that are so: what is broken of a promise, a line each. */
export const those = (said: readonly (string | false)[]): readonly string[] => said.filter((what) => what !== false);

/** Nobody outside is told this much of a phone number. */
export const WHOLE_NUMBER = /\+\d{7}/;
