import type { Series } from './answers.ts';
import { categoryColours, SHARED_COLOUR } from './category-colours.ts';
import { type CategoryMap, countOf } from './category-rows.ts';
import { STEP_MILLISECONDS } from './series-step.ts';

/** What a plot shows of each step: a map of counts by category, or the camera frames. */
export type PlottedFact = CategoryMap | 'total_events';

/** One line (or one bar a step) of a plot. */
export interface PlotLine {
  /** A category; `frames`; or how many further categories are added up in it. */
  readonly label: string;
  /** An index of the palette: a category has the same one in every plot of the series. */
  readonly colour: number;
  /** One count a step. */
  readonly values: readonly number[];
}

/** A plot's numbers: column by column, as the table beneath it shows them too. */
export interface PlotData {
  /** Begin of each step, seconds since 1970; of the whole step where only a part of it is in the range. */
  readonly starts: readonly number[];
  /** Seconds. */
  readonly stepSeconds: number;
  readonly lines: readonly PlotLine[];
}

/** What a series says about one fact, ready to be plotted. The lines add up to all there is. */
export const plotData = (series: Series, fact: PlottedFact): PlotData => {
  const length = STEP_MILLISECONDS[series.step];
  const starts = series.steps.map(
    ({ ts_utc_start: start }) => (Math.floor(Date.parse(start) / length) * length) / 1_000,
  );
  return { starts, stepSeconds: length / 1_000, lines: linesOf(series, fact) };
};

const linesOf = ({ steps }: Series, fact: PlottedFact): readonly PlotLine[] => {
  if (fact === 'total_events') {
    return [{ label: 'frames', colour: FRAMES_COLOUR, values: steps.map((step) => step.total_events) }];
  }
  const colours = categoryColours(steps);
  const sharing = [...colours].filter(([, colour]) => colour === SHARED_COLOUR);
  const valuesOf = (categories: readonly string[]): readonly number[] =>
    steps.map((step) => categories.reduce((sum, category) => sum + countOf(step[fact], category), 0));
  const lines: PlotLine[] = [];
  for (const [label, colour] of colours) {
    if (sharing.length < 2 || colour !== SHARED_COLOUR) lines.push({ label, colour, values: valuesOf([label]) });
  }
  if (sharing.length < 2) return lines;
  const values = valuesOf(sharing.map(([category]) => category));
  return [...lines, { label: `${sharing.length} more categories`, colour: SHARED_COLOUR, values }];
};

/**
 * How many steps are drawn: what has not begun is not 0 but nothing. A step ahead of time that has counts is drawn all the same.
 *
 * @param now milliseconds since 1970
 */
export const drawnSteps = ({ starts, lines }: PlotData, now: number): number => {
  let drawn = starts.length;
  while (
    drawn > 0 &&
    (starts[drawn - 1] ?? 0) * 1_000 > now &&
    lines.every(({ values }) => (values[drawn - 1] ?? 0) === 0)
  ) {
    drawn -= 1;
  }
  return drawn;
};

/** The colour of what has no category. */
export const FRAMES_COLOUR = -1;

/** The highest count of a plot: which step it is in and which line; undefined where all are 0. */
export const peakOf = ({ lines }: PlotData): { index: number; line: PlotLine; count: number } | undefined => {
  let peak: { index: number; line: PlotLine; count: number } | undefined;
  for (const line of lines) {
    line.values.forEach((count, index) => {
      if (count > (peak?.count ?? 0)) peak = { index, line, count };
    });
  }
  return peak;
};
