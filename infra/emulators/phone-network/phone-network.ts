import type { EventTopic } from './event-topic.ts';
import { type Answer, Refusal, type Reply } from './http-answer.ts';
import type { CallParts, Pace, PhoneCall } from './phone-call.ts';
import { type Fault, type RequestKind, scenarioOf } from './scenarios.ts';
import type { SimulatorLog } from './story.ts';

/** How a simulated telephone network behaves. */
export interface NetworkOptions {
  readonly pace: Pace;
  /** How many calls there may be at a time. A line is taken from the request until the call's end. */
  readonly lines: number;
  /** If all lines are busy: the request is refused, or the call is accepted and declined a moment later (603). */
  readonly whenFull: 'refuses' | 'declines';
  readonly print: (line: string) => void;
}

/**
 * How the provider refuses everything, the check of the provider too: it does not know the credential (401), permits nothing (403), or does not
 * have the caller's number (`number`; ACS answers 403 then).
 */
export type SetUpFault = 401 | 403 | 'number';

/** A fault in the words of a provider. */
export type FaultAnswer = (fault: Extract<Fault, object>) => Answer;

/** What a request met in place of success. */
interface Met {
  readonly reply: Reply;
  /** For the story: a status, or what happened in place of an answer. */
  readonly name: string;
  readonly isCarriedOut: boolean;
}

/** The simulated telephone network: its lines, its calls, and the faults that requests meet. */
export class PhoneNetwork<Call extends PhoneCall> {
  readonly #options: NetworkOptions;
  readonly #calls = new Map<string, Call>();
  readonly #refused: SimulatorLog['refused'][number][] = [];
  readonly #turnedAway: SimulatorLog['turnedAway'][number][] = [];
  /** How many faults each number's requests have met. */
  readonly #met = new Map<string, number>();
  /** What is wrong with the app's set-up; undefined: nothing. */
  setUpFault: SetUpFault | undefined;

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  get calls(): readonly Call[] {
    return [...this.#calls.values()];
  }

  find(id: string): Call | undefined {
    return this.#calls.get(id);
  }

  /** The common parts of a new call; undefined: no line is free. */
  lineTo(to: string): Pick<CallParts, 'earlierCalls' | 'hasLine' | 'pace' | 'print'> | undefined {
    const { lines, whenFull, pace, print } = this.#options;
    const withLine = this.calls.filter((call) => call.hasLine);
    const hasLine = withLine.filter((call) => call.state !== 'ended').length < lines;
    if (!hasLine) {
      this.#turnedAway.push({ at: new Date().toISOString(), to });
      print(`${to}: no line is free`);
      if (whenFull === 'refuses') return undefined;
    }
    return { earlierCalls: withLine.filter((call) => call.to === to).length, hasLine, pace, print };
  }

  /** Adds a call, and how its request was answered. */
  add(call: Call, answered: string): void {
    this.#calls.set(call.id, call);
    call.note('request', 'createCall', answered);
  }

  /** The next fault that the number's scenario has for a request of this kind; undefined: none. */
  meet(to: string, kind: RequestKind, answerOf: FaultAnswer): Met | undefined {
    const { faults } = scenarioOf(to);
    const planned = faults?.[kind] ?? [];
    const met = this.#met.get(`${kind} ${to}`) ?? 0;
    this.#met.set(`${kind} ${to}`, met + 1);
    const fault = (faults?.always === true ? planned[met % planned.length] : planned[met]) ?? 'none';
    if (fault === 'none') return undefined;
    if (typeof fault === 'string') return { reply: fault, name: fault, isCarriedOut: fault === 'answer lost' };
    const answer = answerOf(fault);
    return { reply: answer, name: String(answer.status), isCarriedOut: fault.hasEnded === true };
  }

  /** Carries a request out, or refuses it and remembers that. */
  reply<Replied extends Reply>(request: string, carryOut: () => Replied): Replied | Answer {
    try {
      return carryOut();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.isMistake) this.complain(request, error.answer.status, error.message);
      return error.answer;
    }
  }

  /** Remembers what the app should not have done. */
  complain(request: string, status: number, reason: string): void {
    this.#refused.push({ at: new Date().toISOString(), request, status, reason });
    this.#options.print(`refused: ${request}: ${reason}`);
  }

  log(topic: Pick<EventTopic, 'published'> = { published: [] }, keyFetches = 0): SimulatorLog {
    return {
      calls: this.calls.map((call) => call.told()),
      refused: [...this.#refused],
      turnedAway: [...this.#turnedAway],
      published: [...topic.published],
      keyFetches,
    };
  }

  stop(): void {
    for (const call of this.calls) call.stop();
  }
}
