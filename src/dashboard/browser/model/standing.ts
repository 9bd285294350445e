import { PARTS, type PageState, type PartName } from './page-state.ts';
import { troubleText, troubleWord } from './refresh.ts';
import type { Times } from './times.ts';

/** The parts whose answers are never older than some seconds: they say how fresh the page is. */
const FRESH: ReadonlySet<PartName> = new Set(['attention', 'notifications', 'activity', 'series', 'cameras']);

/** A trouble, and the parts that have it. */
export interface SharedTrouble {
  readonly text: string;
  /** What they are called; empty: all that is asked about often. */
  readonly parts: readonly string[];
  /** When the oldest of what they show was true; undefined where one shows nothing. */
  readonly shownAt: number | undefined;
  /** When the first of them is asked about again. */
  readonly nextAt: number;
}

/** How the page stands as a whole: as its worst part. Times in milliseconds since 1970. */
export interface Standing {
  readonly phase: 'asking' | 'current' | 'late' | 'failing' | 'locked';
  /** When all of it was true. */
  readonly at: number | undefined;
  /** The parts that are not current, in words. */
  readonly bad: readonly string[];
  readonly troubles: readonly SharedTrouble[];
}

/** How the page stands now. */
export const standingOf = ({ refreshes, panels, locked }: PageState, now: number): Standing => {
  const parts = PARTS.flatMap(([name, words]) => {
    const refresh = refreshes[name];
    if (refresh === undefined) return [];
    const shownAt = panels[name].answer === undefined ? undefined : refresh.last?.at;
    return [{ name, words, refresh, shownAt, isLate: now > (refresh.last?.lateFrom ?? Infinity) }];
  });
  const failing = parts.flatMap(({ refresh, ...part }) =>
    refresh.phase === 'failing' ? [{ ...part, text: troubleText(refresh.trouble), nextAt: refresh.nextAt }] : [],
  );
  const late = parts.filter(({ isLate }) => isLate);
  const isAnswered = parts.length > 0 && parts.every(({ refresh }) => refresh.last !== undefined);
  const fresh = parts.flatMap(({ name, refresh }) => (FRESH.has(name) ? (refresh.last?.at ?? []) : []));
  const phaseWhileOpen = failing.length > 0 ? 'failing' : late.length > 0 ? 'late' : isAnswered ? 'current' : 'asking';
  return {
    phase: locked === undefined ? phaseWhileOpen : 'locked',
    at: fresh.length === 0 ? undefined : Math.min(...fresh),
    bad: wordsOf([...failing, ...late]),
    troubles: Array.from(
      Map.groupBy(failing, ({ text }) => text),
      ([text, of]) => ({
        text,
        parts: parts.every(({ name }) => !FRESH.has(name) || of.some((one) => one.name === name)) ? [] : wordsOf(of),
        shownAt: of.reduce<number | undefined>(
          (least, { shownAt }) => least && shownAt && Math.min(least, shownAt),
          Infinity,
        ),
        nextAt: Math.min(...of.map(({ nextAt }) => nextAt)),
      }),
    ),
  };
};

const wordsOf = (parts: readonly { readonly words: string }[]): readonly string[] => [
  ...new Set(parts.map(({ words }) => words)),
];

/**
 * What is said beside a part that is not current: why, and as of when it is true. Undefined where it is current, or is asked about for the
 * first time.
 */
export const partNote = (
  { refreshes, locked, times }: Pick<PageState, 'refreshes' | 'locked' | 'times'>,
  name: PartName,
  now: number,
): string | undefined => {
  const refresh = refreshes[name];
  const last = refresh?.last;
  const asOf = last === undefined ? undefined : asOfText(last.at, times);
  if (refresh?.phase === 'failing') return [troubleWord(refresh.trouble), asOf].filter(Boolean).join(', ');
  return last !== undefined && (locked !== undefined || now > last.lateFrom) ? asOf : undefined;
};

const asOfText = (at: number, times: Times): string => `as of ${times.moment(at).text}`;
