import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request as send, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

import { LoopbackServer } from './loopback-server.ts';

interface PassingAnswer {
  readonly status: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: Buffer;
}

/**
 * Has a request carried out, by another server than the usual one if its URL is given.
 *
 * @throws {Error} if the server is unreachable, or ends before it has answered
 */
type CarryOut = (url?: string) => Promise<PassingAnswer>;

/** What happens to a request: the answer, or, if it throws, a broken connection. It may wait before or after. */
export type Rule = (
  request: { readonly method: string; readonly path: string },
  carryOut: CarryOut,
) => Promise<PassingAnswer> | PassingAnswer;

/**
 * Kills a process at one of its writes to tables. Its parallel requests may still be carried out, and no later one.
 *
 * @param number of the write, from 1
 * @param death whether that write is not carried out, or only its answer is lost
 */
export const killedAtWrite = (
  number: number,
  death: 'before the request' | 'before its answer',
  kill: () => void,
): Rule => {
  let writes = 0;
  return async ({ method, path }, carryOut) => {
    if (method !== 'GET' && !path.includes('/Tables')) writes += 1;
    if (writes < number) return carryOut();
    if (writes === number) {
      writes += 1;
      if (death === 'before its answer') await carryOut();
      kill();
    }
    throw new Error('the process is dead');
  };
};

const BAD_GATEWAY: PassingAnswer = { status: 502 };

/**
 * As Azure's front end: each request goes to exactly one of the living servers. It is answered 502 if none lives, or if
 * that server ends before it has answered.
 *
 * @param random `() => 0` always chooses the first server
 */
export const splitOver =
  (backends: readonly { readonly url: string; readonly isAlive: boolean }[], random: () => number): Rule =>
  (_, carryOut) => {
    const living = backends.filter(({ isAlive }) => isAlive);
    const chosen = living[Math.floor(random() * living.length)];
    return chosen === undefined ? BAD_GATEWAY : carryOut(chosen.url).catch(() => BAD_GATEWAY);
  };

/**
 * A proxy between processes that talk over HTTP. It counts requests, and a rule decides what happens to each.
 *
 * @example between.rule = async ({ path }, carryOut) => (path.endsWith('$batch') ? { status: 503 } : carryOut());
 */
export class Between {
  /** May be changed at any time. By default every request is carried out. */
  rule: Rule = (_, carryOut) => carryOut();
  /** The URL of the server for each request that was carried out. */
  readonly carriedOut: string[] = [];
  readonly #named: string;
  // A server may close a connection that was idle for 5 s just as the next request is sent.
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: 1_000 });
  readonly #pending = new Set<Promise<unknown>>();
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
      const handled = between.#handle(incoming, answer).catch(() => void incoming.socket.resetAndDestroy());
      between.#pending.add(handled);
      void handled.finally(() => between.#pending.delete(handled));
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

  /** Fulfils when no request is pending: also the requests of a process that died. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#agent.destroy();
  }

  async #handle(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { method = '', url: path = '' } = incoming;
    const body = await buffer(incoming);
    const given = await this.rule({ method, path }, async (url) => {
      const to = url ?? ORIGIN.exec(this.#named)?.[0] ?? '';
      this.carriedOut.push(to);
      return this.#forward(incoming, body, to);
    });
    answer.writeHead(given.status, given.headers).end(given.body);
  }

  /** With all headers, including `Host`: the signature of a request covers it. */
  #forward({ method, url: path = '/', headers }: IncomingMessage, body: Buffer, to: string): Promise<PassingAnswer> {
    const { hostname, port } = new URL(to);
    const outgoing = send({ hostname, port, path, agent: this.#agent, method, headers });
    outgoing.end(body);
    return new Promise((resolve, reject) => {
      outgoing.once('error', reject);
      outgoing.once('response', (response: IncomingMessage) => {
        buffer(response).then((answered) => {
          const { 'transfer-encoding': _, connection: __, 'keep-alive': ___, ...kept } = response.headers;
          resolve({ status: response.statusCode ?? 502, headers: kept, body: answered });
        }, reject);
      });
    });
  }
}

const ORIGIN = /https?:\/\/[^/;]+/;
