import type { Fault, Result } from '../phone-network/scenarios.ts';

/** How a call that reached nobody ends at Twilio. */
export interface Ending {
  readonly status: 'busy' | 'no-answer' | 'failed';
  readonly sipCode?: number;
  readonly errorCode?: number;
}

/** The scenarios are told in the codes of Communication Services: the same story at Twilio. */
const ENDINGS: Readonly<Record<number, Ending>> = {
  560_480: { status: 'no-answer', sipCode: 480 },
  10_004: { status: 'no-answer', sipCode: 487 },
  560_486: { status: 'busy', sipCode: 486 },
  10_024: { status: 'busy', sipCode: 603 },
  560_603: { status: 'busy', sipCode: 603 },
  560_484: { status: 'failed', sipCode: 484 },
  510_403: { status: 'failed', sipCode: 403 },
  8_530: { status: 'failed', errorCode: 10_004 },
};

/** The end of a call whose story says this result. */
export const endingOf = ([, subCode]: Result): Ending => ENDINGS[subCode] ?? { status: 'failed', sipCode: 500 };

const REFUSALS: Readonly<Record<string, readonly [status: number, code: number]>> = {
  TooManyRequests: [429, 20_429],
  560484: [400, 21_211],
  Gone: [400, 21_220],
};

/** The answer to a request whose story says this fault. */
export const refusalOf = ({ code }: Exclude<Fault, string>): readonly [status: number, code: number] =>
  REFUSALS[code] ?? [500, 20_500];
