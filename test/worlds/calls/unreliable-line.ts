import type { AttemptRef, CallId, SpeechRef } from '../../../src/calls/model/ids.ts';
import {
  type CallRequest,
  LONGEST_REQUEST_MS,
  type PhoneLine,
  PhoneLineError,
} from '../../../src/calls/model/phone-line.ts';
import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import type { Ground } from './ground.ts';
import type { TelephoneNetwork } from './network.ts';
import type { Life, Travel } from '../life.ts';

/** The network as one process reaches it: requests and answers take time and get lost, and some are rejected. */
export class UnreliableLine implements PhoneLine {
  readonly name = 'acs';
  readonly isIdempotent = true;
  readonly #ground: Ground;
  readonly #network: TelephoneNetwork;
  readonly #life: Life;

  constructor(ground: Ground, network: TelephoneNetwork, life: Life) {
    this.#ground = ground;
    this.#network = network;
    this.#life = life;
  }

  call(request: CallRequest): Promise<CallId> {
    return this.#ask('call', request, () => {
      if (!this.#ground.conditions.isSetUpWrong) return this.#network.call(request);
      throw new PhoneLineError({ failure: 'set_up', reason: 'no permission', code: 403, subCode: 7_504 });
    });
  }

  readonly media = {
    speak: (callId: CallId, text: string, ref?: SpeechRef): Promise<void> =>
      this.#ask('speak', callId, () => this.#network.speak(callId, text, ref)),
    listen: (callId: CallId, number: PhoneNumber, ref: AttemptRef): Promise<void> =>
      this.#ask('listen', callId, () => this.#network.listen(callId, number, ref)),
  };

  /** Calls nobody: it shows only whether our credential is right. */
  check(): Promise<void> {
    return this.#ask('check', undefined, () => {
      if (this.#ground.conditions.isSetUpWrong)
        throw new PhoneLineError({ failure: 'set_up', reason: 'no permission' });
    });
  }

  hangUp(callId: CallId): Promise<void> {
    return this.#ask('hang up', callId, () => this.#network.hangUp(callId));
  }

  #ask<Answer>(
    kind: 'call' | 'speak' | 'listen' | 'hang up' | 'check',
    about: CallRequest | CallId | undefined,
    carryOut: () => Answer,
  ): Promise<Answer> {
    const { chance, conditions, story, dialled, now } = this.#ground;
    const { lineFaults } = conditions.faults;
    const fault = chance.byProbability([
      [lineFaults * 0.3, 'request'],
      [lineFaults * 0.4, 'answer'],
      [lineFaults * 0.2, 'rejected'],
      [lineFaults * 0.1, 'unreachable'],
    ]);
    if (typeof about === 'object') dialled.push({ ...about.attempt, number: about.number, at: now });
    story.tell(() => `asked to ${kind} ${typeof about === 'object' ? about.number : about}`);
    const death = this.#ground.onRequest('line');
    if (kind === 'speak' && typeof about === 'string') {
      const call = this.#network.find(about);
      call.speakRequests += 1;
      const isLost = fault === 'answer' || fault === 'request' || death !== undefined;
      call.isSpeechUnclear ||= isLost || (call.speakRequests > 1 && fault !== undefined);
    }
    if (kind === 'hang up' && typeof about === 'string') this.#network.find(about).hangUpAskedAt ??= now;
    const travel: Travel = {
      thereMs: chance.between(5, 50),
      backMs: chance.happens(0.1) ? chance.between(50, 1_500) : chance.between(5, 50),
      death,
      lost: fault === 'request' || fault === 'answer' ? fault : undefined,
      told: {
        afterMs: chance.between(5, LONGEST_REQUEST_MS - 100),
        error: new PhoneLineError({ failure: 'unanswered', reason: 'no answer' }),
      },
    };
    return this.#life.request(travel, async () => {
      if (fault === 'unreachable') throw new PhoneLineError({ failure: 'unreachable', reason: 'unreachable' });
      // A hang-up is repeated until it is taken.
      if (fault === 'rejected') {
        throw new PhoneLineError({
          failure: kind === 'hang up' ? 'unreachable' : 'capacity',
          reason: 'slow down',
          code: 429,
        });
      }
      return carryOut();
    });
  }
}
