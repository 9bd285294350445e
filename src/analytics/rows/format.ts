/** The format of the analytics rows that this version writes and knows. Raise it whenever stored rows change. */
export const FORMAT = 2;
