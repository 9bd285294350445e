import type { IncomingMessage, ServerResponse } from 'node:http';

import type { HttpRequestData, HttpResponseData, NullableStrings } from './functions-core.ts';
import type { RouteMatch } from './route-table.ts';

/** The real host's limit of a request's body, in bytes. */
const MAX_BODY_BYTES = 100 * 1024 * 1024;

/** The host decides about these itself: how an answer is framed is between it and the client. */
const FRAMING_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);

/** The request's URL with host; undefined where the request line or the Host header is not one. */
export const requestUrl = (request: IncomingMessage): URL | undefined => {
  const target = request.url ?? '';
  const text = target.startsWith('/') ? `http://${request.headers.host ?? 'localhost'}${target}` : target;
  return URL.canParse(text) ? new URL(text) : undefined;
};

/**
 * The request's body as the host hands it on: read only where a Content-Length announces one. So the body of a
 * chunked request is empty, as it is in Azure for an app that does not stream.
 */
export const readBody = async (request: IncomingMessage): Promise<Uint8Array | 'too large' | undefined> => {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > MAX_BODY_BYTES) return 'too large';
  if (announced === 0) {
    request.resume();
    return undefined;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  return Buffer.concat(chunks);
};

/** A request as the worker gets it: header names in lower case, repeated headers and parameters joined by commas. */
export const toRequestData = (
  request: IncomingMessage,
  url: URL,
  { params }: RouteMatch,
  body: Uint8Array | undefined,
): HttpRequestData => ({
  url: url.href,
  method: request.method ?? 'GET',
  nullableHeaders: nullable(
    Object.entries(request.headersDistinct).map(([name, values = []]) => [name, values.join(',')]),
  ),
  nullableQuery: nullable(joinedQuery(url)),
  nullableParams: nullable(Object.entries(params)),
  ...(body === undefined ? {} : { body: { bytes: body } }),
});

const nullable = (entries: Iterable<readonly [string, string]>): NullableStrings =>
  Object.fromEntries([...entries].map(([name, value]) => [name, { value }]));

// Parameters whose names differ in case only are the same to the real host; the first spelling is kept.
const joinedQuery = (url: URL): Iterable<readonly [string, string]> => {
  const joined = new Map<string, readonly [string, string]>();
  for (const [name, value] of url.searchParams) {
    const [firstName, before] = joined.get(name.toLowerCase()) ?? [name, undefined];
    joined.set(name.toLowerCase(), [firstName, before === undefined ? value : `${before},${value}`]);
  }
  return joined.values();
};

/**
 * The key that a request carries: the header's, else the first `code` of its query.
 */
export const requestKey = (request: IncomingMessage, url: URL): string | undefined => {
  const header = request.headers['x-functions-key'];
  if (typeof header === 'string') return header;
  for (const [name, value] of url.searchParams) if (name.toLowerCase() === 'code') return value;
  return undefined;
};

/** An answer to send. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
}

/** An answer of the host itself: a status and nothing else. */
export const emptyAnswer = (status: number): Answer => ({ status, headers: {}, body: undefined });

/**
 * What the worker handed back as an answer; 204 where the handler returned nothing.
 *
 * @throws {Error} for cookies, which this host does not serve
 */
export const toAnswer = (http: HttpResponseData | undefined): Answer => {
  if (http === undefined) return emptyAnswer(204);
  if (http.cookies !== undefined && http.cookies.length > 0) throw new Error('This host serves no cookies.');
  return {
    status: Number(http.statusCode ?? 200),
    headers: http.headers ?? {},
    body: http.body?.bytes,
  };
};

/** Sends an answer; `customHeaders` are added where it does not carry them itself. */
export const send = (
  response: ServerResponse,
  answer: Answer,
  customHeaders: Readonly<Record<string, string>>,
): void => {
  for (const [name, value] of Object.entries(customHeaders)) response.setHeader(name, value);
  for (const [name, value] of Object.entries(answer.headers)) {
    if (!FRAMING_HEADERS.has(name.toLowerCase())) response.setHeader(name, value);
  }
  response.statusCode = answer.status;
  response.end(answer.body);
};
