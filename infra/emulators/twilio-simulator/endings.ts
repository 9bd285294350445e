import type { Fault, Result } from '../acs-simulator/scenarios.ts';

/** How a call that reached nobody ends at Twilio. */
export interface Ending {
  readonly status: 'busy' | 'no-answer' | 'failed';
  readonly sipCode?: number;
  readonly errorCode?: number;
}

/** What a request is answered with that Twilio does not carry out. */
export interface Refused {
  readonly status: number;
  readonly code: number;
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
  10_105: { status: 'failed', errorCode: 21_210 },
};

/** The end of a call whose story says this result. */
export const endingOf = ([, subCode]: Result): Ending => ENDINGS[subCode] ?? { status: 'failed', sipCode: 500 };

const REFUSALS: Readonly<Record<string, number>> = {
  TooManyRequests: 20_429,
  8530: 10_004,
  Denied: 20_003,
  NotFound: 20_404,
  7504: 20_005,
  8529: 21_212,
  560484: 21_211,
};

/** The answer of a request whose story says this fault. */
export const refusalOf = ({ answer, code }: Exclude<Fault, string>): Refused => {
  const known = REFUSALS[code];
  return { status: answer === 403 && code === '8530' ? 400 : answer, code: known ?? (answer >= 500 ? 20_500 : 20_001) };
};
