import { BELIEVED_MS, isProven, type LineState, linesOf, type OpenCall, PROVEN_AFTER_MS, startsAt } from './lines.ts';

/** Somebody who waits to be dialled. Times are in milliseconds since 1970. */
export interface Queued {
  /** The hash of the number. */
  readonly number: string;
  readonly isUrgent: boolean;
  /** In the request. */
  readonly position: number;
  /** Since when: kept through refusals. */
  readonly queuedAt: number;
  /** Not dialled before. */
  readonly dueAt: number;
  /** The last call request found no line. */
  readonly hadNoLine?: boolean | undefined;
  /** How many calls were declined without costing an attempt. */
  readonly refusals?: number | undefined;
  /** Why it waits, in words, as far as its own calls tell. */
  readonly reason?: string | undefined;
}

/** What is to be done about the queue now. */
export type Next<Person, Call> =
  /** `isProbe`: to find out whether there is one line more; `takesOver`: a call that holds the number and is held to be over. */
  | { readonly kind: 'dial'; readonly who: Person; readonly isProbe: boolean; readonly takesOver: Call | undefined }
  /** It makes way for an urgent call. */
  | { readonly kind: 'hang up'; readonly call: Call }
  /** Nothing, until something happens or until then. */
  | { readonly kind: 'wait'; readonly until: number | undefined };

/** A request without an answer leaves the window after so long, and counts as an open call. */
export const ANSWERED_WITHIN_MS = 2_000;
/** Call requests without an answer, at most. */
export const WIDEST = 8;
/** A call holds back no urgent one to its number so long after it was asked to hang up, or after its own look was due. */
export const RELEASED_AFTER_MS = 10_000;
/** A second call makes way for urgent ones so long after the first was asked to. */
export const ANOTHER_WAY_AFTER_MS = 5_000;
/** So long after the line accepted an urgent call nobody else gets one: lines that decline a call too many do it after accepting it. */
export const LINE_SURE_AFTER_MS = 2_000;
/** Nobody serves more often to find out whether there is one line more, at the risk of a free decline. */
export const MOST_PROBES = 3;

/** Whether a call makes way for an urgent one: it only rings. */
export const onlyRings = ({ acceptedAt, connectedAt, isUrgent }: OpenCall): boolean =>
  acceptedAt !== undefined && connectedAt === undefined && !isUrgent;

const releasedAt = ({ hangUpAt = Infinity, lookAt = Infinity }: OpenCall): number =>
  Math.min(hangUpAt, lookAt) + RELEASED_AFTER_MS;

/** Urgent ones first; one person of each notification before the second of any; then who has waited longest. */
const byTurn = (one: Queued, other: Queued): number =>
  Number(other.isUrgent) - Number(one.isUrgent) || one.position - other.position || one.queuedAt - other.queuedAt;

const holds = (call: OpenCall | undefined, one: Queued, now: number): call is OpenCall =>
  call !== undefined && !(one.isUrgent && releasedAt(call) <= now);

/** When an urgent call has surely got its line, or surely not, if nothing more is heard of it. */
const lineSureAt = (call: OpenCall, { known, sureAt = -Infinity }: LineState, now: number): number => {
  const { acceptedAt, sentAt, connectedAt, isUrgent } = call;
  if (!isUrgent || connectedAt !== undefined) return now;
  if (acceptedAt === undefined) return sentAt + ANSWERED_WITHIN_MS;
  if (now - sureAt < BELIEVED_MS) return now;
  return acceptedAt + (known === undefined ? LINE_SURE_AFTER_MS : PROVEN_AFTER_MS);
};

/** Who waits for a line, and whose call holds whose number. */
const waitingIn = (queue: readonly Queued[], open: readonly OpenCall[], line: LineState, now: number) => {
  const holders = new Map(open.map((call) => [call.number, call]));
  const isHeld = (one: Queued): boolean => holds(holders.get(one.number), one, now);
  const isUrgentWaiting = queue.some((one) => isWaiting(one, now) && one.isUrgent && !isHeld(one));
  // Nobody else gets a line until then.
  const othersAt = isUrgentWaiting ? Infinity : Math.max(now, ...open.map((call) => lineSureAt(call, line, now)));
  return { isHeld, othersAt };
};

/** Whether somebody could be dialled now, as far as it is up to them. */
export const isWaiting = ({ dueAt, hadNoLine }: Queued, now: number): boolean => dueAt <= now || hadNoLine === true;

/** Until when only urgent ones are tried, because our set-up or our speech does not work. */
const faultyUntil = ({ fault, silence }: LineState): number => Math.max(fault?.until ?? 0, silence?.until ?? 0);

/**
 * Whom to dial now, which ringing call to hang up, or until when to wait: the one rule for everybody who waits.
 *
 * - While an urgent one waits for a line, nobody else gets one; one that waits only for its own number holds back nobody.
 * - One call at a time to a number. An urgent one takes the number, or the line, of a call that is not urgent and only rings.
 * - The head alone, then twice as many as were accepted since the last refusal.
 * - As many as there are lines; one more is tried from time to time, by turns with somebody else than who was refused last.
 * - Not more a second than the account may start.
 */
