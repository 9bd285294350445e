import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

/** A client's request and its response. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
}

/** A text that may be empty, in the worker's own shape. */
interface NullableText {
  readonly value: string;
}

/** An HTTP request as the worker gets it from the real host. */
export interface HttpRequestMessage {
  readonly url: string;
  readonly method: string;
  readonly nullableHeaders: Readonly<Record<string, NullableText>>;
  readonly nullableQuery: Readonly<Record<string, NullableText>>;
  readonly nullableParams: Readonly<Record<string, NullableText>>;
  readonly body?: { readonly bytes: Uint8Array };
}

/** An answer in the form in which the worker passes it to the real host. */
export interface HttpAnswerMessage {
  readonly statusCode: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly bytes: Uint8Array };
}

/** The request's URL with host; undefined if the request line or the Host header is malformed. */
export const requestUrl = ({ url: target = '', headers }: IncomingMessage): URL | undefined =>
  URL.parse(target.startsWith('/') ? `http://${headers.host ?? 'localhost'}${target}` : target) ?? undefined;

/**
 * The message about a request: repeated headers and query parameters joined by commas, names of headers in lower case. As in Azure, the app sees
 * no body without an announced size.
 *
 * @throws if the client leaves before the whole body has arrived: the request is `errored` then
 */
export const readMessage = async (
  { request, url }: Exchange,
  params: Readonly<Record<string, string>>,
): Promise<HttpRequestMessage> => {
  const { method = 'GET', headers, headersDistinct } = request;
  const parameters = Map.groupBy(url.searchParams, ([name]) => name.toLowerCase());
  return {
    url: url.href,
    method,
    nullableHeaders: texts(Object.entries(headersDistinct).map(([name, values = []]) => [name, values])),
    nullableQuery: texts([...parameters.values()].map((same) => [same[0]?.[0] ?? '', same.map(([, value]) => value)])),
    nullableParams: texts(Object.entries(params).map(([name, value]) => [name, [value]])),
    ...(Number(headers['content-length'] ?? 0) > 0 && { body: { bytes: await buffer(request) } }),
  };
};

const texts = (lists: readonly (readonly [string, readonly string[]])[]): Record<string, NullableText> =>
  Object.fromEntries(lists.map(([name, values]) => [name, { value: values.join(',') }]));

/** Sends an answer of the host itself: only a status. */
export const sendEmpty = (response: ServerResponse, status: number): void => {
  response.statusCode = status;
  response.end();
};

/** Sends the answer of the app. Its headers replace headers of host.json. */
export const sendAnswer = (response: ServerResponse, { statusCode, headers, body }: HttpAnswerMessage): void => {
  response.statusCode = Number(statusCode);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(body.bytes);
};
