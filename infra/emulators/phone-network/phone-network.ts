import { z } from 'zod';

import type { PostEvent } from './deliveries.ts';
import type { CallParts, Pace, PhoneCall } from './phone-call.ts';
import { type Answer, type ErrorCode, Refusal, type Reply } from './reply.ts';
import { type RequestKind, scenarioOf } from './scenarios.ts';

/** How a simulated telephone network behaves. */
export interface SimulatorOptions {
  /** The durations of calls. The default is fast, for tests. */
  readonly pace?: Partial<Pace>;
  /** How many calls there may be at a time. A line is busy from the request until the end of the call. */
  readonly lines?: number;
  /** How many calls are started a second. The others wait in the provider's queue. */
  readonly callsPerSecond?: number;
  readonly print?: (line: string) => void;
}

/** A network, and how its events reach the app. */
export interface NetworkOptions<Event> extends SimulatorOptions {
  readonly post: PostEvent<Event>;
}

/**
 * A fault of the app's set-up: the provider does not know the credential (401), permits nothing (403), or does not have the caller's number.
 * It refuses the check of the provider too.
 */
export type SetUpFault = 401 | 403 | 'number';

/** The errors of a provider. */
interface Errors {
  readonly bodyOf: (code: ErrorCode, message: string) => object;
  readonly codes: Readonly<Record<SetUpFault | 'malformed' | 'no line', ErrorCode>>;
  /** The provider's error for an error of ACS that a scenario asks for. */
  readonly ofScenario: (code: ErrorCode) => ErrorCode;
}

const FAST: Pace = { ringMs: 30, eventMs: 10, speakMs: 60 };

/** The simulated telephone network: its lines, its calls, and the faults of requests. */
export class PhoneNetwork<Call extends PhoneCall = PhoneCall, Event = never> {
  /** Undefined: the app is set up right. */
  setUpFault: SetUpFault | undefined;
  readonly #options: NetworkOptions<Event>;
  readonly #errors: Errors;
  readonly #calls = new Map<string, Call>();
  readonly #refused: { readonly at: string; request: string; status: number; reason: string }[] = [];
  /** How many requests of a kind there were about a number. */
  readonly #requests = new Map<string, number>();
  #nextStartAt = 0;

  constructor(options: NetworkOptions<Event>, errors: Errors) {
    this.#options = options;
    this.#errors = errors;
  }

  get calls(): readonly Call[] {
    return [...this.#calls.values()];
  }

  find(id: string): Call | undefined {
    return this.#calls.get(id);
  }

  /** Carries a request out, or refuses it and remembers a mistake of the app. */
  answer(request: string, carryOut: () => Reply): Reply {
    try {
      return carryOut();
    } catch (thrown) {
      const error =
        thrown instanceof z.ZodError ? new Refusal(this.#errors.codes.malformed, z.prettifyError(thrown)) : thrown;
      if (!(error instanceof Refusal)) throw error;
      if (error.isMistake) this.#complain(request, error.code[0], error.message);
      return this.#errorAnswer(error.code, error.message);
    }
  }

  /** @throws {Refusal} if the app is not set up right */
  mustBeSetUp(...faults: readonly SetUpFault[]): void {
    const fault = faults.find((one) => one === this.setUpFault);
    if (fault !== undefined)
      throw new Refusal(this.#errors.codes[fault], 'The set-up of the app is broken on purpose.', false);
  }

  /** Places a call, unless the scenario of the number spoils the request, or no line is free. */
  place(to: string, make: (parts: CallParts<Event>) => Call): Reply {
    const { lines = Infinity, callsPerSecond = Infinity, pace, print = () => undefined, post } = this.#options;
    const spoiled = this.#spoil(to, 'createCall');
    if (spoiled?.isCarriedOut === false) return spoiled.reply;
    if (this.calls.filter(({ state }) => state !== 'ended').length >= lines) {
      print(`${to}: no line is free`);
      throw new Refusal(this.#errors.codes['no line'], 'No line is free.', false);
    }
    const earlierCalls = this.calls.filter((call) => call.to === to).length;
    const complain = this.#complain.bind(this);
    const call = make({ to, earlierCalls, pace: { ...FAST, ...pace }, print, post, complain });
    this.#calls.set(call.id, call);
    const reply = spoiled?.reply ?? { status: 201, body: call.resource() };
    call.note('request', 'createCall', nameOf(reply));
    const now = Date.now();
    const startsAt = Math.max(now, this.#nextStartAt);
    this.#nextStartAt = startsAt + 1_000 / callsPerSecond;
    call.begin(startsAt - now);
    return reply;
  }

  /** Carries out a request about a call, and answers it, unless the scenario of its number spoils the request. */
  act(call: Call, kind: Exclude<RequestKind, 'createCall'>, carryOut: () => void, answer: Answer): Reply {
    const spoiled = this.#spoil(call.to, kind);
    const reply = spoiled?.reply ?? answer;
    call.note('request', kind, nameOf(reply));
    if (spoiled?.isCarriedOut !== false) carryOut();
    return reply;
  }

  log() {
    return {
      calls: this.calls.map((call) => call.logEntry()),
      /** Requests that the app should not have sent, and answers that it should not have given. `request` is method and path. */
      refused: [...this.#refused],
    };
  }

  stop(): void {
    for (const call of this.calls) call.stop();
  }

  /** Remembers a mistake of the app. */
  #complain(request: string, status: number, reason: string): void {
    this.#refused.push({ at: new Date().toISOString(), request, status, reason });
    this.#options.print?.(`refused: ${request}: ${reason}`);
  }

  #errorAnswer(code: ErrorCode, message: string): Answer {
    return { status: code[0], body: this.#errors.bodyOf(code, message) };
  }

  /** How the scenario of a number spoils its next request. */
  #spoil(to: string, kind: RequestKind): { reply: Reply; isCarriedOut: boolean } | undefined {
    const { faults } = scenarioOf(to);
    const planned = faults?.[kind] ?? [];
    const earlier = this.#requests.get(`${kind} ${to}`) ?? 0;
    this.#requests.set(`${kind} ${to}`, earlier + 1);
    const fault = planned[faults?.always === true ? 0 : earlier] ?? 'none';
    if (fault === 'none') return undefined;
    if (typeof fault === 'string') return { reply: fault, isCarriedOut: fault === 'answer lost' };
    const { code, retryAfterSeconds, hasEnded = false } = fault;
    const answer = this.#errorAnswer(this.#errors.ofScenario(code), 'The number asked for this.');
    const headers = retryAfterSeconds === undefined ? {} : { headers: { 'retry-after': `${retryAfterSeconds}` } };
    return { reply: { ...answer, ...headers }, isCarriedOut: hasEnded };
  }
}

/** For the log of a call: a status, or the event in place of an answer. */
const nameOf = (reply: Reply): string => (typeof reply === 'string' ? reply : String(reply.status));
