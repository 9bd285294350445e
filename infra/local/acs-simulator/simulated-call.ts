import { randomUUID } from 'node:crypto';

import { callEvent, participants } from './call-events.ts';
import type { Deliveries } from './deliveries.ts';
import { type Result, type Scenario, scenarioOf } from './scenarios.ts';
import type { CallStory, StoryLine } from './story.ts';
import type { CreateCallBody, PlayBody } from './wire.ts';

/** How long things take, in milliseconds. */
export interface Pace {
  /** From the request to an answer, or to giving up. */
  readonly ringMs: number;
  /** Between two events. */
  readonly eventMs: number;
  /** To speak the message. */
  readonly speakMs: number;
}

const OK: Result = [200, 0];

/** One call: what the callee does, and the events about it. */
export class SimulatedCall {
  readonly id = randomUUID();
  readonly scenario: Scenario;
  readonly requests = { createCall: 1, play: 0, hangUp: 0 };
  readonly #body: CreateCallBody;
  readonly #pace: Pace;
  readonly #deliveries: Deliveries;
  readonly #print: (line: string) => void;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #story: StoryLine[] = [];
  readonly #spoken: string[] = [];
  readonly #serverCallId = Buffer.from(`https://simulator/${this.id}`).toString('base64url');
  readonly #correlationId = randomUUID();
  #state: CallStory['state'] = 'ringing';
  #speaking: string | undefined;

  constructor(body: CreateCallBody, pace: Pace, deliveries: Deliveries, print: (line: string) => void) {
    this.#body = body;
    this.#pace = pace;
    this.#deliveries = deliveries;
    this.#print = print;
    this.scenario = scenarioOf(this.to);
  }

  get to(): string {
    return this.#body.targets[0].phoneNumber.value;
  }

  get state(): CallStory['state'] {
    return this.#state;
  }

  /** What createCall is answered with. */
  properties(): object {
    return {
      callConnectionId: this.id,
      callConnectionState: 'connecting',
      correlationId: this.#correlationId,
      targets: this.#body.targets,
      sourceCallerIdNumber: this.#body.sourceCallerIdNumber,
      callbackUri: this.#body.callbackUri,
    };
  }

  told(): CallStory {
    return {
      id: this.id,
      to: this.to,
      from: this.#body.sourceCallerIdNumber.value,
      scenario: this.scenario.name,
      callbackUri: this.#body.callbackUri,
      state: this.#state,
      spoken: [...this.#spoken],
      requests: { ...this.requests },
      story: [...this.#story],
    };
  }

  note(kind: StoryLine['kind'], text: string, answer?: string): void {
    this.#story.push({ at: new Date().toISOString(), kind, text, ...(answer === undefined ? {} : { answer }) });
  }

  /** Starts ringing. */
  begin(): void {
    const { unreachable, connectedFirst } = this.scenario;
    if (unreachable !== undefined) {
      this.#after(this.#pace.ringMs, () => {
        this.#state = 'ended';
        this.#report('CreateCallFailed', unreachable);
      });
    } else if (connectedFirst === true) this.#answer();
    else this.#after(this.#pace.ringMs, () => this.#answer());
  }

  /** Speaks; the call must be connected. */
  play({ playSources, operationContext }: PlayBody): void {
    const { eventMs, speakMs } = this.#pace;
    const { text } = playSources[0].text;
    const { playFails, calleeHangsUp, reordered } = this.scenario;
    this.#speaking = operationContext;
    if (playFails !== undefined) {
      this.#after(eventMs, () => this.#spoke('PlayFailed', playFails));
      return;
    }
    this.#after(eventMs, () => {
      if (reordered !== true) this.#report('PlayStarted', OK, operationContext);
      this.#spoken.push(text);
      this.note('speech', text);
      this.#print(`${this.to} hears: ${text}`);
    });
    if (calleeHangsUp === true) this.#after(eventMs + speakMs / 2, () => this.#end());
    else this.#after(eventMs + speakMs, () => this.#spoke('PlayCompleted', OK));
    if (reordered === true) this.#after(eventMs * 2 + speakMs, () => this.#report('PlayStarted', OK, operationContext));
  }

  /** The app hangs up for everyone. */
  terminate(): void {
    this.#end();
  }

  /** No more events. */
  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #answer(): void {
    const { reordered, unknownKinds } = this.scenario;
    const { eventMs } = this.#pace;
    this.#state = 'connected';
    this.#print(`${this.to} answers`);
    const callee = participants(this.to);
    if (unknownKinds === true) this.#report('CallTimeTravelled', OK);
    if (reordered === true) this.#report('ParticipantsUpdated', OK, undefined, callee);
    this.#after(reordered === true ? eventMs : 0, () => this.#report('CallConnected', OK));
    if (reordered !== true) this.#after(eventMs, () => this.#report('ParticipantsUpdated', OK, undefined, callee));
    if (unknownKinds === true) this.#after(eventMs, () => this.#report('RecognizeFizzled', [400, 1]));
  }

  #spoke(kind: 'PlayCompleted' | 'PlayFailed' | 'PlayCanceled', result: Result): void {
    const context = this.#speaking;
    this.#speaking = undefined;
    this.#report(kind, result, context);
  }

  #end(): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.stop();
    this.#print(`${this.to}: the line is closed`);
    if (this.#speaking !== undefined) this.#spoke('PlayCanceled', OK);
    this.#after(this.#pace.eventMs, () => this.#report('CallDisconnected', OK));
    if (this.scenario.reordered === true) this.#after(this.#pace.eventMs * 2, () => this.#report('CallConnected', OK));
  }

  #report(kind: string, result: Result, context = this.#body.operationContext, more?: object): void {
    const { lost, copies } = this.scenario;
    if (kind === lost) {
      this.note('event', kind, 'lost');
      return;
    }
    const subject = {
      callId: this.id,
      serverCallId: this.#serverCallId,
      correlationId: this.#correlationId,
      operationContext: context,
    };
    const event = callEvent(kind, subject, result, more);
    const times = (kind === 'CallConnected' ? copies?.CallConnected : undefined) ?? copies?.all ?? 1;
    for (let copy = 1; copy <= times; copy += 1) {
      const index = this.#story.length;
      this.note('event', kind);
      this.#deliveries.post(this.#body.callbackUri, event, (answer) => {
        const line = this.#story[index];
        if (line === undefined) return;
        this.#story[index] = { ...line, answer: line.answer === undefined ? answer : `${line.answer}, ${answer}` };
      });
    }
  }

  #after(ms: number, happen: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      happen();
    }, ms);
    this.#timers.add(timer);
  }
}
