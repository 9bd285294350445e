import { BELIEVED_MS, type Fault, type LineState } from './lines.ts';

// A fault that one callee meets may be that callee's alone. It is believed to be ours when two different ones met it in a row, and nobody
// between them has shown the contrary. Then only urgent calls are tried until it may have been mended.

/** Who waits for our set-up to be mended is tried again after so long, in milliseconds. */
export const SET_UP_RETRY_MS = 30_000;
/** After two callees in a row who answered into silence, the next call that is not urgent waits so long, in milliseconds. */
export const SILENT_RETRY_MS = 120_000;

/** Both explanations of a call that was forbidden. */
export const FORBIDDEN = 'forbidden: the callee blocks our number, or our number may not call (see the phone service)';

/** Whose fault it was that a call was not made, and what is known of the lines then. */
export interface Judged {
  /** `callee`: one attempt of that callee. */
  readonly fault: 'callee' | 'ours';
  readonly line: LineState;
  /** An operator is to be told: it is the first one within an hour. */
  readonly isFirst: boolean;
}

const isOurs = (before: Fault | undefined, number: string, refutedAt: number, now: number): boolean =>
  before !== undefined &&
  refutedAt < before.at &&
  now - before.at <= BELIEVED_MS &&
  (before.until !== undefined || before.number !== number);

/**
 * A call was forbidden. Somebody who was reached shows that our set-up works.
 *
 * @param number the hash of the number
 * @param reachedAt when somebody was reached last, in milliseconds since 1970
 */
export const judgeForbidden = (line: LineState, number: string, reachedAt: number, now: number): Judged => {
  const isBelieved = isOurs(line.fault, number, reachedAt, now);
  const fault: Fault = { number, at: now, reason: FORBIDDEN, until: isBelieved ? now + SET_UP_RETRY_MS : undefined };
  const isFirst = now - (line.forbiddenAt ?? -Infinity) > BELIEVED_MS;
  const forbiddenAt = isFirst ? now : line.forbiddenAt;
  return { fault: isBelieved ? 'ours' : 'callee', line: { ...line, fault, forbiddenAt }, isFirst };
};

/** A fault that is beyond doubt ours. */
export const ourFault = (line: LineState, number: string, reason: string | undefined, now: number): LineState => ({
  ...line,
  // The next ones are tried one after the other.
  refusedAt: now,
  fault: { number, at: now, until: now + SET_UP_RETRY_MS, reason },
});

/**
 * Somebody has answered, and nothing can be said to them. Somebody who hears the beginning of a message shows that speech works.
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
  const isBelieved = isOurs(line.silence, number, heardAt, now);
  const silence = { number, at: now, reason, until: isBelieved ? now + SILENT_RETRY_MS : undefined };
  // The next ones are tried one after the other.
  return { ...line, silence, ...(isBelieved ? { refusedAt: now } : {}) };
};

const isOld = (fault: Fault | undefined, refutedAt: number, now: number): boolean =>
  fault !== undefined && (fault.at < refutedAt || now - fault.at > BELIEVED_MS);

/** What is refuted is forgotten; whose numbers were met is forgotten after an hour. The same object if nothing is. */
export const withoutOldFaults = (
  line: LineState,
  { reachedAt, heardAt }: { readonly reachedAt: number; readonly heardAt: number },
  now: number,
): LineState => {
  const { fault, silence, refused, refusedAt = 0 } = line;
  const isFaultOld = isOld(fault, reachedAt, now);
  const isSilenceOld = isOld(silence, heardAt, now);
  const isRefusalOld = refused !== undefined && now - refusedAt > BELIEVED_MS;
  if (!isFaultOld && !isSilenceOld && !isRefusalOld) return line;
  return {
    ...line,
    fault: isFaultOld ? undefined : fault,
    silence: isSilenceOld ? undefined : silence,
    refused: isRefusalOld ? undefined : refused,
  };
};
