const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;
// A line that asks for more is asked again when a call has ended, which frees one, and by the timer function.
const LONGEST_ASKED_MS = 60_000;

/** Whoever waits to be dialled: beside how many open calls it was refused, if it was. */
export interface Queued {
  readonly refusedBeside?: number | undefined;
}

/** How many lines there seem to be: a call that was refused beside two others tells that there are two. Forgotten when none of those waits. */
const knownLines = (queue: readonly Queued[]): number =>
  Math.min(...queue.map(({ refusedBeside }) => refusedBeside ?? Infinity));

/**
 * Who may be dialled now, in this order. What calls that are not urgent tell about the lines holds back no urgent one: one of theirs that was
 * declined would look like a line that is missing.
 *
 * @param urgent who waits and is dialled before all others, in order
 * @param others who else waits, in order
 * @param openCalls how many calls are ringing or open
 */
export const nextToDial = <Entry extends Queued>(
  urgent: readonly Entry[],
  others: readonly Entry[],
  openCalls: number,
): readonly Entry[] => {
  const first = fitting(urgent, knownLines(urgent), openCalls);
  if (first.length < urgent.length) return first;
  return [...first, ...fitting(others, knownLines([...urgent, ...others]), openCalls + first.length)];
};

const fitting = <Entry extends Queued>(queue: readonly Entry[], lines: number, openCalls: number): readonly Entry[] => {
  // Whoever was refused beside the fewest others is the one that the rest waits for: it may have declined, and alone that is certain.
  const first = queue.findIndex(({ refusedBeside }) => refusedBeside === lines);
  const ordered = lines === 1 && first > 0 ? [...queue.slice(first, first + 1), ...queue.toSpliced(first, 1)] : queue;
  return ordered.slice(0, Math.max(0, lines - openCalls));
};

/** When this process may dial again after the line did not take a call: who waits for a line keeps its place meanwhile. */
export class LinePause {
  #until = 0;
  #throttledAt = -Infinity;
  #reason = 'no line is free';
  #inARow = 0;

  /** In milliseconds since 1970. */
  get until(): number {
    return this.#until;
  }

  /** Why it is on, in words. */
  get reason(): string {
    return this.#reason;
  }

  /** Whether nobody is to be dialled now. */
  isOn(now: number): boolean {
    return now < this.#until;
  }

  /**
   * The line did not take a call.
   *
   * @param waitMs how long it asked to wait, in milliseconds
   * @param reason in words; that no line is free if it is not given
   */
  throttled(waitMs: number | undefined, now: number, reason = 'no line is free'): void {
    this.#reason = reason;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#inARow);
    this.#inARow += 1;
    this.#throttledAt = now;
    this.#until = Math.max(this.#until, now + Math.min(LONGEST_ASKED_MS, Math.max(pauseMs, waitMs ?? 0)));
  }

  /**
   * A call was accepted. Only a request that was sent after the last one was throttled tells that a line is free.
   *
   * @param sentAt in milliseconds since 1970
   */
  accepted(sentAt: number): void {
    if (sentAt > this.#throttledAt) this.lineIsFree();
  }

  /** A call has ended, and its line is free: sooner, perhaps, than the wait that the line asked for. */
  lineIsFree(): void {
    this.#until = 0;
    this.#inARow = 0;
  }
}
