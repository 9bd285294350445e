import { type PageState, PARTS, type PartName } from './page-state.ts';
import { isPhoneOff, type Part, troubleText } from './refresh.ts';

// Which answers are current. The page never shows an old answer as if it were current.

/** Something that the reader must know before they trust the page. Times are milliseconds since 1970. */
export interface Problem {
  readonly text: string;
  /** The parts that are not current for this reason; empty: all parts, or no part. */
  readonly parts: readonly string[];
  /** The time of the oldest answer of these parts; undefined if one of them has no answer. */
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
  /** The answer about alerts is too old. */
  readonly areAlertsOld: boolean;
}

/** The age of the page is the age of these parts: the page polls them at least once a minute. */
const FRESH: ReadonlySet<PartName> = new Set(['attention', 'notifications', 'activity', 'series', 'cameras']);

/** A hidden tab polls these parts, and the page judges them then. */
const WATCHED: ReadonlySet<PartName> = new Set(['attention', 'notifications']);

/** A link to an unknown notification, or a figure without its comparison, hides no fire: the part itself says it. */
const BESIDE: ReadonlySet<PartName> = new Set(['story', 'previous']);

type Standing = 'current' | 'asking' | 'old' | 'failing' | 'no phone';

/** After a pause, a part has the patience of one question to become current. */
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
  const problems = problemsOf(old, judged.length);
  const lateFrom = state.parts.attention?.lateFrom;
  const areAlertsOld = lateFrom !== undefined && now > lateFrom;
  if (old.length > 0) {
    const isAll = problems.some(({ parts }) => parts.length === 0);
    return { standing: 'old', oldParts: isAll ? [] : wordsOf(old), asOf: oldestOf(old), problems, areAlertsOld };
  }
  const isLoading = judged.length === 0 || judged.some(({ standing }) => standing === 'asking');
  const fresh = judged.flatMap(({ name, part }) => (FRESH.has(name) ? (part.answeredAt ?? []) : []));
  const asOf = fresh.length === 0 ? undefined : Math.min(...fresh);
  return { standing: isLoading ? 'loading' : 'current', oldParts: [], asOf, problems, areAlertsOld };
};

type Judged = { readonly words: string; readonly part: Part<unknown> };

const wordsOf = (parts: readonly Judged[]): readonly string[] => [...new Set(parts.map(({ words }) => words))];

const oldestOf = (parts: readonly Judged[]): number | undefined => {
  const times = parts.map(({ part }) => part.answeredAt ?? 0);
  return times.includes(0) ? undefined : Math.min(...times);
};

const problemsOf = (bad: readonly Judged[], count: number): readonly Problem[] =>
  Array.from(
    Map.groupBy(bad, ({ part: { trouble } }) => troubleText(trouble ?? { kind: 'unreachable' })),
    ([text, of]) => {
      const next = of.flatMap(({ part }) => part.nextAt ?? []);
      return {
        text,
        parts: of.length === count ? [] : wordsOf(of),
        asOf: oldestOf(of),
        nextAt: next.length === 0 ? undefined : Math.min(...next),
      };
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
  const isAsking = standing === 'asking' && !(WATCHED.has(name) && part.answeredAt !== undefined);
  if (locked === undefined && (standing === 'current' || isAsking)) return undefined;
  if (part.answeredAt !== undefined) return `As of ${times.moment(part.answeredAt).text}`;
  return standing === 'no phone' ? undefined : 'Not current';
};
