import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

/** One request of a client, on its way to the app and back. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
}

/** A text that may be empty, in the worker's own shape. */
interface NullableText {
  readonly value: string;
}

/** An HTTP request as the worker gets it from the real host, whole. */
export interface HttpRequestMessage {
  readonly url: string;
  readonly method: string;
  readonly nullableHeaders: Readonly<Record<string, NullableText>>;
  readonly nullableQuery: Readonly<Record<string, NullableText>>;
  readonly nullableParams: Readonly<Record<string, NullableText>>;
  readonly body?: { readonly bytes: Uint8Array };
}

/** An answer as the worker gives it to the real host, whole. */
export interface HttpAnswerMessage {
  readonly statusCode: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly bytes: Uint8Array };
}

/** The request's URL with host; undefined where the request line or the Host header is not one. */
export const requestUrl = ({ url: target = '', headers }: IncomingMessage): URL | undefined => {
  const text = target.startsWith('/') ? `http://${headers.host ?? 'localhost'}${target}` : target;
  return URL.canParse(text) ? new URL(text) : undefined;
};

/** Limits of the real host's web server: the bytes of the request line and of the headers, and how many headers. */
const [MAX_LINE_BYTES, MAX_HEADERS_BYTES, MAX_HEADERS] = [8_192, 32_768, 100];

/** How the Node server of this host is to read requests: as much as the real one's takes, control characters in headers included. */
export const SERVER_OPTIONS = { maxHeaderSize: MAX_LINE_BYTES + MAX_HEADERS_BYTES, insecureHTTPParser: true } as const;

/** The status of a request that the real host's web server refuses; undefined for any other. */
export const refusalOf = ({ method = '', url = '', rawHeaders }: IncomingMessage): 400 | 414 | 431 | undefined => {
  if (`${method} ${url} HTTP/1.1\r\n`.length > MAX_LINE_BYTES) return 414;
  // Of each header one colon, one space and the end of the line.
  const bytes = rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
  if (bytes > MAX_HEADERS_BYTES || rawHeaders.length > 2 * MAX_HEADERS) return 431;
  return rawHeaders.some((text) => text.includes('\0') || utf8Of(text) === undefined) ? 400 : undefined;
};

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A header's text as the real host reads it; undefined where it is not UTF-8. */
const utf8Of = (latin1: string): string | undefined => {
  if (!/[\x80-\xff]/.test(latin1)) return latin1;
  try {
    return UTF8.decode(Buffer.from(latin1, 'latin1'));
  } catch {
    return undefined;
  }
};

/** The size that the request announces for its body, in bytes; 0 where it announces none. */
export const announcedBytes = ({ headers }: IncomingMessage): number =>
  headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : 0;

/**
 * What the worker is told of a request: repeated headers and query parameters joined by commas, names of headers in lower case. A body without an
 * announced size is not read: the app sees none.
 *
 * @throws where the client leaves before the body is in: the request is `errored` then
 */
export const readMessage = async (
  { request, url }: Exchange,
  params: Readonly<Record<string, string>>,
): Promise<HttpRequestMessage> => {
  const parameters = Map.groupBy(url.searchParams, ([name]) => name.toLowerCase());
  return {
    url: url.href,
    method: request.method ?? 'GET',
    nullableHeaders: texts(
      Object.entries(request.headersDistinct).map(([name, values = []]) => [
        name,
        values.map((text) => utf8Of(text) ?? ''),
      ]),
    ),
    nullableQuery: texts([...parameters.values()].map((same) => [same[0]?.[0] ?? '', same.map(([, value]) => value)])),
    nullableParams: texts(Object.entries(params).map(([name, value]) => [name, [value]])),
    ...(announcedBytes(request) > 0 && { body: { bytes: await buffer(request) } }),
  };
};

const texts = (lists: readonly (readonly [string, readonly string[]])[]): Record<string, NullableText> =>
  Object.fromEntries(lists.map(([name, values]) => [name, { value: values.join(',') }]));

/** Sends an answer of the host itself, a status and nothing else. */
export const sendEmpty = (response: ServerResponse, status: number): void => {
  response.statusCode = status;
  response.end();
};

/** Sends what the app has answered; headers of host.json are set already and stay where the app has none of that name. */
export const sendAnswer = (response: ServerResponse, { statusCode, headers, body }: HttpAnswerMessage): void => {
  response.statusCode = Number(statusCode);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(body.bytes);
};
