import { Timeline } from '../timeline.ts';
import type { AppAnswer, PostEvent } from './deliveries.ts';
import { type KeyPress, NO_LINE, type Result, scenarioOf } from './scenarios.ts';

/** Durations of a call, in milliseconds. */
export interface Pace {
  /** From the call request to an answer, or until the network gives up. */
  readonly ringMs: number;
  /** Between two events. */
  readonly eventMs: number;
  /** To speak a text. */
  readonly speakMs: number;
}

/** Parts of a call that come from the network. */
export interface CallParts<Event> {
  readonly to: string;
  /** How many calls to the number there were before. */
  readonly earlierCalls: number;
  readonly pace: Pace;
  readonly print: (line: string) => void;
  readonly post: PostEvent<Event>;
  /** Remembers a mistake of the app. */
  readonly complain: (request: string, status: number, reason: string) => void;
}

/** One step of a call. */
interface CallStep {
  /** ISO 8601, UTC. All times of the steps have this form. */
  readonly at: string;
  /** The app asked, the provider reported, the voice spoke. */
  readonly kind: 'request' | 'event' | 'speech';
  /** Such as `createCall`, `CallConnected`, the spoken text. */
  readonly text: string;
  /** The HTTP status of the answer: to a request, or to an event. Without an answer, the reason. */
  answer?: string | undefined;
}

/** A text that the callee hears, at least its beginning. */
interface Speech {
  readonly text: string;
  readonly startedAt: number;
  endedAt?: number;
  /** False if it was interrupted, and while the voice still speaks. */
  isComplete: boolean;
  readonly end: (isComplete: boolean) => void;
}

/** `network`: the callee was not reached, or a limit of the provider ended the call. */
type EndedBy = 'app' | 'callee' | 'network';

/** A call in the log of the simulator. */
export type CallLog = ReturnType<PhoneCall['logEntry']>;

const iso = (at: number): string => new Date(at).toISOString();

/**
 * A simulated phone and its call, for any provider. The phone rings, and the callee answers, hears, presses keys, declines and hangs up, as the
 * scenario of the number says. The subclass of each provider reports this in the provider's terms.
 */
export abstract class PhoneCall<Event = never> {
  readonly id: string;
  readonly to: string;
  /** The number of the caller, or the id of the Teams resource account that calls. */
  readonly from: string;
  readonly createdAt = Date.now();
  endedBy: EndedBy | undefined;
  protected rangAt: number | undefined;
  protected answeredAt: number | undefined;
  protected endedAt: number | undefined;
  protected readonly parts: CallParts<Event>;
  protected readonly pace: Pace;
  protected readonly scenario;
  protected readonly timeline = new Timeline();
  /** Reports that are posted after the end of the call. */
  protected readonly lateReports: (() => void)[] = [];
  readonly #steps: CallStep[] = [];
  readonly #speeches: Speech[] = [];
  /** Keys that the callee pressed before the service listened. */
  readonly #unheard: KeyPress[] = [];
  #isListening = false;

  constructor(parts: CallParts<Event>, id: string, from: string) {
    this.parts = parts;
    ({ to: this.to, pace: this.pace } = parts);
    this.id = id;
    this.from = from;
    this.scenario = scenarioOf(this.to);
  }

  /** The call as the provider's API answers it. */
  abstract resource(): object;
  protected onRinging(): void {}
  protected abstract onAnswered(): void;
  /** @param why undefined: the service hung up before an answer, or the call was answered */
  protected abstract onEnded(why: Result | undefined): void;
  /** The callee presses a key, and the service listens. */
  protected abstract onKey(press: KeyPress): void;

  get state(): 'queued' | 'ringing' | 'connected' | 'ended' {
    if (this.endedAt !== undefined) return 'ended';
    if (this.answeredAt !== undefined) return 'connected';
    return this.rangAt === undefined ? 'queued' : 'ringing';
  }

