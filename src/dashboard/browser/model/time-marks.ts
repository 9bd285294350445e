import type { PlotData } from './plot-data.ts';
import { STEP_MS } from './steps.ts';
import { shiftDay, shortDay, type Times, utcDayOf } from './times.ts';

/** More marks do not fit under a plot on a phone. */
const MOST_MARKS = 7;

/** Minutes between marks within a day. */
const MINUTES = [5, 10, 15, 30, 60, 120, 180, 240, 360, 720] as const;

/** Days between marks. Longer periods have steps of a day. */
const DAYS = [1, 2, 3, 5] as const;

export interface TimeMark {
  /** 0 at the left end of the plot, 1 at the right end. */
  readonly at: number;
  readonly text: string;
}

/**
 * The marks under a plot, at round local times. A mark at midnight is its date, and the first mark has its date too. In a zone with half
 * hours, a tick may be within a step.
 */
export const timeMarks = ({ starts, step }: Pick<PlotData, 'starts' | 'step'>, times: Times): readonly TimeMark[] => {
  const [from = 0] = starts;
  const length = starts.length * STEP_MS[step];
  if (step === 'day') return dayMarks(starts);
  const minutes = length / 60_000 / MOST_MARKS;
  const apart = MINUTES.find((each) => each >= minutes);
  const marked =
    apart === undefined
      ? midnights(from, from + length, times, DAYS.find((each) => each * 1_440 >= minutes) ?? 5)
      : withinDays(from, from + length, times, apart);
  return marked.map((at, index) => {
    const wall = times.wall(at);
    const clock = wall.slice(11, 16);
    const text = clock === '00:00' ? shortDay(wall) : index === 0 ? `${shortDay(wall)} ${clock}` : clock;
    return { at: (at - from) / length, text };
  });
};

/** A series counts UTC days. */
const dayMarks = (starts: readonly number[]): readonly TimeMark[] => {
  const every = Math.ceil(starts.length / MOST_MARKS);
  return starts.flatMap((start, index) =>
    index % every === 0 ? { at: index / starts.length, text: shortDay(utcDayOf(start)) } : [],
  );
};

/** The starts of the local days from one time until before another. */
const midnights = (from: number, until: number, times: Times, apart: number): readonly number[] => {
  const found: number[] = [];
  let day = times.dayOf(from);
  if (times.startOfDay(day) < from) day = shiftDay(day, 1);
  for (let at = times.startOfDay(day); at < until; at = times.startOfDay(day)) {
    found.push(at);
    day = shiftDay(day, apart);
  }
  return found;
};

/** Whole multiples of `apart` minutes on the local clock. */
const withinDays = (from: number, until: number, times: Times, apart: number): readonly number[] => {
  const found = new Set<number>();
  for (let day = times.dayOf(from); times.startOfDay(day) < until; day = shiftDay(day, 1)) {
    for (let minute = 0; minute < 1_440; minute += apart) {
      const clock = [Math.floor(minute / 60), minute % 60].map((each) => String(each).padStart(2, '0')).join(':');
      const { first } = times.instants(`${day} ${clock}:00`);
      if (first >= from && first < until) found.add(first);
    }
  }
  return [...found];
};
