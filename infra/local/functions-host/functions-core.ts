import Module from 'node:module';

/**
 * The module `@azure/functions-core` as far as `@azure/functions` uses it. No package holds it: the Functions worker
 * provides it by answering `require` itself, and so does this host. Names and shapes are the worker's own.
 */
export interface FunctionsCore {
  readonly version: string;
  readonly hostVersion: string;
  registerFunction(metadata: FunctionMetadata, callback: FunctionCallback): Disposable;
  registerHook(hookName: string, callback: HookCallback): Disposable;
  setProgrammingModel(model: ProgrammingModel): void;
  getProgrammingModel(): ProgrammingModel | undefined;
  log(level: LogLevel, category: LogCategory, message: string): void;
  readonly Disposable: typeof Disposable;
}

/** A function's handler, as registered: the inputs first, the invocation's context last. */
export type FunctionCallback = (...inputsAndContext: unknown[]) => unknown;

/** A function's name and bindings; one of them is its trigger. */
export interface FunctionMetadata {
  readonly name: string;
  readonly bindings: Readonly<Record<string, BindingInfo>>;
}

/** One binding of a function; what else it holds depends on its type. */
export interface BindingInfo {
  readonly type: string;
  readonly direction: string;
  readonly [property: string]: unknown;
}

/** What `@azure/functions` provides: how to make a handler's arguments from a message, and a message from its result. */
export interface ProgrammingModel {
  readonly name: string;
  readonly version: string;
  getInvocationModel(context: CoreInvocationContext): InvocationModel;
  getCapabilities(capabilities: Record<string, string>): Promise<Record<string, string>>;
}

/** How one invocation goes, in this order. */
export interface InvocationModel {
  getArguments(): Promise<{ context: unknown; inputs: unknown[] }>;
  invokeFunction(context: unknown, inputs: unknown[], callback: FunctionCallback): Promise<unknown>;
  /** Makes the message of the result; the answer to an HTTP request goes over HTTP. */
  getResponse(context: unknown, result: unknown): Promise<unknown>;
}

/** What the programming model is told about one invocation. */
export interface CoreInvocationContext {
  readonly invocationId: string;
  readonly metadata: FunctionMetadata;
  readonly request: {
    readonly invocationId: string;
    readonly inputData: readonly TriggerInput[];
    readonly triggerMetadata: Readonly<Record<string, Datum>>;
  };
  state: 'preInvocationHooks' | 'invocation' | 'postInvocationHooks' | undefined;
  log(level: LogLevel, category: LogCategory, message: string): void;
}

/** A value in a message of the worker's. */
export type Datum = { readonly json: string } | { readonly string: string };

/** What triggered an invocation, by the trigger's binding. An HTTP request is not in it: it comes over HTTP, see forwarding.ts. */
export interface TriggerInput {
  readonly name: string;
  readonly data?: Datum;
  /** Of an HTTP request: its headers, as `Headers`, and the parameters of its path. */
  readonly metadata?: Readonly<Record<string, Datum>>;
}

/** The levels of a log line, least first. */
export type LogLevel = 'trace' | 'debug' | 'information' | 'warning' | 'error' | 'critical' | 'none';
/** Whose log line it is: the app's own or the library's. */
export type LogCategory = 'user' | 'system' | 'customMetric';

/** Any hook; what its context holds depends on the hook. */
export type HookCallback = (context: object) => unknown;

/** The hooks there are; registering another one is an error, as in the worker. */
export const HOOK_NAMES = ['appStart', 'appTerminate', 'preInvocation', 'postInvocation', 'log'] as const;
export type HookName = (typeof HOOK_NAMES)[number];

/** What registering something returns: disposing of it takes the registration back. */
export class Disposable {
  readonly #dispose: () => unknown;

  constructor(dispose: () => unknown) {
    this.#dispose = dispose;
  }

  static from(...disposables: { dispose: () => unknown }[]): Disposable {
    return new Disposable(() => {
      for (const each of disposables) each.dispose();
    });
  }

  dispose(): unknown {
    return this.#dispose();
  }
}

/** From now on every CommonJS `require('@azure/functions-core')` of this process gives `core`. */
export const provideFunctionsCore = (core: FunctionsCore): void => {
  const prototype: { require: (this: unknown, id: string) => unknown } = Module.prototype;
  const original = prototype.require;
  prototype.require = function require(id) {
    return id === '@azure/functions-core' ? core : original.call(this, id);
  };
};
