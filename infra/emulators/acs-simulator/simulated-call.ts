import { randomUUID } from 'node:crypto';

import { Timeline } from '../timeline.ts';
import type { Deliveries } from './deliveries.ts';
import { type KeyPress, type Result, type Scenario, scenarioOf } from './scenarios.ts';
import type { CallStory, EndedBy, StoryLine } from './story.ts';
import { callEvent, type CreateCallBody, participants, type PlayBody } from './wire.ts';

/** How long things take, in milliseconds. */
export interface Pace {
  /** From the request to an answer, or to giving up. */
  readonly ringMs: number;
  /** Between two events. */
  readonly eventMs: number;
  /** To speak the message. */
  readonly speakMs: number;
}

/** What a simulated call needs. */
export interface CallOptions {
  readonly body: CreateCallBody;
  /** How often the number has rung before. */
  readonly earlierCalls: number;
  readonly pace: Pace;
  readonly deliveries: Pick<Deliveries, 'post' | 'later'>;
  readonly print: (line: string) => void;
}

/** A request to speak that is under way. */
interface Play {
  readonly context: string;
  speech?: { readonly text: string; readonly startedAt: number; endedAt?: number; isComplete: boolean };
}

const OK: Result = [200, 0];
const LATE_MS = 3_500;
const TONE_RECEIVED = 'ContinuousDtmfRecognitionToneReceived';
const CANCELLED_BY_CALLER: Result = [487, 540_487];

/** One call: what the callee does, and the events about it. */
export class SimulatedCall {
  readonly id = randomUUID();
  readonly scenario: Scenario;
  readonly #options: CallOptions;
  readonly #timeline = new Timeline();
  readonly #story: StoryLine[] = [];
  readonly #plays = new Set<Play>();
  readonly #speeches: NonNullable<Play['speech']>[] = [];
  readonly #serverCallId = Buffer.from(`https://simulator/${this.id}`).toString('base64url');
  readonly #correlationId = randomUUID();
  readonly #rangAt = now();
  /** What comes back with each key; undefined while nobody listens. */
  #listening: { readonly context: string | undefined } | undefined;
  readonly #unheard: (() => void)[] = [];
  readonly #reportedLater: (() => void)[] = [];
  #keys = 0;
  #spoken = 0;
  #state: CallStory['state'] = 'ringing';
  #answeredAt: string | undefined;
  #end: { readonly endedAt: string; readonly endedBy: EndedBy } | undefined;

  constructor(options: CallOptions) {
    this.#options = options;
    this.scenario = scenarioOf(this.to);
  }

  get to(): string {
    return this.#options.body.targets[0].phoneNumber.value;
  }

  get state(): CallStory['state'] {
    return this.#state;
  }

  get endedBy(): EndedBy | undefined {
    return this.#end?.endedBy;
  }

  /** What createCall is answered with. */
  properties(): object {
    const { targets, callbackUri, sourceCallerIdNumber } = this.#options.body;
    return {
      callConnectionId: this.id,
      callConnectionState: 'connecting',
      correlationId: this.#correlationId,
      targets,
      // Undefined is not sent: a Teams resource account calls from no number of ACS.
      sourceCallerIdNumber,
      callbackUri,
    };
  }

