import type { Series } from './answers.ts';
import {
  categoryColour,
  CATEGORY_MAPS,
  type CategoryMap,
  type Colour,
  countOf,
  FIRST_CATEGORIES,
  orderedCategories,
  PLAIN_COLOUR,
} from './categories.ts';
import { STEP_MS, type Times } from './times.ts';

/** What a plot shows of each step: a map of counts by category, the camera frames, or how many cameras sent them. */
export type PlottedFact = CategoryMap | 'total_events' | 'active_cameras';

/** One colour of a plot's bars, or one column of its table. */
export interface PlotLine {
  /** A category; `frames`, `cameras`; or how many further categories are added up in it. */
  readonly label: string;
  readonly colour: Colour;
  /** One count a step. */
  readonly values: readonly number[];
}

/** A plot's numbers. */
export interface PlotData {
  /** Begin of each step, milliseconds since 1970; of the whole step where only a part of it is in the range. */
  readonly starts: readonly number[];
  readonly step: Series['step'];
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
  if (fact === 'total_events' || fact === 'active_cameras') {
    const label = fact === 'total_events' ? 'frames' : 'cameras';
    const line = { label, colour: PLAIN_COLOUR, values: steps.map((each) => each[fact]) };
    return { starts, step, drawn: [line], columns: [line] };
  }
  const columns = orderedCategories(steps).map((label): PlotLine => ({
    label,
    colour: categoryColour(label),
    values: steps.map((each) => countOf(each[fact], label)),
  }));
  if (columns.length <= MOST_DRAWN) return { starts, step, drawn: columns, columns };
  // The same ones in every plot of the series: those that have the most of everything.
  const further = columns.map(({ label }) => label).filter((label) => !FIRST_CATEGORIES.includes(label));
  const all = (label: string): number =>
    steps.reduce((sum, each) => sum + CATEGORY_MAPS.reduce((added, map) => added + countOf(each[map], label), 0), 0);
  const free = MOST_DRAWN - 1 - (columns.length - further.length);
  const sums = new Map(further.map((label) => [label, all(label)]));
  const rare = new Set(
    [...further].sort((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0) || (a < b ? -1 : 1)).slice(free),
  );
  const together: PlotLine = {
    label: `${rare.size} more categories`,
    colour: PLAIN_COLOUR,
    values: steps.map((each) => [...rare].reduce((sum, label) => sum + countOf(each[fact], label), 0)),
  };
  return { starts, step, drawn: [...columns.filter(({ label }) => !rare.has(label)), together], columns };
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
const MINUTES = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720, 1_440, 2_880, 7_200, 10_080, 14_400, 43_200, 86_400];

/** The steps that have a mark beneath them, at round times of the clock that is shown, and what the marks say. */
export const timeMarks = (
  { starts, step }: Pick<PlotData, 'starts' | 'step'>,
  times: Times,
): readonly { readonly index: number; readonly text: string }[] => {
  const apart = MINUTES.find((minutes) => (starts.length * STEP_MS[step]) / 60_000 / minutes <= MOST_MARKS) ?? Infinity;
  return starts.flatMap((start, index) => {
    const wall = times.wall(start);
    const minute = Number(wall.slice(11, 13)) * 60 + Number(wall.slice(14, 16));
    const day = Math.round(Date.parse(`${wall.slice(0, 10)}T00:00:00Z`) / STEP_MS.day);
    const isMarked = apart < 1_440 ? minute % apart === 0 : minute === 0 && day % (apart / 1_440) === 0;
    if (!isMarked) return [];
    return [
      { index, text: minute === 0 ? times.step(start, 'hour').text.replace(/ \d\d:.*/, '') : wall.slice(11, 16) },
    ];
  });
};
