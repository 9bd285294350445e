import type { Series } from './answers.ts';
import { CATEGORY_MAPS, type CategoryMap, countOf, orderedCategories, type Palette } from './categories.ts';
import { type Step, STEP_MS } from './steps.ts';

export type PlottedFact = CategoryMap | 'total_events';

export interface PlotLine {
  /** A category; `frames`; `active cameras`; or the number of categories in a sum. */
  readonly label: string;
  readonly values: readonly number[];
}

export interface PlotData {
  /** The start of each whole step, milliseconds since 1970. */
  readonly starts: readonly number[];
  readonly step: Step;
  /** The first and the last step, if the range has only a part of them. */
  readonly partial: readonly number[];
  /** Stacked: they add up to all counts. */
  readonly drawn: readonly PlotLine[];
  readonly columns: readonly PlotLine[];
  /** Only next to the frames. The counts are not added up, because one camera is active in many steps. */
  readonly cameras?: PlotLine;
}

/** Prepares one fact of a series. Categories without their own color become one line. */
export const plotData = ({ step, steps }: Series, fact: PlottedFact, palette: Palette): PlotData => {
  const length = STEP_MS[step];
  const starts = steps.map(({ ts_utc_start: start }) => Math.floor(Date.parse(start) / length) * length);
  const [first, last] = [steps[0], steps.at(-1)];
  const partial = [
    ...(first !== undefined && Date.parse(first.ts_utc_start) > (starts[0] ?? 0) ? [0] : []),
    ...(last !== undefined && Date.parse(last.ts_utc_end) + 1 < (starts.at(-1) ?? 0) + length
      ? [steps.length - 1]
      : []),
  ];
  if (fact === 'total_events') {
    const frames = { label: 'frames', values: steps.map(({ total_events: count }) => count) };
    const cameras = { label: 'active cameras', values: steps.map(({ active_cameras: count }) => count) };
    return { starts, step, partial, drawn: [frames], columns: [frames], cameras };
  }
  const columns = orderedCategories(steps).map((label): PlotLine => ({
    label,
    values: steps.map((each) => countOf(each[fact], label)),
  }));
  const rare = columns.filter(({ label }) => !palette.has(label));
  if (rare.length === 0) return { starts, step, partial, drawn: columns, columns };
  const together: PlotLine = {
    label: rare.length === 1 ? '1 more category' : `${rare.length} more categories`,
    values: steps.map((_, index) => rare.reduce((sum, { values }) => sum + (values[index] ?? 0), 0)),
  };
  return { starts, step, partial, drawn: [...columns.filter((each) => !rare.includes(each)), together], columns };
};

/** The highest bar; undefined if all are 0. */
export const peakOf = (lines: readonly PlotLine[]): { readonly index: number; readonly count: number } | undefined => {
  const sums = (lines[0]?.values ?? []).map((_, step) =>
    lines.reduce((sum, { values }) => sum + (values[step] ?? 0), 0),
  );
  const count = Math.max(0, ...sums);
  return count === 0 ? undefined : { index: sums.indexOf(count), count };
};

/** The counts of the horizontal lines, from 0 to above the highest bar: whole numbers, at most six. */
export const countMarks = (highest: number): readonly number[] => {
  const least = Math.max(highest, 4) / 5;
  const power = 10 ** Math.floor(Math.log10(least));
  const mark = Math.max(1, [1, 2, 5, 10].map((digit) => digit * power).find((each) => each >= least) ?? least);
  return Array.from({ length: Math.ceil(Math.max(highest, 4) / mark) + 1 }, (_, index) => index * mark);
};

export const PLOTTED_FACTS: readonly PlottedFact[] = [...CATEGORY_MAPS, 'total_events'];

export const sumOf = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
