/**
 * Options of an SDK's client: each call is one request to the client's own address. The callers repeat it within their deadlines. After a redirect,
 * a POST may arrive elsewhere as a GET, and its answer would pass for success.
 */
export const ONE_REQUEST = { retryOptions: { maxRetries: 0 }, redirectOptions: { maxRetries: 0 } } as const;
