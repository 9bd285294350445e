/**
 * The format of the analytics rows that this version writes and knows. Raise it with every change of what a row holds: a version that does
 * not know a row's format refuses the row.
 */
export const FORMAT = 4;
