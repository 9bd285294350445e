import type { Series } from './answers.ts';
import { amountOf, type CategoryMap, countOf, FIRST_CATEGORIES, orderedCategories } from './categories.ts';
import { daysBetween, shiftDay, shortDay, STEP_MS, type Times, utcDayOf } from './times.ts';

/** What a plot shows of each step: a map of counts by category, the camera frames, or how many cameras sent them. */
export type PlottedFact = CategoryMap | 'total_events' | 'active_cameras';

/** One colour of a plot's bars, or one column of its table. */
export interface PlotLine {
  /** A category; `frames`, `cameras`; or how many further categories are added up in it. */
  readonly label: string;
  /** One count a step. */
  readonly values: readonly number[];
}

/** A plot's numbers. */
export interface PlotData {
  /** Begin of each step, milliseconds since 1970; of the whole step where only a part of it is in the range. */
  readonly starts: readonly number[];
  readonly step: Series['step'];
  /** The first and the last step, where only a part of them is in the range, or is over: `[true, false]`. */
  readonly partial: readonly [first: boolean, last: boolean];
  /** What is drawn, one on top of the other: at most eight. They add up to all there is. */
  readonly drawn: readonly PlotLine[];
  /** Every category, for the table. */
  readonly columns: readonly PlotLine[];
}

/** More categories than this cannot be told apart in one bar. */
const MOST_DRAWN = 8;

/** What a series says about one fact, ready to be plotted. */
export const plotData = ({ step, steps }: Series, fact: PlottedFact): PlotData => {
  const length = STEP_MS[step];
  const starts = steps.map(({ ts_utc_start: start }) => Math.floor(Date.parse(start) / length) * length);
  const [first, last] = [steps[0], steps.at(-1)];
  const partial = [
    first !== undefined && Date.parse(first.ts_utc_start) > (starts[0] ?? 0),
    last !== undefined && Date.parse(last.ts_utc_end) + 1 < (starts.at(-1) ?? 0) + length,
  ] as const;
  if (fact === 'total_events' || fact === 'active_cameras') {
    const label = fact === 'total_events' ? 'frames' : 'cameras';
    const line = { label, values: steps.map((each) => each[fact]) };
    return { starts, step, partial, drawn: [line], columns: [line] };
  }
  const columns = orderedCategories(steps).map((label): PlotLine => ({
    label,
    values: steps.map((each) => countOf(each[fact], label)),
  }));
  if (columns.length <= MOST_DRAWN) return { starts, step, partial, drawn: columns, columns };
  // The same ones in every plot of the series: those that have the most of everything.
  const further = columns.map(({ label }) => label).filter((label) => !FIRST_CATEGORIES.includes(label));
  const all = (label: string): number => steps.reduce((sum, each) => sum + amountOf(each, label), 0);
  const free = MOST_DRAWN - 1 - (columns.length - further.length);
  const sums = new Map(further.map((label) => [label, all(label)]));
  const rare = new Set(
    [...further].sort((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0) || (a < b ? -1 : 1)).slice(free),
  );
  const together: PlotLine = {
    label: `${rare.size} more categories`,
    values: steps.map((each) => [...rare].reduce((sum, label) => sum + countOf(each[fact], label), 0)),
  };
  return { starts, step, partial, drawn: [...columns.filter(({ label }) => !rare.has(label)), together], columns };
};

/** How many steps are drawn: what has not begun is not 0 but nothing, unless it has counts. */
export const drawnSteps = ({ starts, columns }: PlotData, now: number): number => {
  let drawn = starts.length;
  const isEmpty = (step: number): boolean => columns.every(({ values }) => (values[step] ?? 0) === 0);
  while (drawn > 0 && (starts[drawn - 1] ?? 0) > now && isEmpty(drawn - 1)) drawn -= 1;
  return drawn;
};

/** The highest bar: which step it is, and its count; undefined where all are 0. */
export const peakOf = (lines: readonly PlotLine[]): { readonly index: number; readonly count: number } | undefined => {
  let peak: { index: number; count: number } | undefined;
  for (let index = 0; index < (lines[0]?.values.length ?? 0); index += 1) {
    const count = lines.reduce((sum, { values }) => sum + (values[index] ?? 0), 0);
    if (count > (peak?.count ?? 0)) peak = { index, count };
  }
  return peak;
};

/** The counts at which a plot has a line, from 0 to above its highest bar: whole, and at most six. */
export const countMarks = (highest: number): readonly number[] => {
  const least = Math.max(highest, 4) / 5;
  const power = 10 ** Math.floor(Math.log10(least));
  const mark = Math.max(1, [1, 2, 5, 10].map((digit) => digit * power).find((each) => each >= least) ?? least);
  return Array.from({ length: Math.ceil(Math.max(highest, 4) / mark) + 1 }, (_, index) => index * mark);
};

/** Most marks of time that fit beneath a plot on a phone. */
const MOST_MARKS = 7;
const MINUTES = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720] as const;
const DAYS = [1, 2, 5, 7, 10, 15, 30, 60] as const;
const MINUTE_MS = 60_000;

/** A mark beneath a plot. */
export interface TimeMark {
  /** Where it is, from 0 at the left end of the plot to 1. */
  readonly at: number;
  readonly text: string;
}

/**
 * The marks beneath a plot: at round times of the clock that is shown, whose zone need not be whole hours from UTC; beneath days, at UTC
 * days. At least one.
 */
export const timeMarks = ({ starts, step }: Pick<PlotData, 'starts' | 'step'>, times: Times): readonly TimeMark[] => {
  const [start, length] = [starts[0], starts.length * STEP_MS[step]];
  if (start === undefined) return [];
  const placed = (instant: number, text: string): TimeMark => ({ at: (instant - start) / length, text });
  const isIn = (instant: number): boolean => instant >= start && instant < start + length;
  const days = DAYS.find((each) => length / STEP_MS.day / each <= MOST_MARKS) ?? Infinity;
  const minutes = step === 'day' ? undefined : MINUTES.find((each) => length / MINUTE_MS / each <= MOST_MARKS);
  const first = step === 'day' ? utcDayOf(start) : times.dayOf(start);
  const last = step === 'day' ? utcDayOf(start + length - 1) : times.dayOf(start + length - 1);
  const marks = Array.from({ length: daysBetween(first, last) + 1 }, (_, after) => shiftDay(first, after)).flatMap(
    (day) => {
      if (minutes === undefined) {
        const isRound = daysBetween('2000-01-01', day) % days === 0;
        return isRound ? [placed(step === 'day' ? Date.parse(day) : times.startOfDay(day), shortDay(day))] : [];
      }
      return Array.from({ length: 1_440 / minutes }, (_, index) => index * minutes).flatMap((minute) => {
        const clock = `${twoDigits(minute / 60)}:${twoDigits(minute % 60)}`;
        const { first: instant } = times.instants(`${day} ${clock}:00`);
        // Spring leaves some times out.
        return times.wall(instant).slice(11, 16) === clock
          ? [placed(instant, minute === 0 ? shortDay(day) : clock)]
          : [];
      });
    },
  );
  const shown = marks.filter(({ at }) => isIn(start + at * length));
  if (shown.length > 0) return shown;
  return [placed(start, step === 'day' ? shortDay(first) : times.wall(start).slice(11, 16))];
};

const twoDigits = (number: number): string => String(Math.floor(number)).padStart(2, '0');
