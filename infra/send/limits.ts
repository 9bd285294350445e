/** Most events in one request to `POST /api/events`. */
export const MAX_REQUEST_EVENTS = 5_000;

/** Most bytes in one request to `POST /api/events`. */
export const MAX_REQUEST_BYTES = 4 * 1_048_576;

/** Most bytes of one event: a request that holds it alone is an array, so it has two brackets as well. */
export const MAX_EVENT_BYTES = MAX_REQUEST_BYTES - 2;
