import type { ErrorCode } from '../phone-network/reply.ts';
import type { Result } from '../phone-network/scenarios.ts';

// The scenarios use the codes of ACS. This is how Twilio reports the same events.

/** How a call ends at Twilio if the callee was not reached. */
export interface Ending {
  readonly status: 'busy' | 'no-answer' | 'failed';
  readonly sipCode?: number;
  readonly errorCode?: number;
}

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

export const endingOf = ([, subCode]: Result): Ending => ENDINGS[subCode] ?? { status: 'failed', sipCode: 500 };

const ERRORS: Readonly<Record<string, ErrorCode>> = {
  TooManyRequests: [429, 20_429],
  560484: [400, 21_211],
  Gone: [400, 21_220],
};

export const errorOf = ([, code]: ErrorCode): ErrorCode => ERRORS[code] ?? [500, 20_500];
