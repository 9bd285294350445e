import type { AttemptRef, CallId, SpeechRef } from '../../../src/calls/model/ids.ts';
import {
  type CallRequest,
  LONGEST_REQUEST_MS,
  type PhoneLine,
  PhoneLineError,
} from '../../../src/calls/model/phone-line.ts';
import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import type { Life } from '../life.ts';
import type { Ground } from './ground.ts';
import type { TelephoneNetwork } from './network.ts';

const NO_PERMISSION = { failure: 'set_up', reason: 'no permission', code: 403, subCode: 7_504 } as const;

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
    this.#ground.noteDial(request, this.#life);
    return this.#ask(`call ${request.number}`, () => {
      this.#demandPermission();
      return this.#network.call(request);
    });
  }

  readonly media = {
    speak: (callId: CallId, text: string, ref?: SpeechRef): Promise<void> => {
      if (ref !== undefined) this.#ground.noteAct(`${callId} was spoken to`, ref, this.#life);
      return this.#ask(`speak ${callId}`, () => this.#network.speak(callId, text, ref));
    },
    listen: (callId: CallId, number: PhoneNumber, ref: AttemptRef): Promise<void> =>
      this.#ask(`listen ${callId}`, () => this.#network.listen(callId, number, ref)),
  };

  /** Places no call: it shows only whether our credential is right. */
  check(): Promise<void> {
    return this.#ask('check', () => this.#demandPermission());
  }

  hangUp(callId: CallId): Promise<void> {
    this.#network.noteHangUp(callId);
    return this.#ask(`hang up ${callId}`, () => this.#network.hangUp(callId), 'unreachable');
  }

  #demandPermission(): void {
    if (this.#ground.conditions.isSetUpWrong) throw new PhoneLineError(NO_PERMISSION);
  }

  /** @param whenSlow the meaning of a throttled request: the service repeats a hang-up until the line accepts it */
  #ask<Answer>(
    what: string,
    carryOut: () => Answer,
    whenSlow: 'capacity' | 'unreachable' = 'capacity',
  ): Promise<Answer> {
    const { chance, conditions, story } = this.#ground;
    const { lineFaults } = conditions.faults;
    const fault = chance.byProbability([
      [lineFaults * 0.3, 'request'],
      [lineFaults * 0.4, 'answer'],
      [lineFaults * 0.2, 'rejected'],
      [lineFaults * 0.1, 'unreachable'],
    ]);
    story.tell(() => `asked to ${what}`);
    const travel = {
      thereMs: chance.between(5, 50),
      backMs: chance.happens(0.1) ? chance.between(50, 1_500) : chance.between(5, 50),
      death: this.#ground.onRequest('line', this.#life),
      lost: fault === 'request' || fault === 'answer' ? fault : undefined,
      told: {
        afterMs: chance.between(5, LONGEST_REQUEST_MS - 100),
        error: new PhoneLineError({ failure: 'unanswered', reason: 'no answer' }),
      },
    };
    return this.#life.request(travel, async () => {
      if (fault === 'unreachable') throw new PhoneLineError({ failure: 'unreachable', reason: 'unreachable' });
      if (fault === 'rejected') throw new PhoneLineError({ failure: whenSlow, reason: 'slow down', code: 429 });
      return carryOut();
    });
  }
}
