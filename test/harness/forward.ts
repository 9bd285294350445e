import { type Agent, type IncomingMessage, request } from 'node:http';

/** A server's answer, whole. */
export interface ForwardedAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** Where a request goes. */
export interface ForwardTarget {
  readonly hostname: string;
  readonly port: string;
  /** With its query. */
  readonly path: string;
  readonly agent: Agent;
}

/** The whole body of a request. */
export const bodyOf = async (incoming: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) if (chunk instanceof Buffer) chunks.push(chunk);
  return Buffer.concat(chunks);
};

/**
 * Sends a request on with all its headers, the `Host` included: what signs a request signs that as well.
 *
 * @throws {Error} where the server is not there, or goes before it has answered
 */
export const forward = (
  { method, headers }: IncomingMessage,
  body: Buffer,
  target: ForwardTarget,
): Promise<ForwardedAnswer> => {
  const outgoing = request({ ...target, method, headers });
  outgoing.end(body);
  return new Promise((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('response', (response: IncomingMessage) => {
      bodyOf(response).then((answered) => {
        const { 'transfer-encoding': _, connection: __, 'keep-alive': ___, ...kept } = response.headers;
        resolve({ status: response.statusCode ?? 502, headers: kept, body: answered });
      }, reject);
    });
  });
};
