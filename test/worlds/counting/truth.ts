import { isDeepStrictEqual } from 'node:util';

import {
  accuracyCountsOf,
  type Answer,
  countsOf,
  type Counted,
  type EventState,
  FACETS,
  isSame,
  nameOf,
  type PlainMessage,
  type Question,
  stateAfter,
  sumOf,
} from '../../analytics/oracle.ts';

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
const COUNTS_OF = { counts: countsOf, accuracy: accuracyCountsOf } as const;

/** The state of an event from a moment on. */
interface Version extends CommittedEvent {
  readonly moment: number;
}

export const MINUTE = 60_000_000n;
/** More ways to see the commits during one question are not tried. */
const MAX_WAYS = 5_000;
const NOTHING: Counted = sumOf([]);

/**
 * The facts: the messages that were sent, and every commit of an event row as storage applied it. Nothing of the counter rows goes in.
 *
 * A moment is a number of commits. **An answer is right if it is the sum of its events, each as it was at some moment between question and
 * answer.**
 */
export class Truth {
  /** By the name of the event. */
  readonly #sent = new Map<string, PlainMessage[]>();
  /** The versions of each event, by its name; the newest is the last. */
  readonly #events = new Map<string, [Version, ...Version[]]>();
  /** The commits that should not have happened. */
  readonly broken: string[] = [];
  now = 0;
  /** How many questions had several right answers, and how many had too many to try them all. */
  readonly seen = { contended: 0, undecided: 0 };

  /** A message is sent; from now on it may be recorded. */
  send(message: PlainMessage): void {
    const name = nameOf(message);
    this.#sent.set(name, [...(this.#sent.get(name) ?? []), message]);
  }

  /** Events were committed together. Each has messages that were sent, and none is older than before. */
  commit(events: readonly CommittedEvent[]): void {
    this.now += 1;
    for (const event of events) {
      const name = nameOf(event);
      const [version, versions] = [{ ...event, moment: this.now }, this.#events.get(name)];
      const before = versions?.at(-1);
      if ((before?.partition ?? event.partition) !== event.partition) this.broken.push(`${name} is in two shards`);
      for (const facet of FACETS) {
        const [was, is] = [before?.state[facet], event.state[facet]];
        const isSent = (message: PlainMessage): boolean => isDeepStrictEqual(stateAfter([message])[facet], is);
        if ((is?.time ?? -1n) < (was?.time ?? -1n)) this.broken.push(`${facet} of ${name} went back`);
        if (this.#sent.get(name)?.some(isSent) !== true) this.broken.push(`${facet} of ${name} was never sent`);
      }
      if (versions === undefined) this.#events.set(name, [version]);
      else versions.push(version);
    }
  }

  /** Whether an event has everything that a message says, or something newer. */
  has(message: PlainMessage): boolean {
    const state = this.#events.get(nameOf(message))?.at(-1)?.state;
    const isIn = (facet: (typeof FACETS)[number]): boolean =>
      message[facet] === undefined || (state?.[facet]?.time ?? -1n) >= message.time;
    return state !== undefined && FACETS.every(isIn);
  }

  /** The answer to a question by the events now. */
  answer(question: Question, measure: Measure): Counted {
    return sumOf(this.#asked(question).flatMap((versions) => countedIn(versions.at(-1), measure)));
  }

  /** Whether an answer to a question of that moment is right. */
  allows(question: Question, answer: Answer, since: number, measure: Measure): boolean {
    const events = this.#asked(question).map((versions) => {
      const different: Counted[] = [];
      for (const version of seenSince(versions, since)) {
        const counted = countedIn(version, measure);
        if (!different.some((one) => isDeepStrictEqual(one, counted))) different.push(counted);
      }
      return different;
    });
    const ways = events.reduce((product, different) => product * different.length, 1);
    this.seen.contended += Number(ways > 1);
    this.seen.undecided += Number(ways > MAX_WAYS);
    return ways > MAX_WAYS || isSumOf(answer, events);
  }

  /**
   * Whether a camera was last seen in this minute of a period, or never: it has an event there, and none in a later minute that was
   * committed before the question.
   *
   * @param minute its first microsecond
   */
  allowsLastSeen(question: Question, minute: bigint | undefined, since: number): boolean {
    const events = this.#asked(question).map(([{ ts, moment }]) => ({ minute: ts - (ts % MINUTE), moment }));
    const isThere = minute === undefined || events.some((event) => event.minute === minute);
    return isThere && events.every((event) => event.minute <= (minute ?? -1n) || event.moment > since);
  }

  /** Whether these are the events of a period, each as it was at some moment since that moment. */
  allowsEvents(question: Question, messages: readonly PlainMessage[], since: number): boolean {
    const exported = Map.groupBy(messages, nameOf);
    const asked = this.#asked(question);
    return (
      asked.filter(([first]) => exported.has(nameOf(first))).length === exported.size &&
      asked.every((versions) => {
        const own = exported.get(nameOf(versions[0]));
        return seenSince(versions, since).some((version) => isDeepStrictEqual(version?.state, own && stateAfter(own)));
      })
    );
  }

  /** The versions of each event of a question. */
  #asked({ start, end, cameraId }: Question): readonly (readonly [Version, ...Version[]])[] {
    return [...this.#events.values()].filter(
      ([{ ts, cameraId: own }]) => ts >= start && ts <= end && (cameraId ?? own) === own,
    );
  }
}

/** The newest version of an event at each moment since that moment; undefined: the event was not there. */
const seenSince = (versions: readonly Version[], since: number): readonly (Version | undefined)[] =>
  [undefined, ...versions].filter((_, index) => (versions[index]?.moment ?? Infinity) > since);

const countedIn = (version: Version | undefined, measure: Measure): Counted =>
  version ? { counts: COUNTS_OF[measure](version.state), cameras: new Set([version.cameraId]) } : NOTHING;

/** Whether an answer is a sum of one of the counts of each event. */
const isSumOf = (answer: Answer, [next, ...rest]: readonly (readonly Counted[])[], sum = NOTHING): boolean =>
  next === undefined ? isSame(sum, answer) : next.some((one) => isSumOf(answer, rest, sumOf([sum, one])));
