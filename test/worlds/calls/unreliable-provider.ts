import type { AttemptRef, CallId, PromptRef } from '../../../src/calls/model/ids.ts';
import {
  type CallRequest,
  type HangUp,
  MAX_REQUEST_MS,
  type PhoneProvider,
  ProviderError,
} from '../../../src/calls/model/phone-provider.ts';
import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import type { Life } from '../life.ts';
import type { Ground } from './ground.ts';
import type { TelephoneNetwork } from './network.ts';

const NO_PERMISSION = { failure: 'set_up', reason: 'no permission', code: 403, subCode: 7_504 } as const;

/** The network as one process reaches it: requests and answers take time and get lost, and some are rejected. */
export class UnreliableProvider implements PhoneProvider {
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
    this.#ground.noteDial(request, this.#life);
    return this.#ask(`call ${request.number}`, () => {
      this.#demandPermission();
      return this.#network.call(request);
    });
  }

  readonly media = {
    speak: (callId: CallId, text: string, ref?: PromptRef): Promise<void> => {
      if (ref !== undefined) this.#ground.noteAct(`${callId} was spoken to`, ref, this.#life, callId);
      return this.#ask(`speak ${callId}`, () => this.#network.speak(callId, text, ref));
    },
    listen: (callId: CallId, number: PhoneNumber, ref: AttemptRef): Promise<void> =>
      this.#ask(`listen ${callId}`, () => this.#network.listen(callId, number, ref)),
  };

  /** Places no call: it shows only whether our credential is right. */
  check(): Promise<void> {
    return this.#ask('check', () => this.#demandPermission());
  }

  hangUp(callId: CallId): Promise<HangUp> {
    this.#network.noteHangUp(callId);
    return this.#ask(`hang up ${callId}`, () => this.#network.hangUp(callId), 'unreachable');
  }

  #demandPermission(): void {
    if (this.#ground.conditions.isSetUpWrong) throw new ProviderError(NO_PERMISSION);
  }

  /** @param whenSlow the meaning of a throttled request: the service repeats a hang-up until the provider accepts it */
  #ask<Answer>(
    what: string,
    carryOut: () => Answer,
    whenSlow: 'capacity' | 'unreachable' = 'capacity',
  ): Promise<Answer> {
    const { chance, conditions, worldLog } = this.#ground;
    const { providerFaults } = conditions.faults;
    const fault = chance.byProbability([
      [providerFaults * 0.3, 'request'],
      [providerFaults * 0.4, 'answer'],
      [providerFaults * 0.2, 'rejected'],
      [providerFaults * 0.1, 'unreachable'],
    ]);
    worldLog.add(() => `asked to ${what}`);
    const travel = {
      thereMs: chance.between(5, 50),
      backMs: chance.happens(0.1) ? chance.between(50, 1_500) : chance.between(5, 50),
      death: this.#ground.onRequest('provider', this.#life),
      lost: fault === 'request' || fault === 'answer' ? fault : undefined,
      told: {
        afterMs: chance.between(5, MAX_REQUEST_MS - 100),
        error: new ProviderError({ failure: 'unanswered', reason: 'no answer' }),
      },
    };
    return this.#life.request(travel, async () => {
      if (fault === 'unreachable') throw new ProviderError({ failure: 'unreachable', reason: 'unreachable' });
      if (fault === 'rejected') throw new ProviderError({ failure: whenSlow, reason: 'slow down', code: 429 });
      return carryOut();
    });
  }
}