  told(): CallStory {
    const requests = this.#story.filter(({ kind }) => kind === 'request');
    const asked = (name: string): number => requests.filter(({ text }) => text === name).length;
    const { sourceCallerIdNumber, teamsAppSource, callbackUri } = this.#options.body;
    return {
      id: this.id,
      to: this.to,
      from: sourceCallerIdNumber?.value ?? teamsAppSource?.appId ?? '',
      scenario: this.scenario.name,
      callbackUri,
      state: this.#state,
      rangAt: this.#rangAt,
      ...(this.#answeredAt === undefined ? {} : { answeredAt: this.#answeredAt }),
      ...this.#end,
      spoken: this.#speeches.map(({ text }) => text),
      speeches: this.#speeches.map(({ text, startedAt, endedAt = Date.now(), isComplete }) => ({
        text,
        startedAt: new Date(startedAt).toISOString(),
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

  note(kind: StoryLine['kind'], text: string, answer?: string): void {
    this.#story.push({ at: now(), kind, text, ...(answer === undefined ? {} : { answer }) });
  }

  /** Starts ringing. */
  begin(): void {
    const { unreachable, firstCalls = [], ringing = 1, connectedFirst } = this.scenario;
    const { earlierCalls, pace } = this.#options;
    const failure = firstCalls[earlierCalls] ?? unreachable;
    if (connectedFirst === true) this.#answer();
    else {
      this.#timeline.after(pace.ringMs * ringing, () => {
        if (failure === undefined) return this.#answer();
        this.#ended('network');
        this.#notEstablished(failure);
      });
    }
  }

  /** Speaks; the call must be connected. What interrupts ends what is being spoken. */
  play({ playSources, operationContext, interruptCallMediaOperation = false }: PlayBody): void {
    const { eventMs, speakMs } = this.#options.pace;
    const { text } = playSources[0].text;
    const { playFails, calleeHangsUp, reordered } = this.scenario;
    if (interruptCallMediaOperation) for (const other of this.#plays) this.#spoke(other, 'PlayCanceled', OK);
    const play: Play = { context: operationContext };
    const number = this.#spoken;
    this.#spoken += 1;
    this.#plays.add(play);
    if (playFails !== undefined) {
      this.#timeline.after(eventMs, () => this.#spoke(play, 'PlayFailed', playFails));
      return;
    }
    const whilePlaying = (ms: number, happen: () => void) => {
      this.#timeline.after(ms, () => {
        if (this.#plays.has(play)) happen();
      });
    };
    whilePlaying(eventMs, () => {
      if (reordered !== true) this.#report('PlayStarted', OK, operationContext);
      play.speech = { text, startedAt: Date.now(), isComplete: false };
      this.#speeches.push(play.speech);
      this.note('speech', text);
      this.#options.print(`${this.to} hears: ${text}`);
    });
    const pressesAfter = {
      'at the start': eventMs / 2,
      'mid-message': eventMs + speakMs / 2,
      'soon after': eventMs + speakMs * 0.6,
    };
    const presses = this.#pressesIn(number);
    for (const press of presses) {
      const { when } = press;
      if (when !== 'at the end' && when !== 'late') this.#timeline.after(pressesAfter[when], () => this.#press(press));
    }
    if (calleeHangsUp === 'mid-message') whilePlaying(eventMs + speakMs / 2, () => this.#hangUp('callee'));
    else if (calleeHangsUp === 'late') whilePlaying(eventMs + speakMs * 0.75, () => this.#hangUp('callee'));
    else {
      whilePlaying(eventMs + speakMs, () => {
        this.#spoke(play, 'PlayCompleted', OK);
        for (const press of presses) {
          if (press.when === 'at the end') this.#press(press);
          else if (press.when === 'late') this.#timeline.after(LATE_MS, () => this.#press(press));
        }
      });
    }
    if (reordered === true)
      this.#timeline.after(eventMs * 2 + speakMs, () => this.#report('PlayStarted', OK, operationContext));
  }

  #pressesIn(number: number): readonly KeyPress[] {
    const { presses = [], callsWithoutKey = 0 } = this.scenario;
    return this.#options.earlierCalls < callsWithoutKey ? [] : presses.filter(({ speech = 0 }) => speech === number);
  }

  /** Reports keys from now on. Who pressed one before, of which ACS tells nobody, presses it again now: how fast the service is does not matter. */
  listen(context: string | undefined): void {
    this.#listening = { context };
    for (const press of this.#unheard.splice(0)) this.#timeline.after(this.#options.pace.eventMs, press);
  }

  /** A request to speak came, and it is not carried out. */
  staysSilent(): void {
    if (this.scenario.calleeHangsUp !== 'in the silence') return;
    this.#timeline.after(this.#options.pace.eventMs, () => this.#hangUp('callee'));
  }

  /** The app hangs up for everyone. */
  terminate(): void {
    this.#hangUp('app');
  }

  /** No more events. */
  stop(): void {
    this.#timeline.clear();
  }

  #answer(): void {
    const { reordered, unknownKinds, calleeHangsUp } = this.scenario;
    const { eventMs } = this.#options.pace;
    this.#state = 'connected';
    this.#answeredAt = now();
    this.#options.print(`${this.to} answers`);
    const callee = participants(this.to);
    if (unknownKinds === true) this.#report('CallTimeTravelled', OK);
    if (reordered === true) this.#report('ParticipantsUpdated', OK, undefined, callee);
    this.#timeline.after(reordered === true ? eventMs : 0, () => this.#report('CallConnected', OK));
    if (reordered !== true)
      this.#timeline.after(eventMs, () => this.#report('ParticipantsUpdated', OK, undefined, callee));
    if (unknownKinds === true) this.#timeline.after(eventMs, () => this.#report('RecognizeFizzled', [400, 1]));
    // The event that lets the app ask to speak is on its way by then: the request meets a call that is over.
    if (calleeHangsUp === 'before the message') this.#timeline.after(1, () => this.#hangUp('callee'));
  }

  #spoke(play: Play, kind: 'PlayCompleted' | 'PlayFailed' | 'PlayCanceled', result: Result): void {
    this.#plays.delete(play);
    if (play.speech !== undefined) {
      play.speech.endedAt = Date.now();
      play.speech.isComplete = kind === 'PlayCompleted';
    }
    this.#report(kind, result, play.context);
  }

  #press({ tone, reported }: KeyPress): void {
    this.#keys += 1;
    this.#options.print(`${this.to} presses ${tone}`);
    const key = { sequenceId: this.#keys, tone };
    if (reported === 'not understood') this.#reportKey('ContinuousDtmfRecognitionToneFailed', [400, 8_500]);
    else if (reported === 'after the call') this.#reportedLater.push(() => this.#reportKey(TONE_RECEIVED, OK, key));
    else this.#reportKey(TONE_RECEIVED, OK, key);
  }

  #reportKey(kind: string, result: Result, key: object = {}): void {
    if (this.#listening === undefined) {
      this.#unheard.push(() => this.#reportKey(kind, result, key));
      return;
    }
    this.#report(kind, result, this.#listening.context, key);
  }

