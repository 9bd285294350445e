/** A key that is pressed in the message or in one of its repeats. */
interface PlannedKey {
  readonly key: string;
  /** After which part of the speech. */
  readonly at: number | 'somewhere';
  readonly afterMs?: number;
}

/** Code and sub-code of ACS. */
export type Codes = readonly [code: number, subCode: number];
type Span = readonly [leastMs: number, mostMs: number];

/** The behavior of a callee. By default, the callee listens to the end. */
interface Course {
  readonly name: string;
  /** Of all callees, as a probability; the rest listens. */
  readonly share?: number;
  /** The callee does not answer: why, and how long the phone rings before. */
  readonly codes?: Codes;
  readonly ringsMs?: Span;
  /** From the answer until the callee hangs up. */
  readonly staysMs?: Span;
  /** The keys in the message, in its first and in its second repeat. */
  readonly keys?: readonly (readonly PlannedKey[])[];
}

const press = (key: string, at: PlannedKey['at'] = 'somewhere', afterMs = 0): PlannedKey => ({ key, at, afterMs });
const [ONE, TWO, LATE_TWO] = [press('1'), press('2'), press('2', 1, 3_500)];

const ALL = [
  { name: 'listens' },
  { name: 'busy', share: 0.1, codes: [486, 560_486], ringsMs: [100, 5_000] },
  { name: 'no answer', share: 0.08, codes: [480, 560_480], ringsMs: [15_000, 45_000] },
  { name: 'rings out', share: 0.06, codes: [487, 10_004], ringsMs: [110_000, 115_000] },
  { name: 'declines', share: 0.04, codes: [487, 10_024], ringsMs: [2_000, 20_000] },
  { name: 'declines by 603', share: 0.03, codes: [603, 560_603], ringsMs: [2_000, 20_000] },
  { name: 'forbidden', codes: [403, 560_403], ringsMs: [100, 400] },
  { name: 'wrong number', share: 0.02, codes: [484, 560_484], ringsMs: [100, 2_000] },
  { name: 'no line', share: 0.03, codes: [403, 8_530], ringsMs: [10, 400] },
  { name: 'set-up', share: 0.02, codes: [403, 10_105], ringsMs: [10, 400] },
  { name: 'hangs up early', share: 0.05, staysMs: [50, 1_500] },
  { name: 'hangs up in the middle', share: 0.06, staysMs: [2_000, 16_000] },
  { name: 'hangs up in the silence', share: 0.03, staysMs: [200, 8_000] },
  { name: 'speech fails', share: 0.02 },
  { name: 'presses at the start', share: 0.04, keys: [] },
  { name: 'presses in the middle', share: 0.12, keys: [[ONE]] },
  { name: 'presses at the end', share: 0.04, keys: [[press('1', 1, 1)]] },
  { name: 'presses twice', share: 0.05, keys: [[ONE, ONE]] },
  { name: 'presses late', share: 0.03, keys: [[press('1', 1, 3_500)]] },
  { name: 'presses too late', share: 0.03, keys: [[press('1', 1, 13_000)]] },
  { name: 'hears it again and confirms', share: 0.04, keys: [[TWO], [ONE]] },
  { name: 'hears it again, late', share: 0.03, keys: [[LATE_TWO], [LATE_TWO], [press('1', 1, 3_500)]] },
  { name: 'hears it again and again', share: 0.03, keys: [[TWO], [TWO], [TWO]] },
  { name: 'cannot go', share: 0.05, keys: [[press('3')]] },
  { name: 'presses 9', share: 0.02, keys: [[press('9')]] },
  { name: 'confirms, then cannot go', share: 0.03, keys: [[press('1', 0.4), press('3', 0.4, 300)]] },
  { name: 'cannot go, then confirms', share: 0.04, keys: [[press('3', 0.4), press('1', 0.4, 300)]] },
  { name: 'two keys at once', share: 0.03, keys: [[press('2', 0.5), press('1', 0.5)]] },
  { name: 'cannot go, and hangs up', share: 0.03, staysMs: [6_000, 20_000], keys: [[press('3', 0.3)]] },
] as const satisfies readonly Course[];

/** The behavior of a callee. */
export type Fate = (typeof ALL)[number]['name'];

const COURSES: ReadonlyMap<string, Course> = new Map(ALL.map((course) => [course.name, course]));

/** The behavior of a callee in detail; nothing special if it is none of these. */
export const courseOf = (fate: string): Course => COURSES.get(fate) ?? { name: fate };

/** The behavior of callees, by probability; the others listen. */
export type Fates = readonly (readonly [probability: number, fate: Fate])[];

const sharesOf = (isMeant: (course: Course) => boolean): Fates =>
  ALL.flatMap((course: Course & { readonly name: Fate }) =>
    course.share !== undefined && isMeant(course) ? [[course.share, course.name] as const] : [],
  );

/** People who press no key. */
export const PEOPLE = sharesOf(({ keys }) => keys === undefined);
/** Some of them press keys. */
export const PEOPLE_WHO_PRESS = sharesOf(() => true);
