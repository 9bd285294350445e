import {
  type AttemptRef,
  type CallId,
  MESSAGE,
  parseCallId,
  type PromptNumber,
  type PromptRef,
} from '../../../src/calls/model/ids.ts';
import {
  type CallEvent,
  type CallEventKind,
  type CallRequest,
  type HangUp,
  ProviderError,
} from '../../../src/calls/model/phone-provider.ts';
import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import { resultOf } from '../../../src/calls/providers/acs/codes.ts';
import { type Codes, courseOf, type Fate } from './callees.ts';
import type { Ground } from './ground.ts';

// All times are in milliseconds since 1970.

/** How a voice of the world speaks, in milliseconds a character: faster than the service may assume. */
export const MS_PER_CHARACTER = 65;
/** How long after the request the message starts at the latest, in milliseconds. */
export const SPEAKS_WITHIN_MS = 600;

/** The action of the callee this time. @param earlier how many calls to the same number were placed before */
export type FateOf = (number: PhoneNumber, earlier: number) => Fate;

/** Brings an event about a call to the service. */
type Post = (call: NetworkCall, event: CallEvent) => void;

/** A text for the callee. */
interface Speech {
  readonly text: string;
  readonly number: PromptNumber;
  readonly ref: PromptRef | undefined;
  readonly requestedAt: number;
  startedAt?: number;
  endedAt?: number;
  isWhole?: boolean;
  /** The end of a speech before its last word: by the end of the call, or by another speech. */
  cutBy?: 'callee' | 'service' | 'another speech';
}

/** A call in the network. */
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
  /** When an instance first got the report of its end. */
  endToldAt?: number;
  /** When the service first tried to hang it up. */
  hangUpAskedAt?: number;
  /** The reference in the report of each key; undefined while the service does not listen. */
  listening?: AttemptRef;
  /** The keys that are reported. `takenAt`: when an instance had stored it. Without storage, keys are lost. */
  readonly keys: { readonly key: string; readonly pressedAt: number; takenAt?: number }[];
}

/** How often the whole message was spoken in a call. */
export const wholeSpeeches = ({ speeches }: NetworkCall): number => speeches.filter(({ isWhole }) => isWhole).length;

const DONE: Codes = [200, 0];

const gone = () => new ProviderError({ failure: 'gone', reason: 'call not found', code: 404, subCode: 8_522 });
const rejected = (reason: string, subCode: number) =>
  new ProviderError({ failure: 'refused', reason, code: 400, subCode });

/** A telephone network with few lines. It carries out requests at once and without faults; the callees differ. */
export class TelephoneNetwork {
  readonly #ground: Ground;
  readonly #fateOf: FateOf;
  readonly #report: Post;
  readonly #calls = new Map<string, NetworkCall>();
  readonly #byAttempt = new Map<string, NetworkCall>();

  constructor(ground: Ground, fateOf: FateOf, report: Post) {
    this.#ground = ground;
    this.#fateOf = fateOf;
    this.#report = report;
  }

