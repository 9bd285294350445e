import { isDeepStrictEqual } from 'node:util';

import { DAY, nameOf, type PlainMessage, type Question } from '../../analytics/oracle.ts';
import { accuracyCountsOf, type Answer, countsOf, type Counted, type EventState, isSame, sumOf } from './counts.ts';

/** An event as it was committed. */
export interface CommittedEvent {
  /** The partition whose rows count it. */
  readonly partition: string;
  readonly cameraId: string;
  readonly eventId: string;
  readonly ts: bigint;
  readonly state: EventState;
}

/** The two kinds of answers: counts, or how often the AI was right. */
export type Measure = 'counts' | 'accuracy';

/** The state of an event from an instant on. */
interface Version extends CommittedEvent {
  readonly moment: number;
  readonly counted: Readonly<Record<Measure, Counted>>;
}

/** The versions of an event. */
interface KnownEvent {
  readonly name: string;
  readonly versions: [Version, ...Version[]];
}

export const MINUTE = 60_000_000n;
const HOUR = 60n * MINUTE;
const FACETS = ['detections', 'reviewed', 'annotations', 'removed'] as const;
// More ways to see the commits of one question than that are not tried.
const MAX_WAYS = 5_000;

/** A category with 0 is as good as none. */
const without0 = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).filter(([, count]) => count !== 0))
    : value;

/**
 * The facts: the messages that were sent, and every commit of an event row as storage applied it, and when. Nothing of
 * the counter rows goes in. So it knows what a question may be answered with: by the events as they were at a moment between the question
 * and its answer.
 *
 * A range is answered from disjoint pieces. Each piece, and so each event, is read at one moment.
 */
export class Truth {
  readonly #sent = new Map<string, Set<PlainMessage>>();
  readonly #events = new Map<string, KnownEvent>();
  /** The commits that should not have happened. */
  readonly broken: string[] = [];
  /** The number of commits so far. */
  now = 0;
  /** How many questions had too many possible answers to be decided. */
  undecided = 0;
  /** How many questions had several possible answers. */
  contended = 0;

  /** A message is sent; from now on it may be recorded. */
  send(message: PlainMessage): void {
    const name = nameOf(message);
    this.#sent.set(name, (this.#sent.get(name) ?? new Set()).add(message));
  }

  /** Events were committed together. */
  commit(events: readonly CommittedEvent[]): void {
    this.now += 1;
    for (const event of events) {
      const name = nameOf(event);
      const { partition, cameraId, state } = event;
      const cameras = new Set([cameraId]);
      const counted = {
        counts: { counts: countsOf(state), cameras },
        accuracy: { counts: accuracyCountsOf(state), cameras },
      };
      const version: Version = { ...event, moment: this.now, counted };
      const known = this.#events.get(name);
      if (known === undefined) this.#events.set(name, { name, versions: [version] });
      else if (known.versions[0].partition !== partition)
        this.broken.push(`${name} is counted in ${known.versions[0].partition} and ${partition}`);
      this.#check(name, known?.versions.at(-1)?.state, state);
      known?.versions.push(version);
    }
  }

  /** Whether an event has everything that a message says, or something newer. */
  has(message: PlainMessage): boolean {
    const state = this.#events.get(nameOf(message))?.versions.at(-1)?.state;
    return (
      state !== undefined &&
      FACETS.every((facet) => message[facet] === undefined || (state[facet]?.time ?? -1n) >= message.time)
    );
  }

