// The module `@azure/functions-core`, which the worker provides in Azure. No package holds it. Names and shapes are the worker's own, as far as
// `@azure/functions` uses them for HTTP and timer triggers.
import { randomBytes, randomUUID } from 'node:crypto';
import Module from 'node:module';

import type { HttpAnswerMessage, HttpRequestMessage } from './http-message.ts';
import type { StreamedRequest } from './http-stream.ts';

/** A function of the app. One of its bindings is its trigger. */
export interface RegisteredFunction {
  readonly name: string;
  readonly bindings: Readonly<Record<string, BindingInfo>>;
  readonly callback: FunctionCallback;
}

/** A binding of a function. Its other properties depend on its type. */
export interface BindingInfo {
  readonly type: string;
  readonly direction: string;
  readonly [property: string]: unknown;
}

type FunctionMetadata = Pick<RegisteredFunction, 'name' | 'bindings'>;

/** A function's handler, as registered: the inputs first, the invocation's context last. */
type FunctionCallback = (...inputsAndContext: unknown[]) => unknown;

type HookCallback = (context: object) => unknown;

/** The data of a trigger, by the name of its binding. */
interface TriggerInput {
  readonly name: string;
  /** Undefined: the request comes as a stream. */
  readonly data?: { readonly json: string } | { readonly http: HttpRequestMessage };
}

type LogLevel = 'trace' | 'debug' | 'information' | 'warning' | 'error' | 'critical' | 'none';
/** `user`: a log line of the app; others are lines of the library. */
type LogCategory = 'user' | 'system' | 'customMetric';

/** One invocation, for the library. */
interface CoreInvocationContext {
  readonly invocationId: string;
  readonly metadata: FunctionMetadata;
  readonly request: {
    readonly invocationId: string;
    readonly inputData: readonly TriggerInput[];
    readonly traceContext: { readonly traceParent: string };
    readonly triggerMetadata?: StreamedRequest['triggerMetadata'];
  };
  log(level: LogLevel, category: LogCategory, message: string): void;
}

/** The library: it makes a handler's arguments from a message, and a message from its result. */
interface ProgrammingModel {
  /** Ends the set-up of the app. `HttpUri`: the server that takes requests as streams, if the app has asked for streams. */
  getCapabilities(capabilities: object): Promise<{ readonly HttpUri?: string }>;
  getInvocationModel(context: CoreInvocationContext): {
    getArguments(): Promise<{ context: unknown; inputs: unknown[] }>;
    invokeFunction(context: unknown, inputs: unknown[], callback: FunctionCallback): Promise<unknown>;
    getResponse(
      context: unknown,
      result: unknown,
    ): Promise<{ readonly returnValue?: { readonly http?: HttpAnswerMessage } | null }>;
  };
}

/** The host's version that the app sees. */
const HOST_VERSION = '4.1045.0';

const TO_STDERR: ReadonlySet<LogLevel> = new Set(['warning', 'error', 'critical']);

/** Prints a log line. As in the real host, only the app's lines are shown below the level `warning`. */
const log = (level: LogLevel, category: LogCategory, message: string): void => {
  if (TO_STDERR.has(level)) process.stderr.write(`${message}\n`);
  else if (category === 'user' && level === 'information') process.stdout.write(`${message}\n`);
};

const newTraceParent = (): string => `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-00`;

/** The worker: it holds the functions that the app registers while it loads, and runs them. */
export class Worker {
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

  /** The address of the worker's server for HTTP streams; undefined if the app did not ask for streams. */
  async streamServer(): Promise<string | undefined> {
    return (await this.#model?.getCapabilities({}))?.HttpUri;
  }

  /**
   * Runs a function.
   *
   * @param traceParent of W3C Trace Context; a new one by default
   * @param streamed if the request comes as a stream, to which the answer goes
   * @returns the answer to an HTTP request; undefined if the handler gave no answer
   * @throws the error of the handler, or of the library for a result that is not a response
   */
  async invoke(
    registered: RegisteredFunction,
    input: TriggerInput,
    traceParent = newTraceParent(),
    streamed?: StreamedRequest,
  ): Promise<HttpAnswerMessage | undefined> {
    if (this.#model === undefined) throw new Error('The app did not load @azure/functions.');
    const { invocationId, triggerMetadata } = streamed ?? { invocationId: randomUUID() };
    let isOver = false;
    const model = this.#model.getInvocationModel({
      invocationId,
      metadata: registered,
      request: {
        invocationId,
        inputData: [input],
        traceContext: { traceParent },
        ...(triggerMetadata !== undefined && { triggerMetadata }),
      },
      log: (level, category, message) => {
        // The real host ignores lines of the app for an invocation that is over.
        if (!isOver || category !== 'user') log(level, category, message);
      },
    });
    try {
      const { context, inputs } = await model.getArguments();
      const result = await model.invokeFunction(context, inputs, registered.callback);
      return (await model.getResponse(context, result)).returnValue?.http;
    } finally {
      isOver = true;
    }
  }

  /** Runs the app's terminate hooks, one after the other. */
  async terminate(): Promise<void> {
    for (const hook of this.#terminateHooks) await hook({ hookData: {} });
  }
}
