import { z } from 'zod';

import type { EventTopic } from './event-topic.ts';
import type { CallParts, Pace, PhoneCall } from './phone-call.ts';
import { type Answer, type ErrorCode, Refusal, type Reply } from './reply.ts';
import { type RequestKind, scenarioOf } from './scenarios.ts';

/** How a simulated telephone network behaves. */
export interface NetworkOptions {
  readonly pace: Pace;
  /** How many calls there may be at a time. A line is busy from the request until the end of the call. */
  readonly lines?: number;
  /** If all lines are busy, the request is refused, or the call is accepted and declined a moment later (603). */
  readonly whenFull?: 'refuses' | 'declines';
  /** How many calls are started a second. The others wait in the provider's queue. */
  readonly callsPerSecond?: number;
  readonly print?: (line: string) => void;
}

/**
 * A fault of the app's set-up: the provider does not know the credential (401), permits nothing (403), or does not have the caller's number.
 * It refuses the check of the provider too.
 */
export type SetUpFault = 401 | 403 | 'number';

/** The errors of a provider. */
export interface Errors {
  readonly bodyOf: (code: ErrorCode, message: string) => object;
  readonly malformed: ErrorCode;
  readonly noLine: ErrorCode;
  readonly setUp: Readonly<Record<SetUpFault, ErrorCode>>;
  /** The provider's error for an error of ACS that a scenario asks for. */
  readonly ofScenario: (code: ErrorCode) => ErrorCode;
}

/** The simulated telephone network: its lines, its calls, and the faults of requests. */
export class PhoneNetwork<Call extends PhoneCall = PhoneCall> {
  /** Undefined: the app is set up right. */
  setUpFault: SetUpFault | undefined;
  readonly #options: Required<NetworkOptions>;
  readonly #errors: Errors;
  readonly #calls = new Map<string, Call>();
  readonly #refused: { readonly at: string; request: string; status: number; reason: string }[] = [];
  /** How many requests of a kind there were about a number. */
  readonly #requests = new Map<string, number>();
  #nextStartAt = 0;

  constructor(options: NetworkOptions, errors: Errors) {
    const defaults = {
      lines: Infinity,
      whenFull: 'refuses',
      callsPerSecond: Infinity,
      print: () => undefined,
    } as const;
    this.#options = { ...defaults, ...options };
    this.#errors = errors;
  }

  get calls(): readonly Call[] {
    return [...this.#calls.values()];
  }

  find(id: string): Call | undefined {
    return this.#calls.get(id);
  }

  /** Carries a request out, or refuses it and remembers a mistake of the app. */
  reply(request: string, carryOut: () => Reply): Reply {
    try {
      return carryOut();
    } catch (thrown) {
      const error =
        thrown instanceof z.ZodError ? new Refusal(this.#errors.malformed, z.prettifyError(thrown)) : thrown;
      if (!(error instanceof Refusal)) throw error;
      if (error.isMistake) this.complain(request, error.code[0], error.message);
      return this.#errorAnswer(error.code, error.message);
    }
  }

  /** @throws {Refusal} if the app is not set up right */
  mustBeSetUp(faults: readonly SetUpFault[]): void {
    const fault = faults.find((one) => one === this.setUpFault);
    if (fault !== undefined) throw new Refusal(this.#errors.setUp[fault], 'The simulator was told to refuse.', false);
  }

  /**
   * Places a call, unless the scenario of the number spoils the request, or no line is free.
   *
   * @param answerOf the answer about a call that has not begun
   */
  place(to: string, make: (parts: CallParts) => Call, answerOf: (call: Call) => Answer): Reply {
    const { lines, whenFull, callsPerSecond, pace, print } = this.#options;
    const spoiled = this.#spoil(to, 'createCall');
    if (spoiled?.isCarriedOut === false) return spoiled.reply;
    const withLine = this.calls.filter((call) => call.hasLine);
    const hasLine = withLine.filter((call) => call.state !== 'ended').length < lines;
    if (!hasLine) print(`${to}: no line is free`);
    if (!hasLine && whenFull === 'refuses') throw new Refusal(this.#errors.noLine, 'No line is free.', false);
    const earlierCalls = withLine.filter((call) => call.to === to).length;
    const complain = this.complain.bind(this);
    const call = make({ earlierCalls, hasLine, pace, print, complain });
    this.#calls.set(call.id, call);
    const answer = answerOf(call);
    const reply = spoiled?.reply ?? answer;
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

  /** Remembers a mistake of the app. */
  complain(request: string, status: number, reason: string): void {
    this.#refused.push({ at: new Date().toISOString(), request, status, reason });
    this.#options.print(`refused: ${request}: ${reason}`);
  }

  log(published: EventTopic['published'] = []) {
    return {
      calls: this.calls.map((call) => call.told()),
      /** Requests that the app should not have sent, and answers that it should not have given. `request` is method and path. */
      refused: [...this.#refused],
      published: [...published],
    };
  }

  stop(): void {
    for (const call of this.calls) call.stop();
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
    const fault = (faults?.always === true ? planned[earlier % planned.length] : planned[earlier]) ?? 'none';
    if (fault === 'none') return undefined;
    if (typeof fault === 'string') return { reply: fault, isCarriedOut: fault === 'answer lost' };
    const { code, retryAfterSeconds, hasEnded = false } = fault;
    const answer = this.#errorAnswer(this.#errors.ofScenario(code), 'The number asked for this.');
    const headers = retryAfterSeconds === undefined ? {} : { headers: { 'retry-after': `${retryAfterSeconds}` } };
    return { reply: { ...answer, ...headers }, isCarriedOut: hasEnded };
  }
}

/** For the story: a status, or the event in place of an answer. */
const nameOf = (reply: Reply): string => (typeof reply === 'string' ? reply : String(reply.status));
