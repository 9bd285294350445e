import { BELIEVED_MS, type LineState } from './lines.ts';

/** After two callees in a row who answered into silence, the next call that is not urgent waits so long, in milliseconds. */
export const SILENT_RETRY_MS = 120_000;

/**
 * What is known when somebody has answered and nothing can be said to them. One callee alone may have had bad luck; of two different ones in a
 * row, with nobody between who heard the beginning of a message, it is taken that speech does not work.
 *
 * @param number the hash of the number
 * @param heardAt when somebody heard the beginning of a message last, in milliseconds since 1970
 */
export const afterSilence = (
  line: LineState,
  number: string,
  heardAt: number,
  reason: string | undefined,
  now: number,
): LineState => {
  const before = silenceOf(line, now);
  const isInARow = before !== undefined && heardAt < before.at;
  const isOurs = isInARow && (before.until !== undefined || before.number !== number);
  const silence = { number, at: now, reason, until: isOurs ? now + SILENT_RETRY_MS : undefined };
  // The next ones are tried one after the other.
  return { ...line, silence, ...(isOurs ? { refusedAt: now } : {}) };
};

/** It is forgotten when somebody heard a message after it, and after an hour. */
export const withoutOldSilence = (line: LineState, heardAt: number, now: number): LineState =>
  line.silence !== undefined && (line.silence.at < heardAt || silenceOf(line, now) === undefined)
    ? { ...line, silence: undefined }
    : line;

const silenceOf = ({ silence }: LineState, now: number): LineState['silence'] =>
  silence === undefined || now - silence.at > BELIEVED_MS ? undefined : silence;
