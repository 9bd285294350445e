/**
 * What became of an attempt; the same words in answers, rows, logs and alerts.
 * - `confirmed`: the callee pressed 1;
 * - `cannot_go`: the callee pressed 3, and not 1;
 * - `heard`: the line reported that the whole message was spoken;
 * - `unconfirmed`: it was, and neither 1 nor 3 was pressed where they were asked for;
 * - `cut_short`: it surely started, and the callee hung up, or its end was not reported;
 * - `no_answer`, `busy`, `declined`: as the telephone network says;
 * - `refused`: calling this number is of no use, or the line or our own rules refuse to call it;
 * - `stopped`: it rang, and was hung up by a stop, by enough confirmations, or because another call reached the callee;
 * - `unknown`: nothing was surely spoken, for another reason or for none that is known.
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

/** What became of an attempt. */
export type Outcome = (typeof OUTCOMES)[number];
