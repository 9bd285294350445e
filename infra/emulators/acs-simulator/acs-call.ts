import type { Deliveries } from '../phone-network/deliveries.ts';
import { type CallParts, PhoneCall } from '../phone-network/phone-call.ts';
import type { KeyPress, Result } from '../phone-network/scenarios.ts';
import { callEvent, type CreateCallBody, participants, type PlayBody } from './wire.ts';

/** Posts an event to a callback address, in so many milliseconds, until the app accepts it. @returns what the app answered */
export type PostEvent = (callbackUri: string, event: object, afterMs: number) => Promise<string>;

/** A request to speak that is under way. */
interface Play {
  readonly context: string;
}

const OK: Result = [200, 0];
const CANCELED_BY_CALLER: Result = [487, 540_487];
const TONES: Readonly<Record<KeyPress['key'], string>> = { 1: 'one', 2: 'two', 3: 'three', 9: 'nine' };
const DTMF = 'ContinuousDtmfRecognition';

/** A call of ACS: it is told what to do by requests, and posts events. */
export class AcsCall extends PhoneCall {
  readonly #body: CreateCallBody;
  readonly #post: PostEvent;
  readonly #subject: {
    readonly callConnectionId: string;
    readonly serverCallId: string;
    readonly correlationId: string;
  };
  readonly #plays = new Set<Play>();
  /** Reported when the call is over. */
  readonly #lateKeys: (() => void)[] = [];
  /** What comes back with each key; undefined: the service does not listen. */
  #listening: { readonly context: string | undefined } | undefined;
  #keys = 0;

  constructor(parts: CallParts, body: CreateCallBody, correlationId: string, post: PostEvent) {
    super(parts);
    this.#body = body;
    this.#post = post;
    const serverCallId = Buffer.from(`https://simulator/${parts.id}`).toString('base64url');
    this.#subject = { callConnectionId: parts.id, serverCallId, correlationId };
  }

  /** What createCall, and a request for the call's properties, is answered with. */
  properties(): object {
    const { targets, callbackUri, sourceCallerIdNumber } = this.#body;
    const { callConnectionId, correlationId } = this.#subject;
    const callConnectionState = this.state === 'connected' ? 'connected' : 'connecting';
    return { callConnectionId, callConnectionState, correlationId, targets, sourceCallerIdNumber, callbackUri };
  }

  /** Speaks; the call must be connected. What interrupts ends what is being spoken. */
  play({ playSources, operationContext: context, interruptCallMediaOperation = false }: PlayBody): void {
    const { playFails, reordered } = this.scenario;
    const { eventMs } = this.pace;
    if (interruptCallMediaOperation) this.#cancelPlays();
    const play: Play = { context };
    this.#plays.add(play);
    this.timeline.after(eventMs, () => {
      if (!this.#plays.has(play)) return;
      if (playFails !== undefined) return this.#over(play, 'PlayFailed', playFails);
      const started = (): void => this.#report('PlayStarted', OK, context);
      this.speak(playSources[0].text.text, () => {
        this.#over(play, 'PlayCompleted');
        if (reordered === true) this.timeline.after(eventMs, started);
      });
      if (reordered !== true) started();
    });
  }

  /** Reports keys from now on. */
  listen(context: string | undefined): void {
    this.#listening = { context };
    this.beginsToListen();
  }

  protected override get isListening(): boolean {
    return this.#listening !== undefined;
  }

  protected override onAnswered(): void {
    const [first, second] = ['CallConnected', 'ParticipantsUpdated'];
    const kinds = this.scenario.reordered === true ? [second, first] : [first, second];
    for (const [index, kind] of kinds.entries()) {
      const more = kind === second ? participants(this.to) : {};
      this.timeline.after(this.pace.eventMs * index, () => this.#report(kind ?? '', OK, undefined, more));
    }
  }

  protected override onKey({ key, reported }: KeyPress): void {
    this.#keys += 1;
    const tone = { sequenceId: this.#keys, tone: TONES[key] };
    const report = (afterMs = 0): void =>
      this.#report(`${DTMF}ToneReceived`, OK, this.#listening?.context, tone, afterMs);
    if (reported === 'not understood') this.#report(`${DTMF}ToneFailed`, [400, 8_500], this.#listening?.context);
    else if (reported === 'after the call') this.#lateKeys.push(() => report(this.pace.eventMs * 3));
    else report();
  }

  protected override onEnded(wasAnswered: boolean, why: Result | undefined): void {
    const { eventMs } = this.pace;
    const afterMs = why === undefined ? eventMs : 0;
    const report = (kind: string, result: Result, ms: number): void =>
      this.#report(kind, result, undefined, undefined, ms);
    this.#cancelPlays();
    // ACS reports such an end twice at about the same time; only CreateCallFailed says why.
    if (!wasAnswered) report('CreateCallFailed', why ?? CANCELED_BY_CALLER, afterMs);
    report('CallDisconnected', OK, afterMs);
    for (const reportKey of this.#lateKeys) reportKey();
    if (this.scenario.reordered === true) report('CallConnected', OK, eventMs * 2);
  }

  #cancelPlays(): void {
    for (const play of this.#plays) this.#over(play, 'PlayCanceled');
  }

  #over(play: Play, kind: 'PlayCompleted' | 'PlayFailed' | 'PlayCanceled', result = OK): void {
    this.#plays.delete(play);
    this.silence();
    this.#report(kind, result, play.context);
  }

  #report(kind: string, result: Result, context = this.#body.operationContext, more: object = {}, afterMs = 0): void {
    const event = callEvent(kind, { ...this.#subject, operationContext: context }, result, more);
    for (let copies = this.copiesOf(kind); copies > 0; copies -= 1) {
      const line = this.note('event', kind);
      void this.#post(this.#body.callbackUri, event, afterMs).then((answer) => this.answered(line, answer));
    }
  }
}

/** How often an event is posted at most that is not accepted. Microsoft does not publish it. */
const TRIES = 3;
const PAUSE_MS = 300;
const DEADLINE_MS = 60_000;

/** Posts signed events as ACS does: each in an array of its own, and again if the app does not accept it. @param sign makes a token */
export const postEvents =
  (deliveries: Deliveries, sign: () => Promise<string>): PostEvent =>
  async (callbackUri, event, afterMs) => {
    const body = JSON.stringify([event]);
    const delivered = await deliveries.after(afterMs, async () => {
      for (let tries = 1; ; tries += 1) {
        const headers = {
          'content-type': 'application/cloudevents-batch+json; charset=utf-8',
          authorization: `Bearer ${await sign()}`,
        };
        const answer = await deliveries.post(callbackUri, { headers, body, withinMs: DEADLINE_MS });
        if ((answer !== undefined && answer.status < 500) || tries === TRIES || deliveries.isStopped) return answer;
        await deliveries.pause(PAUSE_MS * tries);
      }
    });
    return String(delivered?.status ?? 'unreachable');
  };