  /** ACS reports such an end twice at about the same time; only CreateCallFailed says why. */
  #notEstablished(why: Result): void {
    const failed = () => this.#report('CreateCallFailed', why);
    if (this.scenario.disconnectedFirst !== true) failed();
    else this.#options.deliveries.later(this.#options.pace.eventMs, failed);
    this.#report('CallDisconnected', OK);
  }

  #hangUp(by: EndedBy): void {
    if (this.#state === 'ended') return;
    const { eventMs } = this.#options.pace;
    const wasRinging = this.#state === 'ringing';
    this.#ended(by);
    this.stop();
    this.#options.print(`${this.to}: the line is closed`);
    for (const play of this.#plays) this.#spoke(play, 'PlayCanceled', OK);
    const { deliveries } = this.#options;
    deliveries.later(eventMs, () => {
      if (wasRinging) this.#notEstablished(CANCELLED_BY_CALLER);
      else this.#report('CallDisconnected', OK);
    });
    for (const report of this.#reportedLater) deliveries.later(eventMs * 3, report);
    if (this.scenario.reordered === true) deliveries.later(eventMs * 2, () => this.#report('CallConnected', OK));
  }

  #ended(endedBy: EndedBy): void {
    this.#state = 'ended';
    this.#end ??= { endedAt: now(), endedBy };
  }

  #report(kind: string, result: Result, context = this.#options.body.operationContext, more?: object): void {
    const { lost = [], copies } = this.scenario;
    if (lost.some((name) => name === kind)) {
      this.note('event', kind, 'lost');
      return;
    }
    const subject = { callConnectionId: this.id, serverCallId: this.#serverCallId, correlationId: this.#correlationId };
    const event = callEvent(kind, { ...subject, operationContext: context }, result, more);
    const times = (kind === 'CallConnected' ? copies?.CallConnected : undefined) ?? copies?.all ?? 1;
    for (let copy = 1; copy <= times; copy += 1) {
      const index = this.#story.length;
      this.note('event', kind);
      this.#options.deliveries.post(this.#options.body.callbackUri, event, (answer) => {
        const line = this.#story[index];
        if (line !== undefined) this.#story[index] = { ...line, answer };
      });
    }
  }
}

const now = (): string => new Date().toISOString();
