import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';

import { barLayout, drawnAsBars } from '../model/bar-layout.ts';
import { colourOf, PLOT_COLOURS, type Theme } from '../model/palette.ts';
import { drawnSteps, type PlotData } from '../model/plot-data.ts';
import { numbers, times } from './texts.ts';

/** What the canvas of a plot needs. */
export interface PlotCanvasProps {
  readonly data: PlotData;
  readonly theme: Theme;
  /** What the plot says, in words. */
  readonly summary: string;
  /** The pointer is over a step (its index), or over none. */
  readonly onStep: (index: number | undefined) => void;
  /** A part was marked: its first and its last step. */
  readonly onPart: (first: number, last: number) => void;
}

/** Every plot shows the pointer at the same time as the others do. */
const SYNC_KEY = 'time';

/** The plot itself, drawn by uPlot. New numbers are drawn into the plot that is there; other lines or colours need another one. */
export const PlotCanvas = ({ data, theme, summary, onStep, onPart }: PlotCanvasProps) => {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  // uPlot keeps the functions that it was made with: they look here for what is current.
  const latest = useRef({ data, onStep, onPart });
  latest.current = { data, onStep, onPart };

  const shape = JSON.stringify([
    theme,
    data.stepSeconds,
    drawnAsBars(data.starts.length),
    data.lines.map((line) => [line.label, line.colour]),
  ]);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const made = new uPlot(
      optionsOf(data, theme, sizeOf(element), {
        step: (index) => latest.current.onStep(index),
        part: (from, to) => {
          const { starts } = latest.current.data;
          const touched = starts.flatMap((start, index) =>
            start + data.stepSeconds > from && start < to ? [index] : [],
          );
          const [first, last] = [touched[0], touched.at(-1)];
          if (first !== undefined && last !== undefined) latest.current.onPart(first, last);
        },
      }),
      columnsOf(data),
      element,
    );
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize(sizeOf(element)));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(columnsOf(data)), [data]);

  return <div class="canvas" role="img" aria-label={summary} ref={place} />;
};

const sizeOf = (element: HTMLElement): { width: number; height: number } => ({
  width: Math.max(element.clientWidth, 120),
  height: Math.max(element.clientHeight, 120),
});

const columnsOf = (data: PlotData): uPlot.AlignedData => {
  const { starts, lines, stepSeconds } = data;
  const drawn = drawnSteps(data, Date.now());
  const columns = lines.map(({ values }) => values.map((value, index) => (index < drawn ? value : null)));
  if (drawnAsBars(starts.length)) return [[...starts], ...columns];
  // The last step that is drawn needs an end: its count once more, where the next step begins.
  for (const column of columns) {
    column.push(null);
    if (drawn > 0) column[drawn] = column[drawn - 1] ?? null;
  }
  return [[...starts, (starts.at(-1) ?? 0) + stepSeconds], ...columns];
};

const optionsOf = (
  { lines, starts, stepSeconds }: PlotData,
  theme: Theme,
  size: { readonly width: number; readonly height: number },
  on: { readonly step: (index: number | undefined) => void; readonly part: (from: number, to: number) => void },
): uPlot.Options => {
  const { axis, grid } = PLOT_COLOURS[theme];
  const bars = drawnAsBars(starts.length);
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const font = `${Math.round(rem * 0.75)}px system-ui, sans-serif`;
  return {
    ...size,
    legend: { show: false },
    padding: [rem * 0.5, rem * 1.5, 0, 0],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false },
      sync: { key: SYNC_KEY, setSeries: false },
      // The step in which the pointer is, not the nearest begin of one.
      dataIdx: (self, _series, nearest) => {
        const at = self.posToVal(self.cursor.left ?? 0, 'x');
        return at < (self.data[0][nearest] ?? 0) ? Math.max(nearest - 1, 0) : nearest;
      },
    },
    scales: {
      x: {
        time: true,
        range: (self) => {
          const first = self.data[0][0] ?? 0;
          const last = self.data[0].at(-1) ?? first;
          return [first, bars ? last + stepSeconds : last];
        },
      },
      // From 0, and never an empty scale: nothing has a height where nothing happened.
      y: { range: (_self, _least, most) => [0, Math.max(most * 1.05, 4)] },
    },
    axes: [
      {
        stroke: axis,
        font,
        size: rem * 2,
        space: rem * 3.5,
        grid: { show: false },
        ticks: { stroke: grid },
        values: (_self, splits) => splits.map((seconds) => times.mark(seconds)),
      },
      {
        stroke: axis,
        font,
        size: rem * 3.1,
        grid: { stroke: grid, width: 1 },
        ticks: { show: false },
        // Counts are whole.
        incrs: [1, 2, 5]
          .flatMap((_, index, digits) => Array.from({ length: 10 }, (__, power) => (digits[index] ?? 1) * 10 ** power))
          .sort((a, b) => a - b),
        values: (_self, splits) => splits.map((count) => numbers.short(count)),
      },
    ],
    series: [
      {},
      ...lines.map((line, index): uPlot.Series => {
        const colour = colourOf(line.colour, theme);
        return {
          label: line.label,
          stroke: colour,
          points: { show: false },
          ...(bars
            ? { fill: colour, width: 0, paths: barPaths(index, lines.length, stepSeconds) }
            : { width: 2, paths: steppedPaths() }),
        };
      }),
    ],
    hooks: {
      setCursor: [
        (self) => {
          const index = self.cursor.idx;
          on.step(index === null || index === undefined || (self.cursor.left ?? -1) < 0 ? undefined : index);
        },
      ],
      setSelect: [
        (self) => {
          const { left, width } = self.select;
          if (width > 0) on.part(self.posToVal(left, 'x'), self.posToVal(left + width, 'x'));
          self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
    },
  };
};

const barPaths = (line: number, lines: number, stepSeconds: number): uPlot.Series.PathBuilder => {
  const { offset, width } = barLayout(line, lines, stepSeconds);
  const build = uPlot.paths.bars;
  if (build === undefined) throw new TypeError('uPlot has no bars');
  return build({
    disp: {
      x0: { unit: 1, values: (self) => Array.from(self.data[0], (start) => start + offset) },
      size: { unit: 1, values: () => [width] },
    },
  });
};

const steppedPaths = (): uPlot.Series.PathBuilder => {
  const build = uPlot.paths.stepped;
  if (build === undefined) throw new TypeError('uPlot has no stepped lines');
  return build({ align: 1 });
};
