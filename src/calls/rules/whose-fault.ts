import { BELIEVED_MS, type Fault, type LineState } from './lines.ts';

/** Who waits for our set-up to be mended is tried again after so long, in milliseconds. */
export const SET_UP_RETRY_MS = 30_000;

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

/**
 * A call was forbidden, which may be one callee's alone. It is believed to be our set-up when two numbers met it in a row with nobody reached
 * between; one success ends that.
 *
 * @param number the hash of the number
 * @param reachedAt when somebody was reached last, in milliseconds since 1970
 */
export const judgeForbidden = (line: LineState, number: string, reachedAt: number, now: number): Judged => {
  const before = faultOf(line, now);
  const isInARow = before !== undefined && reachedAt < before.at;
  const isOurs = isInARow && (before.until !== undefined || before.number !== number);
  const fault: Fault = { number, at: now, reason: FORBIDDEN, until: isOurs ? now + SET_UP_RETRY_MS : undefined };
  const isFirst = now - (line.forbiddenAt ?? -Infinity) > BELIEVED_MS;
  const forbiddenAt = isFirst ? now : line.forbiddenAt;
  return { fault: isOurs ? 'ours' : 'callee', line: { ...line, fault, forbiddenAt }, isFirst };
};

/** A fault that is beyond doubt ours: only urgent calls are tried until it may have been mended. */
export const ourFault = (line: LineState, number: string, reason: string | undefined, now: number): LineState => ({
  ...line,
  // The next ones are tried one after the other.
  refusedAt: now,
  fault: { number, at: now, until: now + SET_UP_RETRY_MS, reason },
});

/** A fault is forgotten when somebody was reached after it; whose numbers were met is forgotten after an hour. */
export const withoutOldFault = (line: LineState, reachedAt: number, now: number): LineState => {
  const isOld = line.fault !== undefined && (line.fault.at < reachedAt || faultOf(line, now) === undefined);
  const isRefusalOld = line.refused !== undefined && now - (line.refusedAt ?? 0) > BELIEVED_MS;
  if (!isOld && !isRefusalOld) return line;
  return { ...line, fault: isOld ? undefined : line.fault, refused: isRefusalOld ? undefined : line.refused };
};

const faultOf = ({ fault }: LineState, now: number): Fault | undefined =>
  fault === undefined || now - fault.at > BELIEVED_MS ? undefined : fault;
