import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request as send, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

import type { Random } from '../../infra/cli/demo/random.ts';
import { LoopbackServer } from './loopback-server.ts';

/** A request as it arrived. */
export interface PassingRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly body: string;
}

/** An answer, whole. */
export interface PassingAnswer {
  readonly status: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: Buffer | string;
}

/**
 * Has a request carried out, by another server than the usual one if its URL is given.
 *
 * @throws {Error} if the server is not there, or goes before it has answered
 */
export type CarryOut = (url?: string) => Promise<PassingAnswer>;

/** What becomes of a request: the answer, or, where it throws, a connection that breaks. It may wait for something before or after. */
export type Rule = (request: PassingRequest, carryOut: CarryOut) => Promise<PassingAnswer> | PassingAnswer;

/** Nothing goes wrong. */
export const CARRIED_OUT: Rule = (_, carryOut) => carryOut();

/**
 * A process is killed at one of its writes to tables; what it asks for at the same time may still be carried out, and nothing after that.
 *
 * @param number which write it is, whatever it writes; 1 is the first one
 * @param death whether that write was not carried out, or only its answer does not arrive
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
    throw new Error('nobody is there any more');
  };
};

/** A server that requests are split over. */
export interface Backend {
  /** Without a slash at its end. */
  readonly url: string;
  readonly isAlive: boolean;
}

const BAD_GATEWAY: PassingAnswer = { status: 502 };

/**
 * As Azure's front end: each request goes to exactly one of the servers that are alive, and is answered 502 if none is, or if that one ends before it has
 * answered.
 *
 * @param random `() => 0` always chooses the first one
 */
export const splitOver =
  (backends: readonly Backend[], random: Random): Rule =>
  (_, carryOut) => {
    const living = backends.filter(({ isAlive }) => isAlive);
    const chosen = living[Math.floor(random() * living.length)];
    return chosen === undefined ? BAD_GATEWAY : carryOut(chosen.url).catch(() => BAD_GATEWAY);
  };

/**
 * Stands between processes that talk over HTTP: counts what they ask, and a rule says what becomes of it.
 *
 * @example
 * const between = await Between.start(connectionString);
 * between.rule = async ({ path }, carryOut) => {
 *   const answer = await carryOut();
 *   if (path.endsWith('$batch')) throw new Error('the answer is lost');
 *   return answer;
 * };
 */
export class Between {
  /** May be changed at any time. */
  rule: Rule = CARRIED_OUT;
  /** What was carried out so far, and by which server. */
  readonly carriedOut: (Omit<PassingRequest, 'body'> & { readonly to: string })[] = [];
  readonly #named: string;
  // A server may close what was idle for 5 s just as the next request is sent.
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: 1_000 });
  readonly #underWay = new Set<Promise<unknown>>();
  #server: LoopbackServer | undefined;

  private constructor(named: string) {
    this.#named = named;
  }

  /**
   * Starts on a free port.
   *
   * @param named what stands behind: a URL, or a connection string of Table Storage or ACS that has one; nothing if the rule names the servers
   */
  static async start(named = ''): Promise<Between> {
    const between = new Between(named);
    between.#server = await LoopbackServer.start((incoming, answer) => {
      const handled = between.#handle(incoming, answer).catch(() => void incoming.socket.resetAndDestroy());
      between.#underWay.add(handled);
      void handled.finally(() => between.#underWay.delete(handled));
    });
    return between;
  }

  /** Without a slash at its end. */
  get url(): string {
    return `http://127.0.0.1:${this.#server?.port}`;
  }

  /** Names this process in place of what stands behind it. A signature covers the path and not the host: it is valid for both. */
  get connectionString(): string {
    return this.#named.replace(ORIGIN, this.url);
  }

  /** Fulfils when nothing is under way: also what a process asked for before it died. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#agent.destroy();
  }

  async #handle(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { method = '', url: path = '' } = incoming;
    const body = await buffer(incoming);
    const given = await this.rule({ method, path, body: body.toString() }, async (url) => {
      const to = url ?? ORIGIN.exec(this.#named)?.[0] ?? '';
      this.carriedOut.push({ method, path, to });
      return this.#forward(incoming, body, to);
    });
    answer.writeHead(given.status, given.headers);
    answer.end(given.body);
  }

  /** With all its headers, the `Host` included: what signs a request signs that as well. */
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
