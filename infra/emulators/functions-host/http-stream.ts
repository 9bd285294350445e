import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest } from 'node:http';

import type { Exchange } from './http-message.ts';

/** A request that the app receives as a stream. */
export interface StreamedRequest {
  /** Names the invocation to the server of the worker. */
  readonly invocationId: string;
  /** The facts of the request that its invocation has: names of headers in lower case, and the parameters of the route. */
  readonly triggerMetadata: Readonly<Record<string, { readonly json: string } | { readonly string: string }>>;
}

export const streamedRequest = (
  { request }: Exchange,
  params: Readonly<Record<string, string>>,
  invocationId: string,
): StreamedRequest => ({
  invocationId,
  triggerMetadata: {
    Headers: { json: JSON.stringify(request.headers) },
    ...Object.fromEntries(Object.entries(params).map(([name, value]) => [name, { string: value }])),
  },
});

/**
 * Passes a request with its body to the server that the library opens in the worker for HTTP streams, and the answer back. As in the real host, a body in
 * chunks arrives.
 *
 * @param server its address
 * @throws if the app closes the connection without an answer, or the client leaves
 */
export const passStream = async (
  { request, response, url }: Exchange,
  { invocationId }: StreamedRequest,
  server: string,
): Promise<void> => {
  const forwarded = {
    'x-ms-invocation-id': invocationId,
    'x-forwarded-host': url.host,
    'x-forwarded-proto': url.protocol.slice(0, -1),
  };
  const outgoing = httpRequest(new URL(url.pathname + url.search, server), {
    method: request.method ?? 'GET',
    headers: { ...request.headers, ...forwarded },
  });
  request.once('error', (error) => outgoing.destroy(error));
  request.pipe(outgoing);
  const [answer]: IncomingMessage[] = await once(outgoing, 'response');
  if (answer === undefined) throw new Error('The app gave no answer.');
  response.statusCode = answer.statusCode ?? 500;
  for (const [name, value] of Object.entries(answer.headers)) {
    if (value !== undefined && !OF_CONNECTION.has(name)) response.setHeader(name, value);
  }
  answer.pipe(response);
  await once(response, 'close');
  // The app may have answered before it read the whole body.
  outgoing.destroy();
  request.resume();
};

const OF_CONNECTION: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding']);
