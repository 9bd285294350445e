import { Agent, type IncomingMessage, type ServerResponse } from 'node:http';

import { type Random, randomFrom } from '../../infra/local/demo/random.ts';
import { bodyOf, forward } from './forward.ts';
import { LoopbackServer } from './loopback-server.ts';

/** An instance of the app, as the front door sees it. */
export interface Backend {
  /** Without a slash at its end. */
  readonly url: string;
  readonly isAlive: boolean;
}

/** A request as those who choose an instance see it. */
export interface ArrivedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly body: string;
}

/** A request that went through. */
export interface Passage extends ArrivedRequest {
  /** The index of the instance that got it; undefined where none was alive. */
  readonly instance: number | undefined;
  readonly status: number;
}

/**
 * Chooses the index of the instance that gets a request, which need not be alive.
 *
 * @param living the indexes of those that are; never empty
 */
export type Choice = (request: ArrivedRequest, living: readonly number[]) => number | undefined;

/** One address for several instances, as Azure's front end: each request goes to exactly one of them. */
export class FrontDoor {
  /** May be added to at any time. */
  readonly backends: Backend[] = [];
  /** What went through so far, in the order of the answers. */
  readonly passages: Passage[] = [];
  /** Any of those alive, at random, unless a test wants it otherwise. */
  choose: Choice;
  readonly #agent = new Agent({ keepAlive: true });
  #server: LoopbackServer | undefined;

  private constructor(random: Random) {
    this.choose = (_, living) => living[Math.floor(random() * living.length)];
  }

  /** @param seed what is chosen at random is the same in every run with the same seed and order of requests */
  static async start(seed: string): Promise<FrontDoor> {
    const door = new FrontDoor(randomFrom(seed));
    door.#server = await LoopbackServer.start((incoming, answer) => void door.#handle(incoming, answer));
    return door;
  }

  /** Without a slash at its end. */
  get url(): string {
    return `http://127.0.0.1:${this.#server?.port}`;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#agent.destroy();
  }

  async #handle(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { method = '', url: path = '' } = incoming;
    const body = await bodyOf(incoming);
    const request = { method, path, body: body.toString() };
    const living = [...this.backends.keys()].filter((index) => this.backends[index]?.isAlive === true);
    const instance = living.length === 0 ? undefined : this.choose(request, living);
    const backend = instance === undefined ? undefined : this.backends[instance];
    const given = backend === undefined ? undefined : await this.#ask(backend, incoming, body);
    this.passages.push({ ...request, instance, status: given?.status ?? 502 });
    answer.writeHead(given?.status ?? 502, given?.headers);
    answer.end(given?.body);
  }

  /** Undefined where the instance is not there, or ends before it has answered. */
  async #ask({ url }: Backend, incoming: IncomingMessage, body: Buffer) {
    const { hostname, port } = new URL(url);
    const target = { hostname, port, path: incoming.url ?? '/', agent: this.#agent };
    return forward(incoming, body, target).catch(() => undefined);
  }
}
