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
  readonly removed?: Known<boolean>;
}

/** An answer, or a part of it. Counts that are 0 are left out. */
export interface Counted {
  readonly counts: ReadonlyMap<string, number>;
  readonly cameras: ReadonlySet<string>;
}

/** An answer that may say only how many cameras were active, or nothing about them. */
export interface Answer {
  readonly counts: ReadonlyMap<string, number>;
  readonly cameras?: ReadonlySet<string> | number;
}

/** The counts of an event. Its camera is active even if it is removed. */
export const countsOf = ({ detections, reviewed, annotations, removed }: EventState): ReadonlyMap<string, number> => {
  if (removed?.value === true) return new Map();
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

/** The counts of an event in the answer about the accuracy of the AI. */
export const accuracyCountsOf = (state: EventState): ReadonlyMap<string, number> => {
  const counts = new Map(Array.from(countsOf(state)).filter(([name]) => name === 'events' || name === 'reviewed'));
  if (!counts.has('reviewed')) return counts;
  const [detected, annotated] = [state.detections, state.annotations].map(
    (facet) =>
      new Set(Object.entries(facet?.value ?? {}).flatMap(([category, count]) => (count > 0 ? [category] : []))),
  );
  for (const category of detected ?? []) {
    counts.set(`flagged ${category}`, 1);
    if (annotated?.has(category) === true) counts.set(`confirmed ${category}`, 1);
  }
  for (const category of annotated ?? []) if (detected?.has(category) !== true) counts.set(`missed ${category}`, 1);
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
export const isSame = ({ counts, cameras: active }: Counted, { counts: answered, cameras = active }: Answer): boolean =>
  isDeepStrictEqual(counts, answered) &&
  (typeof cameras === 'number' ? active.size === cameras : isDeepStrictEqual(active, cameras));

/** An answer in words, for the log of a seed. */
export const inWords = ({ counts, cameras }: Answer): string => {
  const what = Array.from(counts, ([name, count]) => `${name} ${count}`).sort((one, other) => (one < other ? -1 : 1));
  const active = typeof cameras === 'object' ? [...cameras].sort().join(' ') : (cameras ?? 'some cameras');
  return `${what.join(', ') || 'nothing'} of ${active}`;
};
