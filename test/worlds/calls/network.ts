import {
  type AttemptRef,
  type CallId,
  MESSAGE,
  parseCallId,
  type SpeechNumber,
  type SpeechRef,
} from '../../../src/calls/model/ids.ts';
import {
  type CallEvent,
  type CallEventKind,
  type CallRequest,
  type CallResult,
  PhoneLineError,
  type PressedKey,
} from '../../../src/calls/model/phone-line.ts';
import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import { resultOf } from '../../../src/calls/providers/acs/codes.ts';
import { type Codes, courseOf, type Fate } from './callees.ts';
import type { Ground } from './ground.ts';

/** How a voice of the world speaks, in milliseconds a character: faster than the service may take for sure. */
export const MS_PER_CHARACTER = 65;
/** How long after the request the message starts at the latest, in milliseconds. */
export const SPEAKS_WITHIN_MS = 600;

/** What the callee does this time. @param earlier how many calls to the same number were placed before */
export type FateOf = (number: PhoneNumber | undefined, earlier: number) => Fate;

/** Brings an event about a call to the service; `at once`: once, without delay. */
export type Post = (call: NetworkCall, event: CallEvent, how?: 'at once') => void;

/** What is spoken into a call. Times are in milliseconds since 1970. */
export interface Speech {
  readonly text: string;
  readonly number: SpeechNumber;
  readonly ref: SpeechRef | undefined;
  readonly requestedAt: number;
  startedAt?: number;
  endedAt?: number;
  isWhole?: boolean;
  /** Who ended the call before the speech was over, or that another speech ended it. */
  cutBy?: 'callee' | 'service' | 'another speech';
}

/** A key that was pressed. Times are in milliseconds since 1970. */
export interface Key {
  readonly key: PressedKey['key'];
  readonly pressedAt: number;
  /** When an instance had stored it. Without storage, keys are lost. */
  takenAt?: number;
}

/** A call as the network knows it. Times are in milliseconds since 1970. */
export interface NetworkCall {
  readonly id: CallId;
  /** Undefined: another system placed it. */
  readonly request: CallRequest | undefined;
  readonly fate: Fate | 'turned away';
  readonly placedAt: number;
  readonly speeches: Speech[];
  state: 'ringing' | 'up' | 'ended';
  answeredAt?: number;
  endedAt?: number;
  endedBy?: 'callee' | 'service' | 'network';
  /** What comes back with each key; undefined while nobody listens. */
  listening?: AttemptRef;
  /** The keys of which the service is told, if the event is not lost: by their place. */
  readonly keys: Key[];
  /** How many requests to speak were sent, and whether the answer to one was lost, or a later one failed. */
  speakRequests: number;
  isSpeechUnclear?: boolean;
  /** When the service was told that somebody had answered. */
  answerKnownAt?: number;
  /** When the service asked first to hang it up. */
  hangUpAskedAt?: number;
  /** When the service was told that the message had started. */
  startKnownAt?: number;
  /** When the service was told why nobody was reached. */
  reasonKnownAt?: number;
  /** An event of it has reached the service. */
  isKnown?: boolean;
  /** A stranger has posted an event about it that was not true. */
  isForged?: boolean;
}

const DONE: Codes = [200, 0];

const resultWith = ([code, subCode]: Codes): CallResult => resultOf({ code, subCode });

const gone = (): PhoneLineError =>
  new PhoneLineError({ failure: 'gone', reason: 'call not found', code: 404, subCode: 8_522 });

/** A telephone network with few lines. It does what it is asked at once and without faults; the callees differ. */
export class TelephoneNetwork {
  readonly #ground: Ground;
  readonly #fateOf: FateOf;
  readonly #tell: Post;
  readonly #calls = new Map<string, NetworkCall>();
  readonly #byAttempt = new Map<string, NetworkCall>();

  constructor(ground: Ground, fateOf: FateOf, tell: Post) {
    this.#ground = ground;
    this.#fateOf = fateOf;
    this.#tell = tell;
  }

