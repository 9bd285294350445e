import { type PageState, PARTS, type PartName } from './page-state.ts';
import { isPhoneOff, type Part, troubleText } from './refresh.ts';

/*
 * The one rule that decides whether the page is green, grey or red. Head, strip, tab, alarm and every part ask it.
 *
 * Red: something that is shown may be old, nobody can be called, or a key is needed.
 * Grey: the first answers are missing, or the service has no phone and this tab never saw one.
 * Green: everything that is shown is current.
 */

/** Something that the reader must know before they trust the page. Times in milliseconds since 1970. */
export interface Problem {
  /** In a sentence, or several. */
  readonly text: string;
  /** The parts that are not current because of it; empty: all of them, or it is not about a part. */
  readonly parts: readonly string[];
  /** When the oldest of what these parts show was true; undefined if one of them shows nothing. */
  readonly asOf: number | undefined;
  /** When the first of them is asked about again. */
  readonly nextAt: number | undefined;
}

/** How the page stands as a whole. */
export interface PageStatus {
  readonly color: 'green' | 'grey' | 'red';
  /** In the head; undefined if the age of what is shown says enough. */
  readonly words: string | undefined;
  /** In the title of the tab. */
  readonly short: string;
  /** When what {@link words} are about, or else all of the page, was true. */
  readonly asOf: number | undefined;
  readonly problems: readonly Problem[];
  /** Why a fire could burn unnoticed: for the alarm. */
  readonly blind: string | undefined;
}

/** The parts whose answers are never older than a minute: they say how fresh the page is. */
const FRESH: ReadonlySet<PartName> = new Set(['attention', 'notifications', 'activity', 'series', 'cameras']);

/** Whether a part is current. A part that is asked about again after a pause is given the time of a question. */
const standingOf = (part: Part<unknown>, now: number): 'current' | 'asking' | 'old' | 'failing' | 'no phone' => {
  if (part.trouble !== undefined) return isPhoneOff(part.trouble) ? 'no phone' : 'failing';
  if (now <= (part.lateFrom ?? 0)) return 'current';
  return now <= (part.waitsUntil ?? 0) ? 'asking' : 'old';
};

/** How the page stands now. */
export const pageStatus = (state: PageState, now: number): PageStatus => {
  const judged = PARTS.flatMap(([name, words]) => {
    const part: Part<unknown> | undefined = state.parts[name];
    // A hidden tab asks about alerts alone.
    if (part === undefined || (state.isHidden && name !== 'attention')) return [];
    return [{ name, words, part, standing: standingOf(part, now) }];
  });
  const bad = judged.filter(({ standing }) => standing === 'failing' || standing === 'old');
  const problems = problemsOf(bad, judged.length);
  const fresh = judged.flatMap(({ name, part }) => (FRESH.has(name) ? (part.answeredAt ?? []) : []));
  const asOf = fresh.length === 0 ? undefined : Math.min(...fresh);
  const phone = phoneProblem(state, now);
  const alerts = judged.find(({ name }) => name === 'attention');
  const areAlertsOld = alerts?.part.lateFrom !== undefined && now > alerts.part.lateFrom;
  const blind =
    phone?.text ??
    (areAlertsOld || state.locked?.refused === true ? 'It is not known whether there are alerts.' : undefined);
  if (state.locked !== undefined) {
    const isShown = asOf !== undefined;
    const text = 'The key is not accepted any more. Nothing is asked until there is a new one.';
    const locked = isShown ? [{ text, parts: [], asOf, nextAt: undefined }] : [];
    return { color: 'red', words: 'Key needed', short: 'Key needed', asOf, problems: locked, blind };
  }
  if (phone !== undefined) {
    const words = `${phone.short}, alerts`;
    return { color: 'red', words, short: phone.short, asOf: phone.asOf, problems: [phone, ...problems], blind };
  }
  if (bad.length > 0) {
    const isAll = problems.some(({ parts }) => parts.length === 0);
    const words = isAll ? 'Not current' : `Not current: ${wordsOf(bad).join(', ')}`;
    return { color: 'red', words, short: 'Not current', asOf: oldestOf(bad), problems, blind };
  }
  const rest = { short: '', asOf, problems: [], blind: undefined };
  if (judged.some(({ standing }) => standing === 'no phone')) {
    return { ...rest, color: 'grey', words: 'This service does not phone.' };
  }
  if (judged.length === 0 || judged.some(({ standing }) => standing === 'asking')) {
    return { ...rest, color: 'grey', words: 'Asking the service…' };
  }
  return { ...rest, color: 'green', words: undefined };
};

type Judged = { readonly words: string; readonly part: Part<unknown> };

const wordsOf = (parts: readonly Judged[]): readonly string[] => [...new Set(parts.map(({ words }) => words))];

const oldestOf = (parts: readonly Judged[]): number | undefined => {
  const times = parts.map(({ part }) => part.answeredAt ?? 0);
  return times.includes(0) ? undefined : Math.min(...times);
};

/** Each trouble once, with the parts that have it. */
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

/** That nobody can be called, if this service phones or did so before the eyes of this tab. */
const phoneProblem = (
  { parts: { attention }, sawPhone, times }: PageState,
  now: number,
): (Problem & { readonly short: string }) | undefined => {
  if (attention === undefined) return undefined;
  const { answer, trouble, answeredAt: asOf, nextAt } = attention;
  if (isPhoneOff(trouble)) {
    const text = 'The phone is off: nobody is called. This service was started with PHONE=off.';
    return sawPhone ? { short: 'Phone is off', text, parts: ['alerts'], asOf, nextAt } : undefined;
  }
  if (answer?.phone === undefined || answer.phone.usable) return undefined;
  const { since, reason } = answer.phone;
  const from = since === undefined ? '' : ` since ${times.moment(Math.min(Date.parse(since), now)).text}`;
  const why = reason === undefined ? '' : `: ${reason}`;
  // The answer itself is current.
  return { short: 'Nobody can be called', text: `Nobody can be called${from}${why}.`, parts: [], asOf, nextAt };
};

/** What is said beside a part that is not current: as of when it was true. Undefined if it is current, or shows nothing. */
export const partNote = (
  { parts, locked, times }: Pick<PageState, 'parts' | 'locked' | 'times'>,
  name: PartName,
  now: number,
): string | undefined => {
  const part: Part<unknown> | undefined = parts[name];
  if (part === undefined) return undefined;
  const standing = standingOf(part, now);
  if (locked === undefined && (standing === 'current' || standing === 'asking')) return undefined;
  if (part.answeredAt !== undefined) return `As of ${times.moment(part.answeredAt).text}`;
  return standing === 'no phone' ? undefined : 'Not current';
};
