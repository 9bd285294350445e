import { randomUUID } from 'node:crypto';

import type { Deliveries, PostEvent } from '../phone-network/deliveries.ts';
import { type CallParts, PhoneCall } from '../phone-network/phone-call.ts';
import type { KeyPress, Result } from '../phone-network/scenarios.ts';
import type { TokenSigner } from './token-signer.ts';
import { callEvent, type CreateCallBody, type PlayBody } from './wire.ts';

const OK: Result = [200, 0];
const CANCELED_BY_CALLER: Result = [487, 540_487];
const TONES: Readonly<Record<KeyPress['key'], string>> = { 1: 'one', 2: 'two', 3: 'three', 9: 'nine' };
const DTMF = 'ContinuousDtmfRecognition';

export type AcsEvent = ReturnType<typeof callEvent>;

/** A call of ACS: it carries out requests, and posts events. */
export class AcsCall extends PhoneCall<AcsEvent> {
  readonly #body: CreateCallBody;
  readonly #ids;
  /** The context of the events about keys. */
  #keyContext: string | undefined;
  #keys = 0;

  constructor(parts: CallParts<AcsEvent>, body: CreateCallBody) {
    super(parts, randomUUID(), body.sourceCallerIdNumber?.value ?? body.teamsAppSource?.appId ?? '');
    this.#body = body;
    const serverCallId = Buffer.from(`https://simulator/${this.id}`).toString('base64url');
    this.#ids = { callConnectionId: this.id, serverCallId, correlationId: randomUUID() };
  }

  override resource(): object {
    const { targets, callbackUri, sourceCallerIdNumber } = this.#body;
    const { callConnectionId, correlationId } = this.#ids;
    const callConnectionState = this.state === 'connected' ? 'connected' : 'connecting';
    return { callConnectionId, callConnectionState, correlationId, targets, sourceCallerIdNumber, callbackUri };
  }

  /** Speaks. A speech that interrupts ends the current speech. */
  play({ playSources, operationContext: context, interruptCallMediaOperation = false }: PlayBody): void {
    const { playFails: result, reordered } = this.scenario;
    const { eventMs } = this.pace;
    if (interruptCallMediaOperation) this.silence();
    const post = (kind: string, about = {}): void => this.#post(kind, { context, ...about });
    if (result !== undefined) return this.timeline.after(eventMs, () => post('PlayFailed', { result }));
    // Planned before the end of the speech: both may be due at once.
    if (reordered !== true) this.timeline.after(eventMs, () => speech.endedAt ?? post('PlayStarted'));
    const speech = this.speak(playSources[0].text.text, (isComplete) => {
      post(isComplete ? 'PlayCompleted' : 'PlayCanceled');
      if (isComplete && reordered === true) this.timeline.after(eventMs, () => post('PlayStarted'));
    });
    return undefined;
  }

  /** Reports keys from now on. */
  listen(context: string | undefined): void {
    this.#keyContext = context;
    this.startListening();
  }

  protected override onAnswered(): void {
    const participants = this.#body.targets.map((identifier) => ({ identifier, isMuted: false, isOnHold: false }));
    const reports = [
      () => this.#post('CallConnected'),
      () => this.#post('ParticipantsUpdated', { more: { participants, sequenceNumber: 1 } }),
    ];
    if (this.scenario.reordered === true) reports.reverse();
    for (const [index, report] of reports.entries()) this.timeline.after(this.pace.eventMs * index, report);
  }

  protected override onKey({ key, reported }: KeyPress): void {
    this.#keys += 1;
    const context = this.#keyContext;
    const more = { sequenceId: this.#keys, tone: TONES[key] };
    const report = (afterMs = 0): void => this.#post(`${DTMF}ToneReceived`, { context, more, afterMs });
    if (reported === 'not understood') this.#post(`${DTMF}ToneFailed`, { result: [400, 8_500], context });
    else if (reported === 'after the call') this.lateReports.push(() => report(this.pace.eventMs * 3));
    else report();
  }

  protected override onEnded(why: Result | undefined): void {
    const { eventMs } = this.pace;
    const afterMs = why === undefined ? eventMs : 0;
    // ACS reports such an end twice at about the same time; only CreateCallFailed says why.
    const result = why ?? CANCELED_BY_CALLER;
    if (this.answeredAt === undefined) this.#post('CreateCallFailed', { result, afterMs });
    this.#post('CallDisconnected', { afterMs });
    if (this.scenario.reordered === true) this.#post('CallConnected', { afterMs: eventMs * 2 });
  }

  /** Posts an event, unless the scenario loses it. @param about by default, the event has the context of the call, and nothing failed */
  #post(
    kind: string,
    about: { result?: Result; context?: string | undefined; more?: object; afterMs?: number } = {},
  ): void {
    if (this.isLost(kind)) return;
    const { result = OK, context: operationContext = this.#body.operationContext, more = {}, afterMs } = about;
    const event = callEvent(kind, { ...this.#ids, operationContext }, result, more);
    void this.report(kind, this.#body.callbackUri, event, afterMs);
  }
}

/** Posts events as ACS does: each in its own array with its own token. Microsoft does not publish how often ACS repeats an event that the app refuses. */
export const eventPoster =
  (deliveries: Deliveries, signer: TokenSigner): PostEvent<AcsEvent> =>
  async (url, event, afterMs) =>
    deliveries.send(
      url,
      {
        headers: async () => ({
          'content-type': 'application/cloudevents-batch+json; charset=utf-8',
          authorization: `Bearer ${await signer.sign()}`,
        }),
        body: JSON.stringify([event]),
        tries: 3,
        isRepeated: (answer) => answer === undefined || answer.status >= 500,
        pauseMs: 400,
        tryMs: 15_000,
      },
      afterMs,
    );
