import { NOT_ALLOWED } from './allowed-prefixes.ts';
import { CALLS_USED_UP } from './day-limit.ts';
import { IMPOSSIBLE } from './possible-number.ts';
import { ABOUT_TO_BE_DIALLED, NO_LINE, NUMBER_BUSY, URGENT_FIRST } from './queue.ts';

/** Why a recipient is not called (yet), for machines. */
export type ReasonCode =
  | 'impossible_number'
  | 'not_allowed'
  | 'day_limit'
  | 'refused'
  | 'number_busy'
  | 'urgent_first'
  | 'no_line'
  | 'about_to_be_dialled'
  | 'delayed';

const BY_REASON: ReadonlyMap<string, ReasonCode> = new Map([
  [IMPOSSIBLE, 'impossible_number'],
  [NOT_ALLOWED, 'not_allowed'],
  [CALLS_USED_UP, 'day_limit'],
  [NUMBER_BUSY, 'number_busy'],
  [URGENT_FIRST, 'urgent_first'],
  [NO_LINE, 'no_line'],
  ['throttled', 'no_line'],
  [ABOUT_TO_BE_DIALLED, 'about_to_be_dialled'],
]);

/** The code of a reason in words. Reasons that a provider gives have one code for those who fail, and one for those who wait. */
export const reasonCode = (reason: string, status: 'waiting' | 'failed'): ReasonCode =>
  BY_REASON.get(reason) ?? (status === 'failed' ? 'refused' : 'delayed');
