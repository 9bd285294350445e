import { Agent, type IncomingMessage, type ServerResponse } from 'node:http';

import type { Random } from '../../../infra/local/demo/random.ts';
import { bodyOf, forward, type ForwardedAnswer } from '../../harness/forward.ts';
import { LoopbackServer } from '../../harness/loopback-server.ts';
import { oneOf } from './chance.ts';

/** What goes wrong with one request. */
export type Fault =
  /** It goes through. */
  | { readonly kind: 'none' }
  /** The storage carries out the request; then the connection is closed without an answer. */
  | { readonly kind: 'answer lost' }
  /** The storage carries out the request; the connection is closed after the first half of the answer. */
  | { readonly kind: 'answer cut' }
  /** The storage carries out the request; the answer is a success that cannot be parsed. */
  | { readonly kind: 'answer garbled' }
  /** The request is answered with this status and does not reach the storage. */
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly code: string;
      readonly retryAfterSeconds?: number;
    }
  /** The connection is reset before the request reaches any storage. */
  | { readonly kind: 'connection reset' }
  /** The request reaches the storage so much later, even when the client has given up. */
  | { readonly kind: 'late request'; readonly ms: number }
  /** The storage carries out the request at once; the answer comes so much later. */
  | { readonly kind: 'late answer'; readonly ms: number }
  /** Of a query: a page without rows, with a continuation that continues the real query. */
  | { readonly kind: 'empty page' }
  /** Of a query: no rows and no continuation. The real service promises not to do that. */
  | { readonly kind: 'rows left out' }
  /** Of a query: a page of at most so many rows, with a continuation, as the real service may answer at any time. */
  | { readonly kind: 'short page'; readonly rows: number };

/** What a rule knows of a request. */
export interface ProxiedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly body: string;
  /** It writes rows. */
  readonly isTransaction: boolean;
  /** It reads a page of rows. */
  readonly isQuery: boolean;
  /** It goes on where a page ended. */
  readonly isContinued: boolean;
}

/** Chooses what goes wrong with a request; may wait for something first. */
export type FaultRule = (request: ProxiedRequest) => Fault | Promise<Fault>;

/** Nothing goes wrong. */
export const NO_FAULT: Fault = { kind: 'none' };

/** Any of these goes wrong with each request, each with its own chance from 0 to 1. */
export const anyOf =
  (random: Random, faults: readonly (readonly [chance: number, fault: Fault])[]): FaultRule =>
  () =>
    oneOf(random, faults) ?? NO_FAULT;

/** A token in place of the storage's own keys; opaque, as these are. */
const CONTINUATION = 'proxy!';

const PAGE_TYPE = 'application/json;odata=minimalmetadata';
const NO_ROWS = JSON.stringify({ 'odata.metadata': 'rows', value: [] });

const NEXT = ['NextPartitionKey', 'NextRowKey'] as const;

/** A proxy in front of Azurite, or of the ACS simulator, that does to requests what they never do. */
export class FaultProxy {
  /** What goes wrong; may be changed at any time. */
  rule: FaultRule = () => NO_FAULT;
  /** How often each kind of fault was chosen. */
  readonly chosen = new Map<Fault['kind'], number>();
  /** How often each kind of request (`GET`, `POST $batch`, …) reached the storage. */
  readonly forwarded = new Map<string, number>();
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  readonly #delays = new Set<() => void>();
  readonly #underWay = new Set<Promise<void>>();
  #server: LoopbackServer | undefined;
  #target: URL;
  #connectionString: string;

  private constructor(connectionString: string) {
    this.#connectionString = connectionString;
    this.#target = endpointOf(connectionString);
  }