  /** All calls that were ever placed, in that order. */
  get calls(): readonly NetworkCall[] {
    return [...this.#calls.values()];
  }

  get #taken(): number {
    let taken = 0;
    for (const call of this.#calls.values()) if (call.state !== 'ended' && call.request !== undefined) taken += 1;
    return taken;
  }

  /** A call by its id. @throws {PhoneLineError} if there is none */
  find(callId: CallId): NetworkCall {
    const call = this.#calls.get(callId);
    if (call === undefined) throw gone();
    return call;
  }

  /** Places a call; the same attempt again places no second one. @throws {PhoneLineError} if no line is free */
  call(request: CallRequest): CallId {
    const { mode, chance, now } = this.#ground;
    const { lines, whenLinesAreTaken } = mode;
    const known = this.#byAttempt.get(request.attempt.attemptId);
    if (known !== undefined) return known.id;
    const isTurnedAway = this.#taken >= lines;
    if (isTurnedAway && whenLinesAreTaken === '429') {
      throw new PhoneLineError({ failure: 'capacity', reason: 'throttled', code: 429 });
    }
    const earlier = this.calls.filter((call) => call.request?.number === request.number && call.fate !== 'turned away');
    const fate = isTurnedAway ? 'turned away' : this.#fateOf(request.number, earlier.length);
    const call = this.#open(request, fate);
    this.#byAttempt.set(request.attempt.attemptId, call);
    if (isTurnedAway) {
      // It takes no line.
      call.state = 'ended';
      call.endedAt = now;
      call.endedBy = 'network';
      const why = whenLinesAreTaken === '603' ? 'declines by 603' : 'no line';
      setTimeout(() => this.#tellNotEstablished(call, courseOf(why).codes ?? DONE), chance.between(10, 400));
    } else if (fate !== 'turned away') this.#ring(call, fate);
    return call.id;
  }

  /** Another system places a call with the service's callback addresses, and it is answered. */
  callOfAnotherSystem(): NetworkCall {
    const fate = this.#fateOf(undefined, 0);
    const call = this.#open(undefined, courseOf(fate).codes === undefined ? fate : 'listens');
    this.#answer(call);
    return call;
  }

  /** Speaks a text, after what is being spoken; a speech after the message ends that. @throws {PhoneLineError} if nobody is there to hear it */
  speak(callId: CallId, text: string, ref: SpeechRef | undefined): void {
    const { chance, now, story } = this.#ground;
    const call = this.#up(callId);
    const number = ref?.speech ?? MESSAGE;
    const before = call.speeches.at(-1);
    const speech: Speech = { text, number, ref, requestedAt: now };
    call.speeches.push(speech);
    story.tell(() => `${callId} is asked to speak ${number}`);
    const silentMs = chance.between(20, SPEAKS_WITHIN_MS);
    if (call.fate === 'speech fails') {
      this.#whileUp(call, silentMs, () => this.#post(call, 'play failed', [400, 8_565], ref));
      return;
    }
    if (number !== MESSAGE) this.#interrupt(call, speech);
    const isAfter = number === MESSAGE && before !== undefined && before.endedAt === undefined;
    const beginsAt = isAfter
      ? Math.max(silentMs, (before.startedAt ?? now) + before.text.length * MS_PER_CHARACTER - now)
      : silentMs;
    const lastsMs = text.length * MS_PER_CHARACTER;
    if (number === MESSAGE && call.fate === 'presses at the start') {
      this.#whileUp(call, silentMs / 2, () => this.#press(call, '1'));
    }
    this.#whileSpoken(call, speech, beginsAt, () => {
      speech.startedAt = this.#ground.now;
      story.tell(() => `${callId} hears speech ${number} from now on`);
      this.#post(call, 'play started', DONE, ref);
      for (const { key, at, afterMs = 0 } of courseOf(call.fate).keys?.[number] ?? []) {
        const pressMs = lastsMs * (at === 'somewhere' ? chance.between(0.1, 0.9) : at) + afterMs;
        this.#whileUp(call, pressMs, () => this.#press(call, key));
      }
      this.#whileSpoken(call, speech, lastsMs, () => {
        speech.isWhole = true;
        speech.endedAt = this.#ground.now;
        story.tell(() => `${callId} has heard the whole speech ${number}`);
        this.#post(call, 'play completed', DONE, ref);
      });
    });
  }

  /** What is being spoken is reported as cancelled: before or after the start of what follows, or never. */
  #interrupt(call: NetworkCall, by: Speech): void {
    const { chance, now } = this.#ground;
    for (const speech of call.speeches) {
      if (speech === by || speech.endedAt !== undefined) continue;
      speech.endedAt = now;
      if (speech.startedAt !== undefined) speech.cutBy = 'another speech';
      if (chance.happens(0.8)) {
        setTimeout(() => this.#post(call, 'play canceled', DONE, speech.ref), chance.between(0, 2 * SPEAKS_WITHIN_MS));
      }
    }
  }

  #whileSpoken(call: NetworkCall, speech: Speech, ms: number, next: () => void): void {
    this.#whileUp(call, ms, () => {
      if (speech.endedAt === undefined) next();
    });
  }

  /** Reports keys from now on. @throws {PhoneLineError} if nobody is there */
  listen(callId: CallId, number: PhoneNumber, ref: AttemptRef): void {
    const call = this.#up(callId);
    if (call.request !== undefined && call.request.number !== number) {
      throw new PhoneLineError({ failure: 'refused', reason: 'another number', code: 400, subCode: 8_500 });
    }
    call.listening = ref;
  }

  /** Ends a call, ringing or answered, if it has not ended yet. */
  hangUp(callId: CallId): void {
    this.#end(this.find(callId), 'service');
  }

  /** A stranger, or a fault of ACS, reports something about a call that is not true. */
  forge(call: NetworkCall, kind: CallEventKind, ref: AttemptRef | undefined): void {
    call.isForged = true;
    const key = kind === 'tone received' ? { key: { key: '1', sequence: 99 } } : {};
    this.#tell(call, { kind, callId: call.id, result: resultWith(DONE), attempt: ref, ...key }, 'at once');
  }

  /** A key that was pressed while the service listened is reported now, however late that is. */
  report(call: NetworkCall, name: string): void {
    call.keys.push({ key: name, pressedAt: this.#ground.now });
    this.#post(call, 'tone received', DONE, call.listening, { key: { key: name, sequence: call.keys.length } });
  }

  #open(request: CallRequest | undefined, fate: NetworkCall['fate']): NetworkCall {
    const id = parseCallId(`call-${this.#calls.size + 1}`);
    if (id === undefined) throw new Error('not a call id');
    const { now, story } = this.#ground;
    const call: NetworkCall = {
      id,
      request,
      fate,
      placedAt: now,
      speeches: [],
      state: 'ringing',
      keys: [],
      speakRequests: 0,
    };
    this.#calls.set(id, call);
    story.tell(() => `${id} to ${request?.number ?? 'a person of another system'}: ${fate}`);
    return call;
  }

  #up(callId: CallId): NetworkCall {
    const call = this.find(callId);
    if (call.state === 'ended') throw gone();
    if (call.state === 'ringing')
      throw new PhoneLineError({ failure: 'refused', reason: 'not answered', code: 400, subCode: 8_501 });
    return call;
  }

  #ring(call: NetworkCall, fate: Fate): void {
    const { chance } = this.#ground;
    const { codes, ringsMs = [0, 0] } = courseOf(fate);
    if (codes !== undefined) {
      setTimeout(() => this.#notEstablished(call, 'network', codes), chance.between(...ringsMs));
      return;
    }
    // Some answer before the answer to the request for the call arrives.
    const { answersWithinMs } = this.#ground.mode;
    const ms = answersWithinMs
      ? chance.between(...answersWithinMs)
      : chance.happens(0.2)
        ? chance.between(20, 100)
        : chance.between(1_000, 40_000);
    setTimeout(() => {
      if (call.state === 'ringing') this.#answer(call);
    }, ms);
  }

  #answer(call: NetworkCall): void {
    const { chance, now, story } = this.#ground;
    call.state = 'up';
    call.answeredAt = now;
    story.tell(() => `${call.id} is answered`);
    this.#post(call, 'connected', DONE);
    const { staysMs } = courseOf(call.fate);
    if (staysMs !== undefined) setTimeout(() => this.#end(call, 'callee'), chance.between(...staysMs));
  }

  #press(call: NetworkCall, key: string): void {
    const { now, story } = this.#ground;
    story.tell(() => `${call.id}: ${key} is pressed${call.listening === undefined ? ', and nobody listens' : ''}`);
    if (call.listening === undefined) return;
    call.keys.push({ key, pressedAt: now });
    this.#post(call, 'tone received', DONE, call.listening, { key: { key, sequence: call.keys.length } });
  }

  #whileUp(call: NetworkCall, ms: number, next: () => void): void {
    setTimeout(() => {
      if (call.state === 'up') next();
    }, ms);
  }

  #notEstablished(call: NetworkCall, by: 'network' | 'service', codes: Codes): void {
    if (call.state === 'ended') return;
    call.state = 'ended';
    call.endedAt = this.#ground.now;
    call.endedBy = by;
    this.#ground.story.tell(() => `${call.id} is not established: ${codes.join('/')}`);
    this.#tellNotEstablished(call, codes);
  }

  /** In two events at about the same time, in any order; only one says why. */
  #tellNotEstablished(call: NetworkCall, codes: Codes): void {
    const tell = [() => this.#post(call, 'create failed', codes), () => this.#post(call, 'disconnected', DONE)];
    if (this.#ground.chance.happens(0.5)) tell.reverse();
    for (const one of tell) one();
  }

  #end(call: NetworkCall, by: 'callee' | 'service'): void {
    if (call.state === 'ended') return;
    if (call.state === 'ringing') {
      this.#notEstablished(call, by === 'service' ? 'service' : 'network', [487, 540_487]);
      return;
    }
    const { now, story } = this.#ground;
    story.tell(() => `${call.id} is ended by the ${by}`);
    call.state = 'ended';
    call.endedAt = now;
    call.endedBy = by;
    for (const speech of call.speeches) {
      if (speech.endedAt !== undefined) continue;
      // Of a text that has not begun nothing is cut.
      if (speech.startedAt !== undefined) speech.cutBy = by;
      speech.endedAt = now;
      this.#post(call, 'play canceled', DONE, speech.ref);
    }
    this.#post(call, 'disconnected', DONE);
  }

  #post(
    call: NetworkCall,
    kind: CallEventKind,
    codes: Codes,
    ref: AttemptRef | SpeechRef | undefined = call.request?.attempt,
    more: Pick<CallEvent, 'key'> = {},
  ): void {
    const speech = ref !== undefined && 'speech' in ref ? { speech: ref.speech } : {};
    this.#tell(call, { kind, callId: call.id, result: resultWith(codes), attempt: ref, ...speech, ...more });
  }
}
