import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request as send, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

import { LoopbackServer } from './loopback-server.ts';

interface PassingAnswer {
  readonly status: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: Buffer;
}

/**
 * The fate of a request: the answer, or, if it throws, a broken connection. It may wait before or after.
 *
 * @param carryOut has the request carried out, by another server than the usual one if its URL is given; throws if that does not answer
 */
export type Rule = (
  request: { readonly path: string; readonly body: Buffer },
  carryOut: (url?: string) => Promise<PassingAnswer>,
) => Promise<PassingAnswer>;

const ORIGIN = /https?:\/\/[^/;]+/;

/**
 * A proxy between processes that talk over HTTP. It counts requests, and a rule decides what happens to each.
 *
 * @example between.rule = async ({ path }, carryOut) => (path.endsWith('$batch') ? { status: 503 } : carryOut());
 */
export class Between {
  /** May be changed at any time. By default every request is carried out. */
  rule: Rule = async (_, carryOut) => carryOut();
  /** The URL of the server for each request that was carried out. */
  readonly carriedOut: string[] = [];
  readonly #named: string;
  // A server may close a connection that was idle for 5 s just as the next request is sent.
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: 1_000 });
  #server: LoopbackServer | undefined;

  private constructor(named: string) {
    this.#named = named;
  }

  /**
   * Starts on a free port.
   *
   * @param named the server behind it: a URL, or a connection string of Table Storage with a URL; empty if the rule names the servers
   */
  static async start(named = ''): Promise<Between> {
    const between = new Between(named);
    between.#server = await LoopbackServer.start((incoming, answer) => {
      between.#handle(incoming, answer).catch(() => incoming.socket.resetAndDestroy());
    });
    return between;
  }

  /** Without a slash at its end. */
  get url(): string {
    return `http://127.0.0.1:${this.#server?.port}`;
  }

  /** Names this proxy instead of the server behind it. A signature covers the path and not the host: it is valid for both. */
  get connectionString(): string {
    return this.#named.replace(ORIGIN, this.url);
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#agent.destroy();
  }

  async #handle(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    const given = await this.rule(
      { path: incoming.url ?? '', body },
      async (url = ORIGIN.exec(this.#named)?.[0] ?? '') => {
        this.carriedOut.push(url);
        return this.#forward(incoming, body, url);
      },
    );
    answer.writeHead(given.status, given.headers).end(given.body);
  }

  async #forward({ method, url: path, headers }: IncomingMessage, body: Buffer, to: string): Promise<PassingAnswer> {
    const { hostname, port } = new URL(to);
    const outgoing = send({ hostname, port, path, agent: this.#agent, method, headers });
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('error', reject).once('response', resolve).end(body);
    });
    const { 'transfer-encoding': _, connection: __, 'keep-alive': ___, ...kept } = response.headers;
    return { status: response.statusCode ?? 502, headers: kept, body: await buffer(response) };
  }
}
