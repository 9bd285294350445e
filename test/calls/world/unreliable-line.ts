import { setTimeout as sleep } from 'node:timers/promises';

import type { CallId } from '../../../src/calls/call-id.ts';
import { type CallRequest, LONGEST_REQUEST_MS, type PhoneLine, PhoneLineError } from '../../../src/calls/phone-line.ts';
import type { Conditions } from './conditions.ts';
import { type Life, never } from './life.ts';
import type { TelephoneNetwork } from './network.ts';
import type { Chance } from './random.ts';

/** What a line with faults needs. */
export interface UnreliableLineParts {
  readonly network: TelephoneNetwork;
  /** Of the process that uses the line. */
  readonly life: Life;
  readonly conditions: Conditions;
  readonly chance: Chance;
  readonly onRequest: () => void;
}

/** The network as one instance reaches it: requests and answers take time and get lost, and some are rejected. */
export class UnreliableLine implements PhoneLine {
  readonly #parts: UnreliableLineParts;

  constructor(parts: UnreliableLineParts) {
    this.#parts = parts;
  }

  async call(request: CallRequest): Promise<CallId> {
    const callId = await this.#ask((network) => network.call(request), 'throttled');
    this.#parts.network.reached(callId);
    return callId;
  }

  speak(callId: CallId): Promise<void> {
    return this.#ask((network) => network.speak(callId), 'throttled');
  }

  hangUp(callId: CallId): Promise<void> {
    return this.#ask((network) => network.hangUp(callId), 'not sent');
  }

  /** @param rejection what a rejected request comes to; a hang-up is never throttled */
  async #ask<Answer>(
    carryOut: (network: TelephoneNetwork) => Answer,
    rejection: 'throttled' | 'not sent',
  ): Promise<Answer> {
    const { life, onRequest } = this.#parts;
    if (life.isOver) return never();
    onRequest();
    return life.during(this.#exchange(carryOut, rejection));
  }

  async #exchange<Answer>(
    carryOut: (network: TelephoneNetwork) => Answer,
    rejection: 'throttled' | 'not sent',
  ): Promise<Answer> {
    const { network, life, conditions, chance } = this.#parts;
    await sleep(chance.between(5, 50));
    if (life.isOver && chance.happens(0.5)) return never();
    const { lineFault } = conditions.faults;
    const fault = chance.byProbability([
      [lineFault / 3, 'lost request'],
      [lineFault / 6, 'rejected'],
      [lineFault / 10, 'unreachable'],
      [(lineFault * 4) / 10, 'lost answer'],
    ]);
    if (fault === 'lost request') return this.#unanswered();
    if (fault === 'rejected') throw new PhoneLineError(rejection, 'rejected', { code: 429 });
    if (fault === 'unreachable') throw new PhoneLineError('not sent', 'unreachable');
    const answer = carryOut(network);
    if (fault === 'lost answer') return this.#unanswered();
    await sleep(chance.happens(0.1) ? chance.between(50, 1_500) : chance.between(5, 50));
    return answer;
  }

  async #unanswered(): Promise<never> {
    await sleep(this.#parts.chance.between(5, LONGEST_REQUEST_MS - 50));
    throw new PhoneLineError('unanswered', 'no answer');
  }
}
