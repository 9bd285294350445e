import type { IncomingMessage, ServerResponse } from 'node:http';

/** What a request is answered with. */
export interface Answer {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers a request. */
export const send = (response: ServerResponse, { status, body, headers }: Answer): void => {
  response.writeHead(status, { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
};

/** The whole body of a request as text; undefined if it is larger than that. */
export const readBody = async (request: IncomingMessage, mostBytes: number): Promise<string | undefined> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes > mostBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};