  /** All calls that were ever placed, in that order. */
  get calls(): readonly NetworkCall[] {
    return [...this.#calls.values()];
  }

  /** Places a call; the same attempt again places no second one. @throws {ProviderError} if no line is free */
  call(request: CallRequest): CallId {
    const { mode, chance, now } = this.#ground;
    const { attemptId } = request.attempt;
    const known = this.#byAttempt.get(attemptId);
    if (known !== undefined) return known.id;
    const own = this.calls.filter((call) => call.request !== undefined);
    const isTurnedAway = own.filter(({ state }) => state !== 'ended').length >= mode.lines;
    if (isTurnedAway && mode.whenLinesAreTaken === '429')
      throw new ProviderError({ failure: 'capacity', reason: 'throttled', code: 429 });
    const earlier = own.filter((call) => call.request?.number === request.number && call.fate !== 'turned away').length;
    const call = this.#open(request, isTurnedAway ? 'turned away' : this.#fateOf(request.number, earlier));
    this.#byAttempt.set(attemptId, call);
    if (!isTurnedAway) {
      this.#ring(call);
      return call.id;
    }
    // It uses no line.
    Object.assign(call, { state: 'ended', endedAt: now, endedBy: 'network' });
    const { codes = DONE } = courseOf(mode.whenLinesAreTaken === '603' ? 'declines by 603' : 'no line');
    setTimeout(() => this.#reportNotEstablished(call, codes), chance.between(10, 400));
    return call.id;
  }

  /** Another system places a call with the service's callback addresses, and it is answered. */
  callOfAnotherSystem(): NetworkCall {
    const call = this.#open(undefined, 'listens');
    this.#answer(call);
    return call;
  }

  /** Speaks a text, after the current speech. A speech after the message interrupts the message. @throws {ProviderError} if no callee is there to hear it */
  speak(callId: CallId, text: string, ref: PromptRef | undefined): void {
    const { chance, now, worldLog } = this.#ground;
    const call = this.#up(callId);
    const number = ref?.prompt ?? MESSAGE;
    const before = call.speeches.at(-1);
    const speech: Speech = { text, number, ref, requestedAt: now };
    call.speeches.push(speech);
    worldLog.add(() => `${callId} is asked to speak ${number}`);
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
    if (number === MESSAGE && call.fate === 'presses at the start')
      this.#whileUp(call, silentMs / 2, () => this.#press(call, '1'));
    this.#whileSpoken(call, speech, beginsAt, () => {
      speech.startedAt = this.#ground.now;
      worldLog.add(() => `${callId} hears speech ${number} from now on`);
      this.#post(call, 'play started', DONE, ref);
      for (const { key, at, afterMs = 0 } of courseOf(call.fate).keys?.[number] ?? []) {
        const pressMs = lastsMs * (at === 'somewhere' ? chance.between(0.1, 0.9) : at) + afterMs;
        this.#whileUp(call, pressMs, () => this.#press(call, key));
      }
      this.#whileSpoken(call, speech, lastsMs, () => {
        Object.assign(speech, { isWhole: true, endedAt: this.#ground.now });
        worldLog.add(() => `${callId} has heard the whole speech ${number}`);
        this.#post(call, 'play completed', DONE, ref);
      });
    });
  }

  /** The cancellation of the current speech is reported before or after the start of the next, or never. */
  #interrupt(call: NetworkCall, by: Speech): void {
    const { chance, now } = this.#ground;
    for (const speech of call.speeches) {
      if (speech === by || speech.endedAt !== undefined) continue;
      speech.endedAt = now;
      if (speech.startedAt !== undefined) speech.cutBy = 'another speech';
      const afterMs = chance.between(0, 2 * SPEAKS_WITHIN_MS);
      if (chance.happens(0.8)) setTimeout(() => this.#post(call, 'play canceled', DONE, speech.ref), afterMs);
    }
  }

  /** Reports keys from now on. @throws {ProviderError} if no callee is there */
  listen(callId: CallId, number: PhoneNumber, ref: AttemptRef): void {
    const call = this.#up(callId);
    if (call.request !== undefined && call.request.number !== number) throw rejected('another number', 8_500);
    call.listening = ref;
  }

  /** A request to hang a call up leaves the service. */
  noteHangUp(callId: CallId): void {
    const call = this.#calls.get(callId);
    if (call !== undefined) call.hangUpAskedAt ??= this.#ground.now;
  }

  /** Ends a call, ringing or answered, if it has not ended yet. */
  hangUp(callId: CallId): HangUp {
    const call = this.#find(callId);
    if (call.state === 'ended') return 'gone';
    this.#end(call, 'service');
    return 'hung up';
  }