export const next = <Person extends Queued, Call extends OpenCall>(
  queue: readonly Person[],
  open: readonly Call[],
  line: LineState,
  now: number,
): Next<Person, Call> => {
  const { isHeld, othersAt } = waitingIn(queue, open, line, now);
  const isHeldBack = othersAt > now || now < faultyUntil(line);
  const holderOf = (one: Person): Call | undefined => open.find(({ number }) => number === one.number);
  const inOrder = queue.filter((one) => isWaiting(one, now) && (one.isUrgent || !isHeldBack)).sort(byTurn);
  const requested = open.filter(
    ({ acceptedAt, sentAt }) => acceptedAt === undefined && now - sentAt < ANSWERED_WITHIN_MS,
  );
  const answeredAt = Math.min(...requested.map(({ sentAt }) => sentAt)) + ANSWERED_WITHIN_MS;
  const isFull = open.length >= linesOf(line, open, now);
  const wakeAt = isHeldBack && queue.some(({ isUrgent }) => !isUrgent) ? [Math.max(othersAt, faultyUntil(line))] : [];
  const wait = (...until: readonly number[]): Next<Person, Call> => {
    const earliest = Math.min(...wakeAt, ...until);
    return { kind: 'wait', until: Number.isFinite(earliest) ? earliest : undefined };
  };
  for (const one of inOrder) {
    const holder = holderOf(one);
    if (holds(holder, one, now)) {
      if (!one.isUrgent) continue;
      if (onlyRings(holder) && holder.hangUpAt === undefined) return { kind: 'hang up', call: holder };
      // Another instance may learn that it rings.
      wakeAt.push(holder.acceptedAt === undefined ? now + ANSWERED_WITHIN_MS : releasedAt(holder));
      continue;
    }
    const ringing = one.isUrgent && isFull ? open.filter(onlyRings) : [];
    const askedAt = Math.max(...ringing.map(({ hangUpAt = -Infinity }) => hangUpAt));
    if (now < askedAt + ANOTHER_WAY_AFTER_MS) return wait(askedAt + ANOTHER_WAY_AFTER_MS);
    const youngest = ringing.filter(({ hangUpAt }) => hangUpAt === undefined).sort((a, b) => b.sentAt - a.sentAt)[0];
    if (youngest !== undefined) return { kind: 'hang up', call: youngest };
    if (one.dueAt > now) {
      wakeAt.push(one.dueAt);
      continue;
    }
    if (now < startsAt(line)) return wait(startsAt(line));
    if (requested.length >= windowOf(open, line)) return wait(answeredAt);
    if (!isFull) return { kind: 'dial', who: one, isProbe: false, takesOver: holder };
    if (requested.length > 0) return wait(answeredAt);
    const { probeAt = 0 } = line;
    if (now < probeAt) return wait(probeAt);
    const probes = inOrder.filter(
      (other) => other.dueAt <= now && !isHeld(other) && (open.length === 0 || (other.refusals ?? 0) < MOST_PROBES),
    );
    // One callee who is always refused keeps nobody of equal rank waiting and, where no call is open, nobody of the same urgency: nobody else's
    // end would wake them.
    const isPeer = ({ isUrgent, position }: Person): boolean =>
      isUrgent === probes[0]?.isUrgent && (open.length === 0 || position === probes[0].position);
    const probe = probes.find((other) => isPeer(other) && other.number !== line.refused) ?? probes[0];
    return probe === undefined
      ? wait(provenAt(open, now))
      : { kind: 'dial', who: probe, isProbe: true, takesOver: holderOf(probe) };
  }
  return wait();
};

/** How many requests may be without an answer: twice the calls that were accepted since the last refusal and are still open. */
const windowOf = (open: readonly OpenCall[], { refusedAt = -Infinity }: LineState): number =>
  Math.min(WIDEST, Math.max(1, 2 * open.filter(({ acceptedAt = -Infinity }) => acceptedAt > refusedAt).length));

/** When the next call will have proved that it has a line. */
export const provenAt = (open: readonly OpenCall[], now: number): number =>
  Math.min(
    ...open.flatMap((call) =>
      call.acceptedAt === undefined || isProven(call, now) ? [] : call.acceptedAt + PROVEN_AFTER_MS,
    ),
  );

/** Why somebody waits. */
export const NUMBER_BUSY = 'another call to this number is under way';
/** Why somebody waits. */
export const URGENT_FIRST = 'urgent calls wait for a line';
/** Why somebody waits. */
export const NO_LINE = 'no line is free';
/** Why somebody waits. */
export const ABOUT_TO_BE_DIALLED = 'is about to be dialled';

/** Why somebody waits, in words. */
export const whyWaiting = (
  one: Queued,
  queue: readonly Queued[],
  open: readonly OpenCall[],
  line: LineState,
  now: number,
): string => {
  const { isHeld, othersAt } = waitingIn(queue, open, line, now);
  if (isHeld(one)) return NUMBER_BUSY;
  if (!one.isUrgent && othersAt > now) return URGENT_FIRST;
  if (!one.isUrgent && now < (line.fault?.until ?? 0)) return line.fault?.reason ?? 'our set-up';
  if (!one.isUrgent && now < (line.silence?.until ?? 0)) return line.silence?.reason ?? 'speech is not available';
  return one.reason ?? (open.length >= linesOf(line, open, now) ? NO_LINE : ABOUT_TO_BE_DIALLED);
};
