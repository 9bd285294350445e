import { type PageState, PARTS, type PartName } from './page-state.ts';
import { isPhoneOff, type Part, troubleText } from './refresh.ts';

// The one rule that decides whether the page is green, gray or red, for head, strip, tab, alarm and every part.
//
// Red: the page may show something old, no calls are possible, or a key is needed.
// Gray: the first answers are missing, or the service has no phone and this tab never saw a phone.
// Green: everything on the page is current.

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

export interface PageStatus {
  readonly color: 'green' | 'gray' | 'red';
  /** In the head; undefined if the age of the answers says enough. */
  readonly words: string | undefined;
  readonly short: string;
  /** When the parts that {@link words} name were true; without such parts, the whole page. */
  readonly asOf: number | undefined;
  readonly problems: readonly Problem[];
  /** Why a fire could burn unnoticed: for the alarm. */
  readonly blind: string | undefined;
}

/** The age of the page is the age of these parts: the page polls them at least once a minute. */
const FRESH: ReadonlySet<PartName> = new Set(['attention', 'notifications', 'activity', 'series', 'cameras']);

/** Whether a part is current. After a pause, a part has the patience of one question to become current. */
const standingOf = (part: Part<unknown>, now: number): 'current' | 'asking' | 'old' | 'failing' | 'no phone' => {
  if (part.trouble !== undefined) return isPhoneOff(part.trouble) ? 'no phone' : 'failing';
  if (now <= (part.lateFrom ?? 0)) return 'current';
  return now <= (part.waitsUntil ?? 0) ? 'asking' : 'old';
};

export const pageStatus = (state: PageState, now: number): PageStatus => {
  const judged = PARTS.flatMap(([name, words]) => {
    const part: Part<unknown> | undefined = state.parts[name];
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
    (areAlertsOld || state.locked?.refused === true ? 'The page cannot tell whether there are alerts.' : undefined);
  if (state.locked !== undefined) {
    const isShown = asOf !== undefined;
    const text = 'The service no longer accepts the key. The page waits for a new key.';
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
    return { ...rest, color: 'gray', words: 'This service does not phone.' };
  }
  if (judged.length === 0 || judged.some(({ standing }) => standing === 'asking')) {
    return { ...rest, color: 'gray', words: 'Loading…' };
  }
  return { ...rest, color: 'green', words: undefined };
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

/** That no calls are possible, if this service has a phone or this tab saw a phone. */
const phoneProblem = (
  { parts: { attention }, sawPhone, times }: PageState,
  now: number,
): (Problem & { readonly short: string }) | undefined => {
  if (attention === undefined) return undefined;
  const { answer, trouble, answeredAt: asOf, nextAt } = attention;
  if (isPhoneOff(trouble)) {
    const text = 'The phone is off: the service calls no person. This service was started with PHONE=off.';
    return sawPhone ? { short: 'Phone is off', text, parts: ['alerts'], asOf, nextAt } : undefined;
  }
  if (answer?.phone === undefined || answer.phone.usable) return undefined;
  const { since, reason } = answer.phone;
  const from = since === undefined ? '' : ` (since ${times.moment(Math.min(Date.parse(since), now)).text})`;
  const why = reason === undefined ? '' : `: ${reason}`;
  // The answer itself is current.
  return {
    short: 'The service cannot place calls',
    text: `The service cannot place calls${from}${why}.`,
    parts: [],
    asOf,
    nextAt,
  };
};

/** The note of a part that is not current: the time of its answer. Undefined if it is current, or shows nothing. */
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
