import { isDeepStrictEqual } from 'node:util';

// Counts in another form than the service has them, with no shared code: a count by name, and the active cameras.

/** Category to how many. */
export type Categories = Readonly<Record<string, number>>;

/** A facet and when it was true. */
export interface Known<Value> {
  readonly value: Value;
  readonly time: bigint;
}

/** The newest facets of an event. */
export interface EventState {
  readonly detections?: Known<Categories>;
  readonly reviewed?: Known<boolean>;
  readonly annotations?: Known<Categories>;
}

/** An answer, or a part of it. Counts that are 0 are left out. */
export interface Counted {
  readonly counts: ReadonlyMap<string, number>;
  readonly cameras: ReadonlySet<string>;
}

/** An answer that may say only how many cameras were active. */
export interface Answer {
  readonly counts: ReadonlyMap<string, number>;
  readonly cameras: ReadonlySet<string> | number;
}

/** What an event counts. */
export const countsOf = ({ detections, reviewed, annotations }: EventState): ReadonlyMap<string, number> => {
  const counts = new Map([['events', 1]]);
  for (const [category, count] of Object.entries(detections?.value ?? {})) {
    if (count !== 0) counts.set(`detected ${category}`, count);
  }
  const isReviewed = reviewed?.value === true;
  if (isReviewed) counts.set('reviewed', 1);
  for (const [category, count] of Object.entries(annotations?.value ?? {})) {
    if (count === 0) continue;
    counts.set('annotated', 1);
    counts.set(`annotated ${category}`, count);
    if (isReviewed) counts.set(`reviewed ${category}`, 1);
  }
  return counts;
};

/** The sum; cameras that are active in several are counted once. */
export const sumOf = (parts: readonly Counted[]): Counted => {
  const counts = new Map<string, number>();
  const cameras = new Set<string>();
  for (const part of parts) {
    for (const [name, count] of part.counts) {
      const sum = (counts.get(name) ?? 0) + count;
      if (sum === 0) counts.delete(name);
      else counts.set(name, sum);
    }
    for (const camera of part.cameras) cameras.add(camera);
  }
  return { counts, cameras };
};

/** Whether an answer says what was counted. */
export const isSame = ({ counts, cameras }: Counted, answer: Answer): boolean =>
  isDeepStrictEqual(counts, answer.counts) &&
  (typeof answer.cameras === 'number' ? cameras.size === answer.cameras : isDeepStrictEqual(cameras, answer.cameras));

/** An answer in words, for the story of a seed. */
export const told = ({ counts, cameras }: Answer): string => {
  const what = Array.from(counts, ([name, count]) => `${name} ${count}`).sort((one, other) => (one < other ? -1 : 1));
  return `${what.join(', ') || 'nothing'} of ${typeof cameras === 'object' ? [...cameras].sort().join(' ') : cameras}`;
};