  #open(request: CallRequest | undefined, fate: NetworkCall['fate']): NetworkCall {
    const id = parseCallId(`call-${this.#calls.size + 1}`);
    if (id === undefined) throw new Error('not a call id');
    const { now, worldLog } = this.#ground;
    const call: NetworkCall = { id, request, fate, placedAt: now, speeches: [], state: 'ringing', keys: [] };
    this.#calls.set(id, call);
    worldLog.add(() => `${id} to ${request?.number ?? 'a person of another system'}: ${fate}`);
    return call;
  }

  #find(callId: CallId): NetworkCall {
    const call = this.#calls.get(callId);
    if (call === undefined) throw gone();
    return call;
  }

  #up(callId: CallId): NetworkCall {
    const call = this.#find(callId);
    if (call.state === 'ended') throw gone();
    if (call.state === 'ringing') throw rejected('not answered', 8_501);
    return call;
  }

  #ring(call: NetworkCall): void {
    const { chance, mode } = this.#ground;
    const { codes, ringsMs = [0, 0] } = courseOf(call.fate);
    if (codes !== undefined) {
      setTimeout(() => this.#notEstablished(call, 'network', codes), chance.between(...ringsMs));
      return;
    }
    // Some answer before the answer to the request for the call arrives.
    const answersWithinMs = mode.answersWithinMs ?? (chance.happens(0.2) ? [20, 100] : [1_000, 40_000]);
    setTimeout(
      () => {
        if (call.state === 'ringing') this.#answer(call);
      },
      chance.between(...answersWithinMs),
    );
  }

  #answer(call: NetworkCall): void {
    const { chance, now, worldLog } = this.#ground;
    call.state = 'up';
    call.answeredAt = now;
    worldLog.add(() => `${call.id} is answered`);
    this.#post(call, 'connected', DONE);
    const { staysMs } = courseOf(call.fate);
    if (staysMs !== undefined) setTimeout(() => this.#end(call, 'callee'), chance.between(...staysMs));
  }

  #press(call: NetworkCall, key: string): void {
    const { now, worldLog } = this.#ground;
    worldLog.add(() => `${call.id}: ${key} is pressed${call.listening === undefined ? ', and nobody listens' : ''}`);
    if (call.listening === undefined) return;
    call.keys.push({ key, pressedAt: now });
    this.#post(call, 'tone received', DONE, call.listening, { key: { key, sequence: call.keys.length } });
  }

  #whileUp(call: NetworkCall, ms: number, next: () => void): void {
    setTimeout(() => {
      if (call.state === 'up') next();
    }, ms);
  }

  #whileSpoken(call: NetworkCall, speech: Speech, ms: number, next: () => void): void {
    this.#whileUp(call, ms, () => {
      if (speech.endedAt === undefined) next();
    });
  }

  #notEstablished(call: NetworkCall, by: 'network' | 'service', codes: Codes): void {
    if (call.state === 'ended') return;
    Object.assign(call, { state: 'ended', endedAt: this.#ground.now, endedBy: by });
    this.#ground.worldLog.add(() => `${call.id} is not established: ${codes.join('/')}`);
    this.#reportNotEstablished(call, codes);
  }

  /** In two events at about the same time, in any order; only one says why. */
  #reportNotEstablished(call: NetworkCall, codes: Codes): void {
    const reports = [() => this.#post(call, 'create failed', codes), () => this.#post(call, 'disconnected', DONE)];
    if (this.#ground.chance.happens(0.5)) reports.reverse();
    for (const one of reports) one();
  }

  #end(call: NetworkCall, by: 'callee' | 'service'): void {
    if (call.state === 'ended') return;
    if (call.state === 'ringing') {
      this.#notEstablished(call, by === 'service' ? 'service' : 'network', [487, 540_487]);
      return;
    }
    const { now, worldLog } = this.#ground;
    worldLog.add(() => `${call.id} is ended by the ${by}`);
    Object.assign(call, { state: 'ended', endedAt: now, endedBy: by });
    for (const speech of call.speeches) {
      if (speech.endedAt !== undefined) continue;
      // A text that has not begun is not cut.
      if (speech.startedAt !== undefined) speech.cutBy = by;
      speech.endedAt = now;
      this.#post(call, 'play canceled', DONE, speech.ref);
    }
    this.#post(call, 'disconnected', DONE);
  }

  #post(
    call: NetworkCall,
    kind: CallEventKind,
    [code, subCode]: Codes,
    ref: AttemptRef | PromptRef | undefined = call.request?.attempt,
    more: Pick<CallEvent, 'key'> = {},
  ): void {
    const prompt = ref !== undefined && 'prompt' in ref ? { prompt: ref.prompt } : {};
    this.#report(call, {
      kind,
      callId: call.id,
      result: resultOf({ code, subCode }),
      attempt: ref,
      ...prompt,
      ...more,
    });
  }
}
