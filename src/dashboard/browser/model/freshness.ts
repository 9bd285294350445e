import type { PartName } from './answers.ts';
import { type PageState, PARTS } from './page-state.ts';
import { isPhoneOff, type Part, troubleText } from './refresh.ts';

// Which answers are current. The page never shows an old answer as if it were current.

/** Something that the reader must know before they trust the page. Times are milliseconds since 1970. */
export interface Problem {
  readonly text: string;
  /** The time of the oldest answer of the parts with this problem; undefined if one of them has no answer. */
  readonly asOf: number | undefined;
  /** The time of the next question. */
  readonly nextAt: number | undefined;
}

export interface Freshness {
  readonly standing: 'current' | 'loading' | 'old';
  /** The parts that are not current, in words; empty: all parts, or none. */
  readonly oldParts: readonly string[];
  /** When the parts in question were true; if all are current, the whole page. */
  readonly asOf: number | undefined;
  readonly problems: readonly Problem[];
  /** A part that is not current could hide a fire or silent cameras. */
  readonly isBlind: boolean;
  /** The answer about alerts is too old. */
  readonly areAlertsOld: boolean;
}

/** The age of the page is the age of these parts: the page polls them at least once a minute. */
const FRESH: ReadonlySet<PartName> = new Set(['attention', 'notifications', 'activity', 'series', 'cameras']);

/** A late answer to these parts gets its note at once, even while the page asks again. */
const ALERTS: ReadonlySet<PartName> = new Set(['attention', 'notifications']);

/** A hidden tab polls these parts every 55 s, and the page judges them then. */
const WATCHED: ReadonlySet<PartName> = new Set([...ALERTS, 'recent']);

/** Without these parts, a fire or silent cameras could stay unnoticed. */
const NEEDED: ReadonlySet<PartName> = new Set(['attention', 'notifications', 'recent', 'known']);

/** A link to an unknown notification, or a figure without its comparison, hides no fire: the part itself says it. */
const BESIDE: ReadonlySet<PartName> = new Set(['opened', 'previous']);

type Standing = 'current' | 'asking' | 'old' | 'failing' | 'no phone';

/** After a pause, a part has the timeout of one question to become current. */
export const standingOf = (part: Part<unknown>, now: number): Standing => {
  if (part.trouble !== undefined) return isPhoneOff(part.trouble) ? 'no phone' : 'failing';
  if (now <= (part.lateFrom ?? 0)) return 'current';
  return now <= (part.waitsUntil ?? 0) ? 'asking' : 'old';
};

export const freshnessOf = (state: PageState, now: number): Freshness => {
  const judged = PARTS.flatMap(([name, words]) => {
    const part: Part<unknown> | undefined = state.parts[name];
    if (part === undefined || BESIDE.has(name) || (state.isHidden && !WATCHED.has(name))) return [];
    return [{ name, words, part, standing: standingOf(part, now) }];
  });
  const old = judged.filter(({ standing }) => standing === 'failing' || standing === 'old');
  const isLoading = judged.length === 0 || judged.some(({ standing }) => standing === 'asking');
  const fresh = judged.filter(({ name, part }) => FRESH.has(name) && part.answeredAt !== undefined);
  return {
    standing: old.length > 0 ? 'old' : isLoading ? 'loading' : 'current',
    oldParts: old.length === judged.length ? [] : [...new Set(old.map(({ words }) => words))],
    asOf: oldestOf(old.length > 0 ? old : fresh),
    problems: problemsOf(old),
    isBlind: old.some(({ name }) => NEEDED.has(name)),
    areAlertsOld: now > (state.parts.attention?.lateFrom ?? now),
  };
};

type Judged = readonly { readonly part: Part<unknown> }[];

/** Undefined if a part has no answer, or without parts. */
const oldestOf = (parts: Judged): number | undefined => {
  const times = parts.map(({ part }) => part.answeredAt ?? 0);
  return times.length === 0 || times.includes(0) ? undefined : Math.min(...times);
};

const problemsOf = (old: Judged): readonly Problem[] =>
  Array.from(
    Map.groupBy(old, ({ part: { trouble } }) => troubleText(trouble ?? { kind: 'unreachable' })),
    ([text, of]) => {
      const next = of.flatMap(({ part }) => part.nextAt ?? []);
      return { text, asOf: oldestOf(of), nextAt: next.length === 0 ? undefined : Math.min(...next) };
    },
  );

/**
 * The note of a part that is not current: the time of its answer. Undefined if it is current, or shows nothing. The page gives the figures time
 * for a question after a pause, but never the alerts.
 */
export const partNote = (
  { parts, locked, times }: Pick<PageState, 'parts' | 'locked' | 'times'>,
  name: PartName,
  now: number,
): string | undefined => {
  const part: Part<unknown> | undefined = parts[name];
  if (part === undefined) return undefined;
  const standing = standingOf(part, now);
  const isAsking = standing === 'asking' && !(ALERTS.has(name) && part.answeredAt !== undefined);
  if (locked === undefined && (standing === 'current' || isAsking)) return undefined;
  if (part.answeredAt !== undefined) return `As of ${times.moment(part.answeredAt).text}`;
  return standing === 'no phone' ? undefined : 'Not current';
};
