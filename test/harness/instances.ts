import { type App, type AppOptions, startApp } from './app.ts';
import { type Backend, Between, CARRIED_OUT, type PassingRequest, type Rule } from './between.ts';

/** A request that an instance made to what it depends on. */
export interface OutgoingRequest extends PassingRequest {
  readonly service: 'tables' | 'acs';
}

/** How to start an instance. */
export interface InstanceOptions extends Omit<AppOptions, 'environment'> {
  readonly environment: (url: string) => Readonly<Record<string, string>>;
  readonly tablesConnectionString: string;
  readonly acsConnectionString: string;
  /** True if something stands between it and what it depends on, so that its requests may go wrong. */
  readonly isProxied?: boolean;
}

/**
 * One of several instances of the app, in a process of its own, which can be killed.
 *
 * @example
 * instance.rule = killedAt(({ service }) => service === 'acs', 'before its answer', () => instance.kill());
 * await Promise.allSettled([fetch(…), instance.exited]);
 */
export class Instance implements App, Backend {
  /** What becomes of its requests, if it is proxied. */
  rule: Rule<OutgoingRequest> = CARRIED_OUT;
  readonly #app: App;
  readonly #between: readonly Between[];
  #isAlive = true;

  private constructor(app: App, between: readonly Between[]) {
    this.#app = app;
    this.#between = between;
  }

  /** @throws {Error} with the app's output where it does not start */
  static async start({ isProxied = false, ...options }: InstanceOptions): Promise<Instance> {
    const { environment, tablesConnectionString, acsConnectionString, ...rest } = options;
    const tables = isProxied ? await Between.start(tablesConnectionString) : undefined;
    const acs = isProxied ? await Between.start(acsConnectionString) : undefined;
    const app = await startApp({
      ...rest,
      environment: (url) => ({
        TABLES_CONNECTION_STRING: tables?.connectionString ?? tablesConnectionString,
        ACS_CONNECTION_STRING: acs?.connectionString ?? acsConnectionString,
        ...environment(url),
      }),
    });
    const instance = new Instance(
      app,
      [tables, acs].filter((each) => each !== undefined),
    );
    for (const [service, between] of [['tables', tables] as const, ['acs', acs] as const]) {
      if (between !== undefined) {
        between.rule = (request, carryOut) => instance.rule({ ...request, service }, carryOut);
      }
    }
    return instance;
  }

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

  output(): string {
    return this.#app.output();
  }

  kill(): void {
    this.#isAlive = false;
    this.#app.kill();
  }

  async stop(): Promise<void> {
    this.#isAlive = false;
    await this.#app.stop();
    await Promise.all(this.#between.map((each) => each.stop()));
  }
}