  /** Starts a proxy on a free port in front of the storage, or the ACS, that a connection string names. */
  static async start(connectionString: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(connectionString);
    proxy.#server = await LoopbackServer.start((incoming, answer) => {
      const handled = proxy.#handle(incoming, answer).catch(() => void answer.destroy());
      proxy.#underWay.add(handled);
      void handled.then(() => proxy.#underWay.delete(handled));
    });
    return proxy;
  }

  /** Names this proxy. A signature covers the path and not the host, so that it is valid for both. */
  get connectionString(): string {
    const own = new URL(this.#target);
    own.port = String(this.#server?.port);
    return this.#connectionString.replace(ENDPOINT, own.href);
  }

  /** Puts the proxy in front of another storage. */
  retarget(connectionString: string): void {
    this.#connectionString = connectionString;
    this.#target = endpointOf(connectionString);
  }

  /** Waits until all requests so far have ended, late ones too. */
  async quiet(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Ends the proxy. */
  async stop(): Promise<void> {
    for (const end of this.#delays) end();
    await this.#server?.stop();
    this.#agent.destroy();
  }

  async #handle(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const body = await bodyOf(incoming);
    const isContinued = (incoming.url ?? '').includes(`${NEXT[0]}=`);
    const url = resumed(new URL(incoming.url ?? '/', this.#target));
    const fault = await this.rule({
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      body: body.toString(),
      isTransaction: url.pathname.endsWith('$batch'),
      isQuery: isQuery(incoming, url),
      isContinued,
    });
    this.chosen.set(fault.kind, (this.chosen.get(fault.kind) ?? 0) + 1);
    await this.#apply(fault, incoming, url, body, answer);
  }

  async #apply(fault: Fault, incoming: IncomingMessage, url: URL, body: Buffer, answer: ServerResponse): Promise<void> {
    switch (fault.kind) {
      case 'connection reset':
        incoming.socket.resetAndDestroy();
        return;
      case 'refused':
        refuse(answer, fault);
        return;
      case 'empty page':
        if (!isQuery(incoming, url)) break;
        emptyPage(answer, url);
        return;
      case 'rows left out':
        if (!isQuery(incoming, url)) break;
        answer.writeHead(200, { 'content-type': PAGE_TYPE });
        answer.end(NO_ROWS);
        return;
      case 'short page':
        if (isQuery(incoming, url)) url.searchParams.set('$top', String(fault.rows));
        break;
      case 'late request':
        await this.#delay(fault.ms);
        break;
      case 'none':
      case 'answer lost':
      case 'answer cut':
      case 'answer garbled':
      case 'late answer':
        break;
    }
    const given = await this.#forward(incoming, url, body);
    if (fault.kind === 'late answer') await this.#delay(fault.ms);
    if (fault.kind === 'answer lost') {
      incoming.socket.destroy();
    } else if (fault.kind === 'answer cut') {
      answer.writeHead(given.status, { ...given.headers, 'content-length': given.body.length });
      answer.write(given.body.subarray(0, given.body.length >> 1), () => incoming.socket.destroy());
    } else if (fault.kind === 'answer garbled' && given.status < 300) {
      answer.writeHead(given.status, { 'content-type': 'application/json' });
      answer.end('{"half of the');
    } else {
      answer.writeHead(given.status, given.headers);
      answer.end(given.body);
    }
  }

  async #forward(incoming: IncomingMessage, url: URL, body: Buffer): Promise<ForwardedAnswer> {
    const name = `${incoming.method}${url.pathname.endsWith('$batch') ? ' $batch' : ''}`;
    this.forwarded.set(name, (this.forwarded.get(name) ?? 0) + 1);
    const { hostname, port } = this.#target;
    // A space is %20 and not the + of a form.
    const path = `${url.pathname}?${url.searchParams.toString().replaceAll('+', '%20')}`;
    return forward(incoming, body, { hostname, port, path, agent: this.#agent });
  }

  async #delay(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#delays.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#delays.add(end);
    });
  }
}

/** `TableEndpoint=` of storage, `endpoint=` of ACS. */
const ENDPOINT = /(?<=endpoint=)([^;]+)/i;

const endpointOf = (connectionString: string): URL => {
  const endpoint = ENDPOINT.exec(connectionString)?.[1];
  if (endpoint === undefined) throw new Error('the connection string names no endpoint');
  return new URL(endpoint);
};

const isQuery = ({ method }: IncomingMessage, url: URL): boolean =>
  method === 'GET' && decodeURIComponent(url.pathname).endsWith('()');

/** The body of the service's refusal: in a transaction the message starts with the number of the operation. */
const refuse = (answer: ServerResponse, { status, code, retryAfterSeconds }: Extract<Fault, { kind: 'refused' }>) => {
  answer.writeHead(status, {
    'content-type': PAGE_TYPE,
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  });
  const message = { lang: 'en-US', value: `0:${code}` };
  answer.end(JSON.stringify({ 'odata.error': { code, message } }));
};

const emptyPage = (answer: ServerResponse, url: URL): void => {
  const next = Buffer.from(JSON.stringify(NEXT.map((name) => url.searchParams.get(name)))).toString('base64url');
  answer.writeHead(200, {
    'content-type': PAGE_TYPE,
    'x-ms-continuation-nextpartitionkey': `${CONTINUATION}${next}`,
    'x-ms-continuation-nextrowkey': CONTINUATION,
  });
  answer.end(NO_ROWS);
};

/** The URL at which the real query continues after the proxy's own empty page. */
const resumed = (asked: URL): URL => {
  const url = new URL(asked);
  const token = url.searchParams.get(NEXT[0]);
  if (token?.startsWith(CONTINUATION) !== true) return url;
  const kept: unknown = JSON.parse(Buffer.from(token.slice(CONTINUATION.length), 'base64url').toString());
  for (const [at, name] of NEXT.entries()) {
    const value: unknown = Array.isArray(kept) ? kept[at] : undefined;
    if (typeof value === 'string') url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  return url;
};
