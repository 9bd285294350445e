import type { IncomingMessage, ServerResponse } from 'node:http';

/** The request's URL with host; undefined where the request line or the Host header is not one. */
export const requestUrl = (request: IncomingMessage): URL | undefined => {
  const target = request.url ?? '';
  const text = target.startsWith('/') ? `http://${request.headers.host ?? 'localhost'}${target}` : target;
  return URL.canParse(text) ? new URL(text) : undefined;
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

/** The size that the request announces for its body, in bytes; 0 where it announces none. */
export const announcedBytes = (request: IncomingMessage): number => Number(request.headers['content-length'] ?? 0);

/** The most that the body of a request to an admin path may have, in bytes: an input for a function. */
const MAX_ADMIN_BYTES = 1024 * 1024;

/** The whole body of a request to an admin path, as text; undefined where it is too large. */
export const readText = async (request: IncomingMessage): Promise<string | undefined> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes <= MAX_ADMIN_BYTES) chunks.push(chunk);
  }
  return bytes > MAX_ADMIN_BYTES ? undefined : Buffer.concat(chunks).toString('utf8');
};

/** Sends an answer of the host itself, a status and nothing else; of an answer that has begun the client sees that it breaks off. */
export const sendEmpty = (response: ServerResponse, status: number): void => {
  if (response.writableEnded) return;
  if (response.headersSent) return void response.destroy();
  response.statusCode = status;
  response.end();
};
