import { Agent, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';

/** One request of a client, on its way to the app and back. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
}

/** The request's URL with host; undefined where the request line or the Host header is not one. */
export const requestUrl = ({ url: target = '', headers }: IncomingMessage): URL | undefined => {
  const text = target.startsWith('/') ? `http://${headers.host ?? 'localhost'}${target}` : target;
  return URL.canParse(text) ? new URL(text) : undefined;
};

/** The size that the request announces for its body, in bytes; 0 where it announces none. */
export const announcedBytes = (request: IncomingMessage): number => Number(request.headers['content-length'] ?? 0);

/** Sends an answer of the host itself, a status and nothing else; of an answer that has begun the client sees that it breaks off. */
export const sendEmpty = (response: ServerResponse, status: number): void => {
  if (response.writableEnded) return;
  if (response.headersSent) return void response.destroy();
  response.statusCode = status;
  response.end();
};

/** What is between two neighbours is not passed on (RFC 9110, 7.6.1); the client's host goes into a header of its own. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** By this header the library's server knows which invocation a request belongs to; it stays between the two. */
const INVOCATION_ID = 'x-ms-invocation-id';

/** How long a client may go on sending after its answer, in milliseconds. The real host's web server gives it 5 s, on better machines. */
const LINGER_MILLISECONDS = 30_000;

/** How much of that is read without a pause. */
const DROP_AT_ONCE_BYTES = 128 * 1024;

/**
 * How long a connection to the app may be idle. The library's server closes it after 5 s, and a request that is sent on it at that moment is lost.
 * This side closes it long before: both run on one event loop, so however late that is, the shorter time ends first.
 */
export const IDLE_MILLISECONDS = 1_000;

const agent = new Agent({ keepAlive: true, timeout: IDLE_MILLISECONDS });

/**
 * Passes a request on to the HTTP server that `@azure/functions` runs in the app's process, and its answer to the client, both as streams, as
 * the real host does for an app with `enableHttpStream`: neither body is ever held here as a whole.
 *
 * @param server the address that the library has named
 */
export const forward = (server: string, { request, response, url }: Exchange, invocationId: string): void => {
  const outgoing = httpRequest(server, {
    agent,
    path: `${url.pathname}${url.search}`,
    method: request.method,
    headers: {
      ...passedOn(request),
      ...(request.headers['transfer-encoding'] === undefined ? {} : { 'transfer-encoding': 'chunked' }),
      'x-forwarded-host': url.host,
      'x-forwarded-proto': 'http',
      [INVOCATION_ID]: invocationId,
    },
  });
  outgoing.once('error', () => sendEmpty(response, 500));
  outgoing.once('response', (answer) => {
    if (response.headersSent) return;
    for (const [name, values] of Object.entries(passedOn(answer))) {
      if (name !== INVOCATION_ID) response.setHeader(name, values);
    }
    response.statusCode = answer.statusCode ?? 500;
    const { socket } = answer;
    answer.once('error', () => response.destroy()).pipe(response);
    answer.once('end', () => {
      response.off('close', giveUp);
      // The app may have answered before the end of a body whose length nobody knew: no other request follows on that connection.
      if (request.headers['transfer-encoding'] !== undefined) socket.destroy();
    });
  });
  // Of a client that leaves in the middle of its body the app gets half of it and an error.
  request.once('error', () => outgoing.destroy()).pipe(outgoing);
  // The app may answer before any of the body has come.
  if (hasBody(request)) outgoing.flushHeaders();
  const giveUp = (): void => void outgoing.destroy();
  response.once('close', giveUp);
  response.once('finish', () => {
    if (request.complete) return;
    outgoing.destroy();
    request.unpipe(outgoing);
    drop(request);
  });
};

/**
 * Reads the rest of a body whose answer came before its end, for a while, and drops it: a connection that is closed with unread bytes takes the
 * answer away from the client.
 */
const drop = (request: IncomingMessage): void => {
  const linger = setTimeout(() => request.destroy(), LINGER_MILLISECONDS);
  request.once('close', () => clearTimeout(linger));
  let bytes = 0;
  request
    .on('data', (chunk: Buffer) => {
      // Not as fast as it comes: the memory of what is dropped would be freed later than new memory is taken.
      bytes += chunk.length;
      if (bytes < DROP_AT_ONCE_BYTES) return;
      bytes = 0;
      request.pause();
      setTimeout(() => request.resume(), 1);
    })
    .resume();
};

const passedOn = ({ headersDistinct }: IncomingMessage): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(headersDistinct).flatMap(([name, values]) =>
      values === undefined || HOP_BY_HOP.has(name) ? [] : [[name, values]],
    ),
  );

const hasBody = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] !== undefined || announcedBytes(request) > 0;