  /** Dials, after a time in the queue of the provider. */
  begin(afterMs = 0): void {
    if (afterMs > 0) return this.timeline.after(afterMs, () => this.begin());
    const { unreachable, firstCalls = [], ringing = 1, connectedFirst } = this.scenario;
    const failure = firstCalls[this.parts.earlierCalls] ?? unreachable;
    this.rangAt = Date.now();
    this.parts.print(`${this.to} rings (${this.scenario.name})`);
    this.onRinging();
    if (connectedFirst === true) return this.#answer();
    const ringMs = failure === NO_LINE ? this.pace.eventMs : this.pace.ringMs * ringing;
    return this.timeline.after(ringMs, () => (failure === undefined ? this.#answer() : this.end('network', failure)));
  }

  /** Closes the line, and cancels the planned steps of the call. */
  end(by: EndedBy, why?: Result): void {
    if (this.state === 'ended') return;
    this.endedAt = Date.now();
    this.endedBy = by;
    this.stop();
    this.silence();
    this.parts.print(`${this.to}: the line is closed`);
    this.onEnded(why);
    for (const report of this.lateReports) report();
  }

  stop(): void {
    this.timeline.clear();
  }

  note(kind: CallStep['kind'], text: string, answer?: string): CallStep {
    const line = { at: iso(Date.now()), kind, text, answer };
    this.#steps.push(line);
    return line;
  }

  /** Whether the scenario loses an event; then the log of the call has an entry. @param name the name of the event at ACS @param text its name in the log */
  protected isLost(name: string, text = name): boolean {
    const isLost = this.scenario.lost?.includes(name) === true;
    if (isLost) this.note('event', text, 'lost');
    return isLost;
  }

  /** Posts an event to the app as often as the scenario says, and adds the answers to the log of the call. @returns the first answer */
  protected async report(text: string, url: string, event: Event, afterMs = 0): Promise<AppAnswer | undefined> {
    const post = async (): Promise<AppAnswer | undefined> => {
      const line = this.note('event', text);
      const answer = await this.parts.post(url, event, afterMs);
      line.answer = String(answer?.status ?? 'unreachable');
      return answer;
    };
    const [answer] = await Promise.all(Array.from({ length: this.scenario.copies ?? 1 }, post));
    return answer;
  }

  /** The callee begins to hear a text, and does what the scenario says. @param over is called once, when the text ends or is interrupted */
  protected speak(text: string, over: (isComplete: boolean) => void): Speech {
    const { hangsUpAt, presses = [], callsWithoutKey = 0 } = this.scenario;
    const { speakMs } = this.pace;
    const end = (isComplete: boolean): void => {
      if (speech.endedAt !== undefined) return;
      speech.endedAt = Date.now();
      speech.isComplete = isComplete;
      over(isComplete);
    };
    const speech: Speech = { text, startedAt: Date.now(), isComplete: false, end };
    const index = this.#speeches.push(speech) - 1;
    this.note('speech', text);
    this.parts.print(`${this.to} hears: ${text}`);
    this.timeline.after(speakMs, () => end(true));
    for (const press of this.parts.earlierCalls < callsWithoutKey ? [] : presses) {
      if (press.speech !== index) continue;
      if (press.at === 0) this.#press(press);
      else this.timeline.after(speakMs * press.at + (press.laterMs ?? 0), () => this.#press(press));
    }
    if (index === 0 && hangsUpAt !== undefined) this.timeline.after(speakMs * hangsUpAt, () => this.end('callee'));
    return speech;
  }

  /** Interrupts the current speech. */
  protected silence(): void {
    for (const speech of this.#speeches) speech.end(false);
  }

  /** The service listens from now on. A callee who pressed a key before presses it again, so that the pace of the service does not matter. */
  protected startListening(): void {
    this.#isListening = true;
    for (const press of this.#unheard.splice(0)) this.timeline.after(this.pace.eventMs, () => this.#press(press));
  }

  protected stopListening(): void {
    this.#isListening = false;
  }

  /** The call, for the log of the simulator. It shows the number unmasked, because no person has it. */
  logEntry() {
    const { id, to, from, state, endedBy } = this;
    return {
      id,
      to,
      from,
      scenario: this.scenario.name,
      state,
      endedBy,
      spoken: this.#speeches.map(({ text }) => text),
      speeches: this.#speeches.map(({ text, startedAt, endedAt = Date.now(), isComplete }) => ({
        text,
        startedAt: iso(startedAt),
        spokenMs: endedAt - startedAt,
        isComplete,
      })),
      steps: this.#steps.map((line) => ({ ...line })),
    };
  }

  #answer(): void {
    this.stop();
    this.answeredAt = Date.now();
    this.parts.print(`${this.to} answers`);
    this.onAnswered();
    // By then the app has sent its request to speak, which arrives after the end of the call.
    if (this.scenario.hangsUpAt === 0) this.timeline.after(1, () => this.end('callee'));
  }

  #press(press: KeyPress): void {
    if (!this.#isListening) return void this.#unheard.push(press);
    this.parts.print(`${this.to} presses ${press.key}`);
    return this.onKey(press);
  }
}
