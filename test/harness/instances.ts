import { FaultProxy, NO_FAULT, type FaultRule, type ProxiedRequest } from '../analytics/faults/fault-proxy.ts';
import { type App, type AppOptions, startApp } from './app.ts';

/** A request that an instance made to what it depends on. */
export interface OutgoingRequest extends ProxiedRequest {
  readonly service: 'tables' | 'acs';
}

/** When an instance is killed at a request: it was not carried out, or only its answer did not arrive. */
export type Death = 'before the request' | 'before its answer';

/** How to start an instance. */
export interface InstanceOptions extends Omit<AppOptions, 'environment'> {
  readonly environment: (url: string) => Readonly<Record<string, string>>;
  readonly tablesConnectionString: string;
  readonly acsConnectionString: string;
  /** True where its requests to the tables and to ACS are counted and may go wrong, each through a proxy of its own. */
  readonly isProxied?: boolean;
}

/**
 * One of several instances of the app, in a process of its own, which can be killed and started again.
 *
 * @example
 * const died = instance.diesAt(3, 'before its answer');
 * await fetch(…);
 * await died;
 * await instance.restart();
 */
export class Instance implements App {
  /** What it asked for so far, if it is proxied, in the order of arrival; also in earlier lives. */
  readonly requests: OutgoingRequest[] = [];
  /** What goes wrong with its requests, if it is proxied. */
  rule: (request: OutgoingRequest) => ReturnType<FaultRule> = () => NO_FAULT;
  readonly #start: () => Promise<App>;
  readonly #proxies: readonly FaultProxy[];
  readonly #outputs: string[] = [];
  #app: App;
  #isAlive = true;

  private constructor(app: App, start: () => Promise<App>, proxies: Readonly<Record<string, FaultProxy>>) {
    this.#app = app;
    this.#start = start;
    this.#proxies = Object.values(proxies);
  }

  /** @throws {Error} with the app's output where it does not start */
  static async start({ isProxied = false, ...options }: InstanceOptions): Promise<Instance> {
    const { environment, tablesConnectionString, acsConnectionString, ...rest } = options;
    const proxies = isProxied
      ? {
          tables: await FaultProxy.start(tablesConnectionString),
          acs: await FaultProxy.start(acsConnectionString),
        }
      : undefined;
    const start = () =>
      startApp({
        ...rest,
        environment: (url) => ({
          TABLES_CONNECTION_STRING: proxies?.tables.connectionString ?? tablesConnectionString,
          ACS_CONNECTION_STRING: proxies?.acs.connectionString ?? acsConnectionString,
          ...environment(url),
        }),
      });
    const instance = new Instance(await start(), start, { ...proxies });
    for (const service of ['tables', 'acs'] as const) {
      const proxy = proxies?.[service];
      if (proxy !== undefined) proxy.rule = (request) => instance.#meet({ ...request, service });
    }
    return instance;
  }

  /** Another one after each restart. */
  get url(): string {
    return this.#app.url;
  }

  get pid(): number | undefined {
    return this.#app.pid;
  }

  get exited(): Promise<string> {
    return this.#app.exited;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Everything that it has printed in all its lives. */
  output(): string {
    return [...this.#outputs, this.#app.output()].join('\n');
  }

  kill(): void {
    this.#isAlive = false;
    this.#app.kill();
  }

  async stop(): Promise<void> {
    this.#isAlive = false;
    await this.#app.stop();
    await Promise.all(this.#proxies.map((proxy) => proxy.stop()));
  }

  /** Starts it again after it was killed, or kills it first. */
  async restart(): Promise<void> {
    this.kill();
    await this.exited;
    this.#outputs.push(this.#app.output());
    this.#app = await this.#start();
    this.#isAlive = true;
  }

  /**
   * Kills it at one of its requests; it must be proxied. Fulfils with the request when the process has ended. What it
   * asks for at the same time may still be carried out.
   *
   * @param fatal the number of the request, 1 for its next one to the tables or to ACS; or which request it is
   */
  diesAt(fatal: number | ((request: OutgoingRequest) => boolean), death: Death): Promise<OutgoingRequest> {
    const earlier = this.requests.length;
    const isFatal = typeof fatal === 'number' ? (): boolean => this.requests.length === earlier + fatal : fatal;
    const { rule } = this;
    return new Promise((resolve) => {
      this.rule = async (request) => {
        if (!isFatal(request)) return rule(request);
        this.rule = rule;
        this.kill();
        await this.exited;
        resolve(request);
        return { kind: death === 'before the request' ? 'connection reset' : 'answer lost' };
      };
    });
  }

  #meet(request: OutgoingRequest): ReturnType<FaultRule> {
    this.requests.push(request);
    return this.rule(request);
  }
}
