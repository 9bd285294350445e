import { Timeline } from '../timeline.ts';
import { DECLINED_OR_NO_LINE, type KeyPress, NO_LINE, type Result, type Scenario, scenarioOf } from './scenarios.ts';
import type { CallStory, EndedBy, Speech, StoryLine } from './story.ts';

/** How long things take, in milliseconds. */
export interface Pace {
  /** From the call request to an answer, or to giving up. */
  readonly ringMs: number;
  /** Between two events. */
  readonly eventMs: number;
  /** To speak a text. */
  readonly speakMs: number;
  /** A second of Twilio's instructions; 1,000 by default. */
  readonly secondMs?: number;
}

/** What every simulated call needs. */
export interface CallParts {
  readonly id: string;
  readonly to: string;
  /** The caller's number, or the id of the Teams resource account that calls. */
  readonly from: string;
  readonly callbackUri: string;
  /** How often the number has been called before. */
  readonly earlierCalls: number;
  /** False: the network declines the call after it was accepted, because all lines are busy. */
  readonly hasLine: boolean;
  readonly pace: Pace;
  readonly print: (line: string) => void;
}

/** A text that the callee hears. */
interface Heard {
  readonly text: string;
  readonly startedAt: number;
  endedAt?: number;
  isComplete: boolean;
}

const LATE_MS = 3_500;
const iso = (at: number): string => new Date(at).toISOString();

/**
 * A simulated phone and its call, whoever the provider is: it rings, is answered, hears, presses keys, declines and hangs up, as the scenario of its
 * number says. A provider's own call says in its words what happens.
 */
export abstract class PhoneCall {
  readonly id: string;
  readonly to: string;
  readonly pace: Pace;
  readonly hasLine: boolean;
  readonly scenario: Scenario;
  readonly createdAt = Date.now();
  endedBy: EndedBy | undefined;
  protected rangAt: number | undefined;
  protected answeredAt: number | undefined;
  protected endedAt: number | undefined;
  protected readonly timeline = new Timeline();
  readonly #parts: CallParts;
  readonly #story: StoryLine[] = [];
  readonly #heard: Heard[] = [];
  /** Pressed while the service did not listen. */
  readonly #unheard: KeyPress[] = [];
  #state: 'queued' | CallStory['state'] = 'queued';

  constructor(parts: CallParts) {
    this.#parts = parts;
    ({ id: this.id, to: this.to, pace: this.pace, hasLine: this.hasLine } = parts);
    this.scenario = scenarioOf(parts.to);
  }

  /** The phone rings: its call is on the line. */
  protected onRinging(): void {}
  protected abstract onAnswered(): void;
  /** @param why undefined: the service hung up before an answer, or the call was answered */
  protected abstract onEnded(wasAnswered: boolean, why: Result | undefined): void;
  /** A key is pressed, and the service listens. */
  protected abstract onKey(press: KeyPress): void;
  /** Whether the service listens for keys. */
  protected abstract get isListening(): boolean;

  get state(): 'queued' | CallStory['state'] {
    return this.#state;
  }

