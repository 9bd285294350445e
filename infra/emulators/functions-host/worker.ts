/**
 * What the Functions worker does for an app: it provides the module `@azure/functions-core`, keeps what the app registers there, and runs one
 * function at a time. No package holds the module: the worker answers `require` itself, and so does this host. Names and shapes are the
 * worker's own, as far as `@azure/functions` uses them for HTTP and timer triggers.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import Module from 'node:module';

import type { HttpAnswerMessage, HttpRequestMessage } from './http-message.ts';

/** A function that the app registered. One of its bindings is its trigger. */
export interface RegisteredFunction {
  readonly name: string;
  readonly bindings: Readonly<Record<string, BindingInfo>>;
  readonly callback: FunctionCallback;
}

/** One binding of a function; what else it holds depends on its type. */
export interface BindingInfo {
  readonly type: string;
  readonly direction: string;
  readonly [property: string]: unknown;
}

type FunctionMetadata = Pick<RegisteredFunction, 'name' | 'bindings'>;

/** A function's handler, as registered: the inputs first, the invocation's context last. */
type FunctionCallback = (...inputsAndContext: unknown[]) => unknown;

type HookCallback = (context: object) => unknown;

/** A value in a message of the worker's. */
type Datum = { readonly json: string } | { readonly http: HttpRequestMessage };

/** What triggered an invocation, by the trigger's binding. */
export interface TriggerInput {
  readonly name: string;
  readonly data: Datum;
}

type LogLevel = 'trace' | 'debug' | 'information' | 'warning' | 'error' | 'critical' | 'none';
/** Whose log line it is: the app's own or the library's. */
type LogCategory = 'user' | 'system' | 'customMetric';

/** What the library is told about one invocation. */
interface CoreInvocationContext {
  readonly invocationId: string;
  readonly metadata: FunctionMetadata;
  readonly request: {
    readonly invocationId: string;
    readonly inputData: readonly TriggerInput[];
    readonly traceContext: { readonly traceParent: string };
  };
  log(level: LogLevel, category: LogCategory, message: string): void;
}

/** What the library provides: how to make a handler's arguments from a message, and a message from its result. */
interface ProgrammingModel {
  getInvocationModel(context: CoreInvocationContext): {
    getArguments(): Promise<{ context: unknown; inputs: unknown[] }>;
    invokeFunction(context: unknown, inputs: unknown[], callback: FunctionCallback): Promise<unknown>;
    getResponse(
      context: unknown,
      result: unknown,
    ): Promise<{ readonly returnValue?: { readonly http?: HttpAnswerMessage } | null }>;
  };
  getCapabilities(capabilities: Record<string, string>): Promise<Record<string, string>>;
}

/** The host's version that the app is told. */
const HOST_VERSION = '4.1045.0';

const TO_STDERR: ReadonlySet<LogLevel> = new Set(['warning', 'error', 'critical']);

/** Shows a log line as the app wrote it: of the app every level from `information`, of its library only what is wrong; the real host's defaults. */
const log = (level: LogLevel, category: LogCategory, message: string): void => {
  if (TO_STDERR.has(level)) process.stderr.write(`${message}\n`);
  else if (category === 'user' && level === 'information') process.stdout.write(`${message}\n`);
};

const newTraceParent = (): string => `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-00`;

/** An app that registers its functions while it loads, as the worker sees it. */
export class Worker {
  /** What the app has registered so far. */
  readonly functions: RegisteredFunction[] = [];
  readonly #terminateHooks: HookCallback[] = [];
  #model: ProgrammingModel | undefined;

  /** From now on every CommonJS `require('@azure/functions-core')` of this process gives this worker's module. */
  provideCore(): void {
    const core = {
      version: HOST_VERSION,
      hostVersion: HOST_VERSION,
      registerFunction: ({ name, bindings }: FunctionMetadata, callback: FunctionCallback): void => {
        this.functions.push({ name, bindings, callback });
      },
      registerHook: (name: string, callback: HookCallback): void => {
        if (name !== 'appTerminate') throw new RangeError(`This host runs no ${name} hook.`);
        this.#terminateHooks.push(callback);
      },
      setProgrammingModel: (model: ProgrammingModel): void => {
        this.#model = model;
      },
      log,
    };
    const prototype: { require: (this: unknown, id: string) => unknown } = Module.prototype;
    const original = prototype.require;
    prototype.require = function require(id) {
      return id === '@azure/functions-core' ? core : original.call(this, id);
    };
  }

  /**
   * To be called when the app has loaded.
   *
   * @throws {Error} where the app registered nothing, so that no library has presented itself, and for one that streams HTTP
   */
  async finishLoading(): Promise<void> {
    const { HttpUri: streams } = await this.#library().getCapabilities({});
    if (streams !== undefined) throw new Error('This host serves no app that has set enableHttpStream.');
  }

  /**
   * Runs one function: the library makes the arguments, then the handler, then the library makes the message of the result.
   *
   * @param traceParent of W3C Trace Context, as the caller sent it; by default a new one, as the real host makes it
   * @returns the answer to an HTTP request; undefined where the handler gave none, and of other triggers
   * @throws whatever the handler threw, or the library for a result that is not a response
   */
  async invoke(
    registered: RegisteredFunction,
    input: TriggerInput,
    traceParent = newTraceParent(),
  ): Promise<HttpAnswerMessage | undefined> {
    const invocationId = randomUUID();
    const model = this.#library().getInvocationModel({
      invocationId,
      metadata: registered,
      request: { invocationId, inputData: [input], traceContext: { traceParent } },
      log,
    });
    const { context, inputs } = await model.getArguments();
    const result = await model.invokeFunction(context, inputs, registered.callback);
    return (await model.getResponse(context, result)).returnValue?.http;
  }

  /** Runs the app's terminate hooks, one after the other. */
  async terminate(): Promise<void> {
    for (const hook of this.#terminateHooks) await hook({ hookData: {} });
  }

  #library(): ProgrammingModel {
    if (this.#model === undefined) throw new Error('The app registered no function.');
    return this.#model;
  }
}
