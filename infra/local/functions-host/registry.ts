import {
  Disposable,
  type FunctionCallback,
  type FunctionMetadata,
  type FunctionsCore,
  HOOK_NAMES,
  type HookCallback,
  type HookName,
  type LogCategory,
  type LogLevel,
  type ProgrammingModel,
} from './functions-core.ts';

/** A function that the app registered. */
export interface RegisteredFunction {
  readonly metadata: FunctionMetadata;
  readonly callback: FunctionCallback;
}

/** The host's version that the app is told; HTTP streaming and log hooks ask for a recent one. */
const HOST_VERSION = '4.1045.0';

/** Names that the real host takes. */
const FUNCTION_NAME = /^[a-z][a-z0-9_-]{0,127}$/i;

/** The levels that the real host shows unless host.json says otherwise. */
const SHOWN_LEVELS: ReadonlySet<LogLevel> = new Set(['information', 'warning', 'error', 'critical']);
const ERROR_LEVELS: ReadonlySet<LogLevel> = new Set(['warning', 'error', 'critical']);

/** What an app registered while it was loading: its functions, its hooks and the library that serves them. */
export class Registry {
  readonly #functions = new Map<string, RegisteredFunction>();
  readonly #hooks = new Map<HookName, Set<HookCallback>>(HOOK_NAMES.map((name) => [name, new Set()]));
  /** Shared by all hooks that are not about one invocation. */
  readonly #appHookData: Record<string, unknown> = {};
  #model: ProgrammingModel | undefined;
  #isLoaded = false;

  get functions(): readonly RegisteredFunction[] {
    return [...this.#functions.values()];
  }

  /** @throws {Error} where the app registered nothing, so that no library has presented itself */
  get programmingModel(): ProgrammingModel {
    if (this.#model === undefined) throw new Error('The app registered no function.');
    return this.#model;
  }

  /** From now on registering is an error, as in the worker. */
  finishLoading(): void {
    this.#isLoaded = true;
  }

  /** Runs the hooks of one name, one after the other; what one of them throws is thrown. */
  async runHooks(name: HookName, context: object = { hookData: this.#appHookData }): Promise<void> {
    for (const hook of this.#hooks.get(name) ?? []) await hook(context);
  }

  /** Shows a log line of the app, or a warning of its library, on stdout or stderr as the app wrote it. */
  log(level: LogLevel, category: LogCategory, message: string, invocationContext?: unknown): void {
    const line = { level, category, message, invocationContext, hookData: this.#appHookData };
    for (const hook of this.#hooks.get('log') ?? []) hook(line);
    const isShown = category === 'user' ? SHOWN_LEVELS.has(line.level) : ERROR_LEVELS.has(line.level);
    if (isShown) (ERROR_LEVELS.has(line.level) ? process.stderr : process.stdout).write(`${line.message}\n`);
  }

  /** The module that the app's library asks for; what it registers is kept here. */
  core(): FunctionsCore {
    return {
      version: HOST_VERSION,
      hostVersion: HOST_VERSION,
      registerFunction: (metadata, callback) => this.#registerFunction(metadata, callback),
      registerHook: (name, callback) => this.#registerHook(name, callback),
      setProgrammingModel: (model) => {
        this.#model = model;
      },
      getProgrammingModel: () => this.#model,
      log: (level, category, message) => this.log(level, category, message),
      Disposable,
    };
  }

  #registerFunction(metadata: FunctionMetadata, callback: FunctionCallback): Disposable {
    const { name } = metadata;
    if (this.#isLoaded) throw new Error('A function can only be registered during app startup.');
    if (!FUNCTION_NAME.test(name)) throw new Error(`"${name}" is not a name for a function.`);
    // The real host takes names that differ in case only for the same.
    const key = name.toLowerCase();
    if (this.#functions.has(key)) throw new Error(`A function named "${name}" has already been registered.`);
    this.#functions.set(key, { metadata, callback });
    return new Disposable(() => this.#functions.delete(key));
  }

  #registerHook(name: string, callback: HookCallback): Disposable {
    const hooks = this.#hooks.get(HOOK_NAMES.find((known) => known === name) ?? raiseUnknownHook(name));
    hooks?.add(callback);
    return new Disposable(() => hooks?.delete(callback));
  }
}

const raiseUnknownHook = (name: string): never => {
  throw new RangeError(`Unrecognized hook "${name}"`);
};