  /** Dials, unless the call was canceled in a queue. */
  begin(): void {
    if (this.#state !== 'queued') return;
    const { unreachable, firstCalls = [], ringing = 1, connectedFirst } = this.scenario;
    const { earlierCalls, hasLine, pace, print } = this.#parts;
    const failure = hasLine ? (firstCalls[earlierCalls] ?? unreachable) : DECLINED_OR_NO_LINE;
    this.#state = 'ringing';
    this.rangAt = Date.now();
    print(`${this.to} rings (${this.scenario.name})`);
    this.onRinging();
    if (failure === undefined && connectedFirst === true) return this.#answer();
    const ringMs = failure === NO_LINE || !hasLine ? pace.eventMs : pace.ringMs * ringing;
    this.timeline.after(ringMs, () => (failure === undefined ? this.#answer() : this.end('network', failure)));
  }

  /** The line is closed. What was under way does not happen any more. */
  end(by: EndedBy, why?: Result): void {
    if (this.#state === 'ended') return;
    const wasAnswered = this.#state === 'connected';
    this.#state = 'ended';
    this.endedAt = Date.now();
    this.endedBy = by;
    this.stop();
    this.silence();
    this.#parts.print(`${this.to}: the line is closed`);
    this.onEnded(wasAnswered, why);
  }

  /** Nothing more happens. */
  stop(): void {
    this.timeline.clear();
  }

  note(kind: StoryLine['kind'], text: string, answer?: string): StoryLine {
    const line = { at: iso(Date.now()), kind, text, ...(answer === undefined ? {} : { answer }) };
    this.#story.push(line);
    return line;
  }

  /** Adds to the story what the app answered to an event. */
  protected answered(line: StoryLine, answer: string): void {
    this.#story[this.#story.indexOf(line)] = { ...line, answer };
  }

  /** How often an event arrives; 0: it is lost, which is noted. @param name that of ACS @param text that of the story */
  protected copiesOf(name: string, text = name): number {
    const { lost = [], copies = 1 } = this.scenario;
    if (!lost.some((event) => event === name)) return copies;
    this.note('event', text, 'lost');
    return 0;
  }

  /** The callee begins to hear a text, and does what the scenario says. @param over is called when it was heard to its end */
  protected speak(text: string, over: () => void): void {
    const { calleeHangsUp } = this.scenario;
    const { speakMs } = this.pace;
    const heard: Heard = { text, startedAt: Date.now(), isComplete: false };
    const number = this.#heard.push(heard) - 1;
    this.note('speech', text);
    this.#parts.print(`${this.to} hears: ${text}`);
    this.timeline.after(speakMs, () => {
      if (heard.endedAt !== undefined) return;
      heard.endedAt = Date.now();
      heard.isComplete = true;
      over();
    });
    const pressedAfter = {
      'mid-message': speakMs * 0.5,
      'soon after': speakMs * 0.6,
      'at the end': speakMs,
      late: speakMs + LATE_MS,
    };
    for (const press of this.#pressesIn(number)) {
      if (press.when === 'at the start') this.#press(press);
      else this.timeline.after(pressedAfter[press.when], () => this.#press(press));
    }
    if (number > 0) return;
    if (calleeHangsUp === 'mid-message') this.timeline.after(speakMs * 0.5, () => this.end('callee'));
    if (calleeHangsUp === 'after three quarters') this.timeline.after(speakMs * 0.75, () => this.end('callee'));
  }

  /** What is being said stops. */
  protected silence(): void {
    for (const heard of this.#heard) heard.endedAt ??= Date.now();
  }

  /** The service listens from now on. A callee who pressed a key before presses it again, so that the pace of the service does not matter. */
  protected beginsToListen(): void {
    for (const press of this.#unheard.splice(0)) this.timeline.after(this.pace.eventMs, () => this.#press(press));
  }

  told(): CallStory {
    const { id, to, from, callbackUri } = this.#parts;
    const asked = (name: string): number =>
      this.#story.filter(({ kind, text }) => kind === 'request' && text === name).length;
    return {
      id,
      to,
      from,
      scenario: this.scenario.name,
      callbackUri,
      state: this.#state === 'queued' ? 'ringing' : this.#state,
      rangAt: iso(this.rangAt ?? this.createdAt),
      ...(this.answeredAt === undefined ? {} : { answeredAt: iso(this.answeredAt) }),
      ...(this.endedAt === undefined ? {} : { endedAt: iso(this.endedAt) }),
      ...(this.endedBy === undefined ? {} : { endedBy: this.endedBy }),
      spoken: this.#heard.map(({ text }) => text),
      speeches: this.#heard.map(({ text, startedAt, endedAt = Date.now(), isComplete }): Speech => ({
        text,
        startedAt: iso(startedAt),
        spokenMs: endedAt - startedAt,
        isComplete,
      })),
      requests: {
        createCall: asked('createCall'),
        play: asked('play'),
        listen: asked('listen'),
        hangUp: asked('hangUp'),
      },
      story: [...this.#story],
    };
  }

  #answer(): void {
    this.stop();
    this.#state = 'connected';
    this.answeredAt = Date.now();
    this.#parts.print(`${this.to} answers`);
    this.onAnswered();
    // Speech is on its way by then: it meets a call that is over.
    if (this.scenario.calleeHangsUp === 'before the message') this.timeline.after(1, () => this.end('callee'));
  }

  #pressesIn(speech: number): readonly KeyPress[] {
    const { presses = [], callsWithoutKey = 0 } = this.scenario;
    return this.#parts.earlierCalls < callsWithoutKey ? [] : presses.filter((press) => (press.speech ?? 0) === speech);
  }

  #press(press: KeyPress): void {
    if (!this.isListening) {
      this.#unheard.push(press);
      return;
    }
    this.#parts.print(`${this.to} presses ${press.key}`);
    this.onKey(press);
  }
}
