import { DECLINED_OR_NO_LINE, type Fault, NO_LINE, type Result } from './scenarios.ts';

/**
 * What becomes of a request for a call while all lines are taken. Microsoft does not publish it: a 429 with or without Retry-After, a 403, or
 * a 201 with a CreateCallFailed after it, by 8530 or by the 603 of somebody who declines.
 */
export type WhenLinesAreTaken = '429' | '429 with Retry-After' | '403' | 'CreateCallFailed' | '603';

const REFUSALS: Readonly<Record<WhenLinesAreTaken, Exclude<Fault, string> | { readonly failsAtOnce: Result }>> = {
  '429': { answer: 429, code: 'TooManyRequests' },
  '429 with Retry-After': { answer: 429, code: 'TooManyRequests', retryAfterSeconds: 1 },
  '403': { answer: 403, code: String(NO_LINE[1]) },
  CreateCallFailed: { failsAtOnce: NO_LINE },
  '603': { failsAtOnce: DECLINED_OR_NO_LINE },
};

/** How many calls there may be at a time. A line is taken from the request until the call's end. */
export class Lines {
  readonly #count: number;
  readonly #whenTaken: WhenLinesAreTaken;

  constructor(count: number, whenTaken: WhenLinesAreTaken) {
    this.#count = count;
    this.#whenTaken = whenTaken;
  }

  /**
   * What a request for one more call comes to; undefined where a line is free.
   *
   * @param taken how many calls there are now
   */
  refusal(taken: number) {
    return taken < this.#count ? undefined : REFUSALS[this.#whenTaken];
  }
}
