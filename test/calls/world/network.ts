import type { CallEventKind, CallResult } from '../../../src/calls/call-event.ts';
import { type CallId, parseCallId } from '../../../src/calls/call-id.ts';
import { type CallRequest, LONGEST_RINGING_MS, PhoneLineError } from '../../../src/calls/phone-line.ts';
import type { Chance } from './random.ts';
import type { Story } from './story.ts';

/** How many calls the network carries at the same time. */
export const LINES = 2;
/** How long the message is spoken, in milliseconds. */
export const SPEAKING_MS = 8_000;
/** How long after the request the message starts at the latest, in milliseconds. */
export const SPEAKS_WITHIN_MS = 600;

/** What becomes of a call. */
export type Fate = 'answers' | 'busy' | 'no answer' | 'declines' | 'hangs up early' | 'hangs up late' | 'throttled';

const FATES: readonly (readonly [probability: number, fate: Fate])[] = [
  [0.45, 'answers'],
  [0.15, 'busy'],
  [0.15, 'no answer'],
  [0.05, 'declines'],
  [0.1, 'hangs up early'],
  [0.05, 'hangs up late'],
  [0.05, 'throttled'],
];

/** The message as it is spoken into a call. Times are in milliseconds since 1970. */
export interface Speech {
  readonly requestedAt: number;
  isWhole: boolean;
  /** Who ended the call before the message was over. */
  cutBy: 'callee' | 'service' | undefined;
}

/** A call as the network knows it. Times are in milliseconds since 1970. */
export interface NetworkCall {
  readonly id: CallId;
  readonly request: CallRequest;
  readonly fate: Fate;
  readonly placedAt: number;
  readonly speeches: Speech[];
  state: 'ringing' | 'up' | 'ended';
  answeredAt: number | undefined;
  endedAt: number | undefined;
  /** Whether any event of it, or the answer to its request, has reached the service. */
  isKnown: boolean;
}

/** Sends an event about a call. */
export type Post = (call: NetworkCall, kind: CallEventKind, result?: CallResult) => void;

/** A telephone network with {@link LINES} lines. It does what it is asked at once and without faults; the callees differ. */
export class TelephoneNetwork {
  readonly #calls = new Map<string, NetworkCall>();
  readonly #byAttempt = new Map<string, NetworkCall>();
  readonly #chance: Chance;
  readonly #story: Story;
  readonly #post: Post;

  constructor(chance: Chance, story: Story, post: Post) {
    this.#chance = chance;
    this.#story = story;
    this.#post = post;
  }

  /** All calls that were ever placed, in that order. */
  get calls(): readonly NetworkCall[] {
    return [...this.#calls.values()];
  }

  /** Places a call; the same attempt again places no second one. @throws {PhoneLineError} where no line is free */
  call(request: CallRequest): CallId {
    const { attemptId } = request.attempt;
    const known = this.#byAttempt.get(attemptId);
    if (known !== undefined) return known.id;
    const underWay = this.calls.filter(({ state }) => state !== 'ended').length;
    if (underWay >= LINES) throw new PhoneLineError('throttled', 'no line is free', { code: 429 });
    const id = parseCallId(`call-${this.#calls.size + 1}`);
    if (id === undefined) throw new Error('not a call id');
    const call: NetworkCall = {
      id,
      request,
      fate: this.#chance.byProbability(FATES) ?? 'answers',
      placedAt: Date.now(),
      speeches: [],
      state: 'ringing',
      answeredAt: undefined,
      endedAt: undefined,
      isKnown: false,
    };
    this.#calls.set(id, call);
    this.#byAttempt.set(attemptId, call);
    this.#story.tell(`${id} to ${request.number}: ${call.fate}`);
    this.#ring(call);
    return id;
  }

  /** The service knows of a call from now on. */
  reached(callId: CallId): void {
    const call = this.#calls.get(callId);
    if (call !== undefined) call.isKnown = true;
  }

  /** Speaks the message. @throws {PhoneLineError} where nobody is there to hear it */
  speak(callId: CallId): void {
    const call = this.#calls.get(callId);
    if (call === undefined || call.state === 'ended') {
      throw new PhoneLineError('gone', 'call not found', { code: 404, subCode: 8522 });
    }
    if (call.state === 'ringing') throw new PhoneLineError('refused', 'not established', { code: 400 });
    const speech: Speech = { requestedAt: Date.now(), isWhole: false, cutBy: undefined };
    call.speeches.push(speech);
    this.#story.tell(`${callId} hears the message from now on`);
    const whileUp = (ms: number, next: () => void) =>
      setTimeout(() => {
        if (call.state === 'up') next();
      }, ms);
    whileUp(this.#chance.between(20, SPEAKS_WITHIN_MS), () => {
      this.#post(call, 'play started');
      whileUp(SPEAKING_MS, () => {
        speech.isWhole = true;
        this.#story.tell(`${callId} has heard the whole message`);
        this.#post(call, 'play completed');
      });
    });
  }

  /** Ends a call, if it has not ended yet. */
  hangUp(callId: CallId): void {
    const call = this.#calls.get(callId);
    if (call !== undefined) this.#end(call, 'service');
  }

  #ring(call: NetworkCall): void {
    const chance = this.#chance;
    switch (call.fate) {
      case 'busy':
        this.#failAfter(chance.between(100, 8_000), call, { code: 486, meaning: 'busy', reason: 'busy' });
        return;
      case 'no answer': {
        const ms = chance.between(20_000, LONGEST_RINGING_MS);
        this.#failAfter(ms, call, { code: 480, meaning: 'no_answer', reason: 'no answer' });
        return;
      }
      case 'declines':
        this.#failAfter(chance.between(1_000, 20_000), call, { code: 603, meaning: 'declined', reason: 'declined' });
        return;
      case 'throttled': {
        const result: CallResult = { code: 429, subCode: 8529, meaning: 'throttled', reason: 'throttled' };
        this.#failAfter(chance.between(10, 400), call, result);
        return;
      }
      case 'answers':
      case 'hangs up early':
      case 'hangs up late': {
        // Some answer before the answer to the call request arrives.
        const ms = chance.happens(0.2) ? chance.between(20, 100) : chance.between(1_000, 40_000);
        setTimeout(() => this.#answer(call), ms);
      }
    }
  }

  #answer(call: NetworkCall): void {
    if (call.state !== 'ringing') return;
    call.state = 'up';
    call.answeredAt = Date.now();
    this.#story.tell(`${call.id} is answered`);
    this.#post(call, 'connected', { code: 200 });
    if (call.fate === 'answers') return;
    const ms = call.fate === 'hangs up early' ? this.#chance.between(50, 1_500) : this.#chance.between(2_000, 9_000);
    setTimeout(() => this.#end(call, 'callee'), ms);
  }

  #failAfter(ms: number, call: NetworkCall, result: CallResult): void {
    setTimeout(() => {
      if (call.state === 'ended') return;
      call.state = 'ended';
      call.endedAt = Date.now();
      this.#story.tell(`${call.id} is not established: ${result.reason}`);
      this.#post(call, 'create failed', result);
    }, ms);
  }

  #end(call: NetworkCall, by: 'callee' | 'service'): void {
    if (call.state === 'ended') return;
    this.#story.tell(`${call.id} is ended by the ${by}`);
    call.state = 'ended';
    call.endedAt = Date.now();
    for (const speech of call.speeches) {
      if (speech.isWhole) continue;
      speech.cutBy = by;
      this.#post(call, 'play canceled');
    }
    this.#post(call, 'disconnected', { code: 200, subCode: 0 });
  }
}
