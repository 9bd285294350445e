/** ACS's id of a call (`callConnectionId`), well-formed: safe in a URL's path and in a table's key. */
export type CallId = string & { readonly __brand: 'CallId' };

// Recorded ids are GUIDs. The pattern allows for other opaque forms, but never for what could lead a request elsewhere: an empty
// id, slashes, dots alone, percent signs.
const CALL_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._~=-]{0,199}$/;

const isCallId = (text: string): text is CallId => CALL_ID_PATTERN.test(text);

/** Text → call id; undefined where it is not well-formed, and no request may ever be made about it. */
export const parseCallId = (text: unknown): CallId | undefined =>
  typeof text === 'string' && isCallId(text) ? text : undefined;
