/** The line's id of a call, well-formed: safe in a URL's path and in a table's key. */
export type CallId = string & { readonly __brand: 'CallId' };

// Ids seen so far are GUIDs. Other opaque ids are accepted too, but nothing that could change the URL of a request about the
// call: no empty id, slash, percent sign or dots alone.
const CALL_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._~=-]{0,199}$/;

const isCallId = (text: string): text is CallId => CALL_ID_PATTERN.test(text);

/** Text → call id; undefined where it is not well-formed, and then no request may be made about it. */
export const parseCallId = (text: unknown): CallId | undefined =>
  typeof text === 'string' && isCallId(text) ? text : undefined;
