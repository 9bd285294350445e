import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import type { PlainMessage, Question } from '../../analytics/oracle.ts';
import {
  accuracyCountsOf,
  type Answer,
  countsOf,
  type Counted,
  type EventState,
  isSame,
  type Known,
  sumOf,
} from './counts.ts';

/** What an event was from a moment on. */
interface Version {
  readonly moment: number;
  readonly state: EventState;
  readonly counted: Counted;
  readonly accuracy: Counted;
}

/** What a question asks for: the counts, or how often the AI was right. */
export type Asked = 'counted' | 'accuracy';

interface KnownEvent {
  readonly cameraId: string;
  readonly ts: bigint;
  /** The partition whose rows count it. */
  partition: string;
  readonly versions: Version[];
}

/** An event as it was committed. */
export interface CommittedEvent {
  readonly partition: string;
  readonly cameraId: string;
  readonly eventId: string;
  readonly ts: bigint;
  readonly state: EventState;
}

const MINUTE = 60_000_000n;
const HOUR = 60n * MINUTE;
const DAY = 24n * HOUR;
// More ways to see the commits of one question than that are not tried.
const MOST_WAYS = 5_000;

const nameOf = ({ cameraId, eventId, ts }: Pick<PlainMessage, 'cameraId' | 'eventId' | 'ts'>): string =>
  JSON.stringify([cameraId, eventId, String(ts)]);

/** A value of a facet as a text; a category with 0 is as good as none. */
const plain = (value: unknown): string =>
  typeof value === 'object' && value !== null
    ? Object.entries(value)
        .filter(([, count]) => count !== 0)
        .map(([category, count]) => `${category} ${count}`)
        .sort((one, other) => (one < other ? -1 : 1))
        .join()
    : JSON.stringify(value);

const sameFacet = (one: Known<unknown>, other: unknown): boolean => plain(one.value) === plain(other);

const FACETS = ['detections', 'reviewed', 'annotations'] as const;

/**
 * The facts: the messages that were sent, and every commit of an event row as storage applied it, and when. Nothing of
 * the counter rows goes in. So it knows what a question may be answered with: by the events as they were at a moment between the question
 * and its answer.
 *
 * A range is answered from disjoint pieces. Each piece, and so each event, is read at one moment.
 */
export class Truth {
  readonly #sent = new Map<string, PlainMessage[]>();
  readonly #events = new Map<string, KnownEvent>();
  /** What should not have been committed. */
  readonly broken: string[] = [];
  /** Called after each commit. */
  onCommit: () => void = () => undefined;
  #moment = 0;
  /** When a day was last rewritten. */
  #rewritten = 0;
  /** How many questions had too many possible answers to be decided. */
  undecided = 0;
  /** How many questions had several possible answers. */
  contended = 0;

  /** The number of commits so far. */
  get now(): number {
    return this.#moment;
  }

  /** A message is sent; from now on it may be recorded. */
  send(message: PlainMessage): void {
    const name = nameOf(message);
    const sent = this.#sent.get(name);
    if (sent === undefined) this.#sent.set(name, [message]);
    else if (!sent.includes(message)) sent.push(message);
  }

  /** The table was deleted with all rows. */
  forgetCommits(): void {
    this.#moment += 1;
    this.#events.clear();
  }

  /** Events were committed together. */
  commit(events: readonly CommittedEvent[]): void {
    this.#moment += 1;
    for (const { partition, cameraId, eventId, ts, state } of events) {
      const name = nameOf({ cameraId, eventId, ts });
      const event = this.#events.get(name) ?? { cameraId, ts, partition, versions: [] };
      this.#events.set(name, event);
      if (event.partition !== partition) this.broken.push(`${name} is counted in ${event.partition} and ${partition}`);
      this.#check(name, event.versions.at(-1)?.state, state);
      event.versions.push({
        moment: this.#moment,
        state,
        counted: { counts: countsOf(state), cameras: new Set([cameraId]) },
        accuracy: { counts: accuracyCountsOf(state), cameras: new Set([cameraId]) },
      });
    }
    this.onCommit();
  }

  /** From now on the rows of these partitions count the events of a day. */
  rewrite(day: string, moved: readonly CommittedEvent[]): void {
    this.#moment += 1;
    this.#rewritten = this.#moment;
    const names = new Map(moved.map((event) => [nameOf(event), event]));
    if (names.size < moved.length) this.broken.push(`${day} has an event twice`);
    for (const [name, event] of this.#events) {
      const after = names.get(name);
      names.delete(name);
      if (dayOf(instantFrom(event.ts)) !== day) continue;
      const before = event.versions.at(-1)?.state;
      if (FACETS.some((facet) => before?.[facet]?.time !== after?.state[facet]?.time) || after === undefined) {
        this.broken.push(`the rewrite of ${day} loses ${name}`);
      } else event.partition = after.partition;
    }
    for (const name of names.keys()) this.broken.push(`the rewrite of ${day} makes ${name} up`);
  }

