/**
 * The format of the analytics rows that this version writes and knows. Raise it only when the version before would misread what this one
 * writes: properties that it does not know, and members of its JSON, it keeps.
 */
export const FORMAT = 2;