  /** The newest version of each event. */
  get events(): readonly CommittedEvent[] {
    return Array.from(this.#events.values(), ({ versions }) => versions.at(-1) ?? versions[0]);
  }

  /** The answer to a question by the events now. */
  answer(question: Question, measure: Measure = 'counts'): Counted {
    return sumOf([...this.#pieces(question).values()].map((events) => at(events, this.now, measure)));
  }

  /** Whether an answer is right at moments between its question and now. */
  allows(question: Question, answer: Answer, since: number, measure: Measure = 'counts'): boolean {
    const pieces = Array.from(this.#pieces(question).values(), (events) => {
      const moments = events.flatMap(({ versions }) => versions.map(({ moment }) => Math.max(moment, since)));
      return Array.from(new Set([since, ...moments]), (moment) => at(events, moment, measure));
    });
    const ways = pieces.reduce((product, seen) => product * seen.length, 1);
    this.contended += Number(ways > 1);
    this.undecided += Number(ways > MAX_WAYS);
    return ways > MAX_WAYS || isReachable(sumOf([]), pieces, answer);
  }

  /**
   * Whether a camera was last seen in this minute of a period, or never: the camera has an event there, and none in a later minute that
   * was committed before the question.
   *
   * @param minute its first microsecond
   */
  allowsLastSeen({ start, end, cameraId }: Question, minute: bigint | undefined, since: number): boolean {
    const events = [...this.#events.values()].flatMap(({ versions: [first] }) => {
      const { ts, moment } = first;
      const isAsked = first.cameraId === cameraId && ts >= start && ts <= end;
      return isAsked ? [{ minute: ts - (ts % MINUTE), isOld: moment <= since }] : [];
    });
    if (minute !== undefined && events.every((event) => event.minute !== minute)) return false;
    return events.every((event) => !event.isOld || event.minute <= (minute ?? -1n));
  }

  /** Whether these are the events of a period, each as of some moment since the question. */
  allowsEvents({ start, end }: Question, messages: readonly PlainMessage[], since: number): boolean {
    const exported = Map.groupBy(messages, nameOf);
    const asked = [...this.#events.values()].filter(({ versions: [{ ts }] }) => ts >= start && ts <= end);
    if ([...exported.keys()].some((name) => asked.every((event) => event.name !== name))) return false;
    return asked.every(({ name, versions }) => {
      const parts = exported.get(name);
      const seen = versions.filter((_, index) => (versions[index + 1]?.moment ?? Infinity) > since);
      if (parts === undefined) return versions[0].moment > since;
      const state = Object.fromEntries(
        FACETS.flatMap((facet) =>
          parts.flatMap(({ time, [facet]: value }) => (value === undefined ? [] : [[facet, { value, time }]])),
        ),
      );
      return seen.some((version) => isDeepStrictEqual(version.state, state));
    });
  }

  /** The events of a question by the piece that they are counted in. */
  #pieces({ start, end, cameraId }: Question): ReadonlyMap<string, readonly KnownEvent[]> {
    const asked = [...this.#events.values()].filter(({ versions: [{ ts, cameraId: own }] }) => {
      return ts >= start && ts <= end && (cameraId ?? own) === own;
    });
    return Map.groupBy(asked, ({ name, versions: [{ ts, partition }] }) => {
      return `${partition} ${pieceOf(ts, start, end, cameraId) ?? name}`;
    });
  }

  /** A commit has messages that were sent, and they are newer than the row before. */
  #check(name: string, before: EventState | undefined, after: EventState): void {
    const sent = [...(this.#sent.get(name) ?? [])];
    if (sent.length === 0) this.broken.push(`${name} was never sent`);
    for (const facet of FACETS) {
      const [was, is] = [before?.[facet], after[facet]];
      if (was !== undefined && (is === undefined || is.time < was.time)) {
        this.broken.push(`${facet} of ${name} went back to an older message`);
      }
      if (
        is !== undefined &&
        !sent.some((one) => one.time === is.time && isDeepStrictEqual(without0(one[facet]), without0(is.value)))
      ) {
        this.broken.push(`${facet} of ${name} was never sent`);
      }
    }
  }
}

/** The part of the range that an event is read from; undefined: a partial minute, whose events are read one by one. */
const pieceOf = (ts: bigint, start: bigint, end: bigint, cameraId: string | undefined): string | undefined => {
  const isWhole = (length: bigint): boolean => {
    const from = ts - (ts % length);
    return start <= from && from + length - 1n <= end;
  };
  if (isWhole(DAY)) return 'day';
  if (isWhole(HOUR)) return cameraId === undefined ? 'hours' : 'camera';
  if (isWhole(MINUTE)) return cameraId === undefined ? `hour ${ts / HOUR}` : 'camera';
  return undefined;
};

/** The counts of events at an instant. */
const at = (events: readonly KnownEvent[], moment: number, measure: Measure): Counted =>
  sumOf(events.flatMap(({ versions }) => versions.findLast((one) => one.moment <= moment)?.counted[measure] ?? []));

const isReachable = (sum: Counted, pieces: readonly (readonly Counted[])[], answer: Answer): boolean => {
  const [next, ...rest] = pieces;
  if (next === undefined) return isSame(sum, answer);
  return next.some((one) => isReachable(sumOf([sum, one]), rest, answer));
};