  /** Whether an event has everything that a message says, or something newer; either was sent, or it is broken. */
  has(message: PlainMessage): boolean {
    const state = this.#events.get(nameOf(message))?.versions.at(-1)?.state;
    return (
      state !== undefined &&
      FACETS.every((facet) => message[facet] === undefined || (state[facet]?.time ?? -1n) >= message.time)
    );
  }

  /** Every event that is counted, as it is now. */
  get events(): readonly { readonly cameraId: string; readonly ts: bigint }[] {
    return [...this.#events.values()];
  }

  /** The answer to a question by the events now. */
  answer(question: Question, asked: Asked = 'counted'): Counted {
    return sumOf([...this.#pieces(question).values()].map((events) => at(events, this.#moment, asked)));
  }

  /** Whether an answer is right at moments between its question and now. */
  allows(question: Question, answer: Answer, since: number, asked: Asked = 'counted'): boolean {
    const settled: Counted[] = [];
    const changing: (readonly Counted[])[] = [];
    let ways = 1;
    for (const events of this.#pieces(question, since < this.#rewritten).values()) {
      const moments = new Set([since]);
      for (const { versions } of events) {
        for (const { moment } of versions) if (moment > since) moments.add(moment);
      }
      const seen = [...moments].map((moment) => at(events, moment, asked));
      ways *= seen.length;
      if (seen.length === 1) settled.push(...seen);
      else changing.push(seen);
    }
    if (ways > 1) this.contended += 1;
    if (ways > MOST_WAYS) {
      this.undecided += 1;
      return true;
    }
    return isReachable(sumOf(settled), changing, answer);
  }

  /** The events of a question by the piece that they are counted in. Amid a rewrite it is not known with which other cameras. */
  #pieces({ start, end, cameraId }: Question, isAmidRewrite = false): ReadonlyMap<string, readonly KnownEvent[]> {
    const pieces = new Map<string, KnownEvent[]>();
    for (const event of this.#events.values()) {
      if (event.ts < start || event.ts > end) continue;
      if (cameraId !== undefined && event.cameraId !== cameraId) continue;
      const name = `${isAmidRewrite ? `${event.ts / DAY} ${event.cameraId}` : event.partition} ${pieceOf(event.ts, start, end, cameraId)}`;
      const piece = pieces.get(name);
      if (piece === undefined) pieces.set(name, [event]);
      else piece.push(event);
    }
    return pieces;
  }

  /** A commit has messages that were sent, and they are newer than the row before. */
  #check(name: string, before: EventState | undefined, after: EventState): void {
    for (const facet of FACETS) {
      const [was, is] = [before?.[facet], after[facet]];
      if (was !== undefined && (is === undefined || is.time < was.time)) {
        this.broken.push(`${facet} of ${name} went back to an older message`);
      }
      const sent = this.#sent.get(name) ?? [];
      if (is !== undefined && !sent.some((one) => one.time === is.time && sameFacet(is, one[facet]))) {
        this.broken.push(`${facet} of ${name} was never sent`);
      }
    }
    if (!this.#sent.has(name)) this.broken.push(`${name} was never sent`);
  }
}

/** The part of the range that an event is read from. */
const pieceOf = (ts: bigint, start: bigint, end: bigint, cameraId: string | undefined): string => {
  const isWhole = (length: bigint): boolean => {
    const from = ts - (ts % length);
    return start <= from && from + length - 1n <= end;
  };
  if (isWhole(DAY)) return 'day';
  if (isWhole(HOUR)) return cameraId === undefined ? 'hours' : 'camera';
  if (isWhole(MINUTE)) return cameraId === undefined ? `hour ${ts / HOUR}` : 'camera';
  return `half a minute ${ts / (MINUTE / 2n)}`;
};

/** What events counted at a moment. */
const at = (events: readonly KnownEvent[], moment: number, asked: Asked): Counted =>
  sumOf(events.flatMap(({ versions }) => versions.findLast((one) => one.moment <= moment)?.[asked] ?? []));

const isReachable = (sum: Counted, changing: readonly (readonly Counted[])[], answer: Answer): boolean => {
  const [next, ...rest] = changing;
  if (next === undefined) return isSame(sum, answer);
  return next.some((one) => isReachable(sumOf([sum, one]), rest, answer));
};
