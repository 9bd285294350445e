/**
 * The outcome of an attempt; the same words in answers, rows, logs and alerts.
 * - `confirmed`: the callee pressed 1;
 * - `cannot_go`: the callee pressed 3, and not 1;
 * - `heard`: the line reported that the whole message was spoken;
 * - `unconfirmed`: it was, and neither 1 nor 3 was pressed although the call asked for a key;
 * - `cut_short`: it surely started, and the callee hung up, or its end was not reported;
 * - `no_answer`, `busy`, `declined`: as the telephone network says;
 * - `refused`: this number cannot be reached, or the line or our own rules refuse to call it;
 * - `stopped`: it rang, and was hung up by a stop, by enough confirmations, or because another call reached the callee;
 * - `unknown`: the message was perhaps not spoken, for another or an unknown reason.
 */
export const OUTCOMES = [
  'confirmed',
  'cannot_go',
  'heard',
  'unconfirmed',
  'cut_short',
  'no_answer',
  'busy',
  'declined',
  'refused',
  'stopped',
  'unknown',
] as const;

/** The outcome of an attempt. */
export type Outcome = (typeof OUTCOMES)[number];
