import type { AttemptRef } from '../../../src/calls/call-context.ts';
import type { CallId } from '../../../src/calls/call-id.ts';
import { type CallRequest, LONGEST_REQUEST_MS, type PhoneLine, PhoneLineError } from '../../../src/calls/phone-line.ts';
import type { PhoneNumber } from '../../../src/calls/phone-number.ts';
import type { Chance } from '../chance.ts';
import type { Life, Travel } from '../life.ts';
import { NetworkRefusal, type TelephoneNetwork } from './network.ts';

/** How the line treats the requests of one process. */
export interface LineConditions {
  /** That a request is lost, loses its answer, or is rejected. */
  readonly faults: number;
  /** Our credential is wrong. */
  readonly isSetUpWrong: boolean;
}

/** A request to the line. */
export type LineRequest = 'call' | 'speak' | 'listen' | 'hang up';

/** What a line with faults needs. */
export interface UnreliableLineParts {
  readonly network: TelephoneNetwork;
  readonly life: Life;
  readonly chance: Chance;
  readonly conditions: () => LineConditions;
  /** Told of each request; says whether the process ends at it. */
  readonly onRequest: (kind: LineRequest, about: CallRequest | CallId) => Travel['death'];
}

/** The network as one process reaches it: requests and answers take time and get lost, and some are rejected. */
export class UnreliableLine implements PhoneLine {
  readonly #parts: UnreliableLineParts;

  constructor(parts: UnreliableLineParts) {
    this.#parts = parts;
  }

  async call(request: CallRequest): Promise<CallId> {
    const { network, conditions } = this.#parts;
    const callId = await this.#ask('call', request, () => {
      if (conditions().isSetUpWrong) throw new PhoneLineError('set-up', 'no permission', { code: 403, subCode: 7_504 });
      return network.call(request);
    });
    network.reached(callId);
    return callId;
  }

  speak(callId: CallId, text: string, ref?: AttemptRef): Promise<void> {
    return this.#ask('speak', callId, () => this.#parts.network.speak(callId, text, ref));
  }

  listen(callId: CallId, number: PhoneNumber, ref: AttemptRef): Promise<void> {
    return this.#ask('listen', callId, () => this.#parts.network.listen(callId, number, ref));
  }

  hangUp(callId: CallId): Promise<void> {
    return this.#ask('hang up', callId, () => this.#parts.network.hangUp(callId));
  }

  #ask<Answer>(kind: LineRequest, about: CallRequest | CallId, carryOut: () => Answer): Promise<Answer> {
    const { life, chance, conditions, onRequest } = this.#parts;
    const { faults } = conditions();
    const fault = chance.byProbability([
      [faults * 0.3, 'request'],
      [faults * 0.4, 'answer'],
      [faults * 0.2, 'rejected'],
      [faults * 0.1, 'unreachable'],
    ]);
    const death = onRequest(kind, about);
    if (kind === 'speak' && typeof about === 'string') {
      this.#parts.network.askedToSpeak(about, fault === 'answer' || fault === 'request' || death !== undefined);
    }
    const travel: Travel = {
      thereMs: chance.between(5, 50),
      backMs: chance.happens(0.1) ? chance.between(50, 1_500) : chance.between(5, 50),
      death,
      lost: fault === 'request' || fault === 'answer' ? fault : undefined,
      told: {
        afterMs: chance.between(5, LONGEST_REQUEST_MS - 100),
        error: new PhoneLineError('unanswered', 'no answer'),
      },
    };
    return life.request(travel, async () => {
      if (fault === 'unreachable') throw new PhoneLineError('not sent', 'unreachable');
      // A hang-up is repeated until it is taken.
      if (fault === 'rejected') {
        throw new PhoneLineError(kind === 'hang up' ? 'not sent' : 'throttled', 'slow down', { code: 429 });
      }
      try {
        return carryOut();
      } catch (error) {
        throw error instanceof NetworkRefusal ? failureOf(kind, error) : error;
      }
    });
  }
}

/** What the adapter of ACS makes of these answers. */
const failureOf = (kind: LineRequest, { status, code }: NetworkRefusal): PhoneLineError => {
  const codes = { code: status, ...(Number.isNaN(Number(code)) ? {} : { subCode: Number(code) }) };
  if (status === 429) return new PhoneLineError('throttled', 'throttled', codes);
  if (status === 404) return new PhoneLineError('gone', 'call not found', codes);
  return new PhoneLineError('refused', `${kind} refused`, codes);
};
