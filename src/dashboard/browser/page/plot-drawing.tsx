import { useMemo, useState } from 'preact/hooks';

import type { Series } from '../model/answers.ts';
import { cssColor } from '../model/categories.ts';
import { countMarks, peakOf, type PlotData, type PlotLine, sumOf } from '../model/plot-data.ts';
import { STEP_MS, stepText } from '../model/steps.ts';
import { timeMarks } from '../model/time-marks.ts';
import { addressTime } from '../model/view.ts';
import { numbers } from '../parts/numbers.ts';
import { usePalette, useShown } from '../parts/shown.ts';

interface DrawingProps {
  readonly title: string;
  readonly data: PlotData;
  readonly lines: readonly PlotLine[];
  /** The index of the step under the pointer, or -1. */
  readonly index: number;
  readonly series: Series;
  readonly onPoint: (start: number | undefined) => void;
}

/** Stacked bars. Pointer or tap shows the counts of a step. Dragging, also with a finger, zooms. */
export const Drawing = ({ title, data, lines, index, series, onPoint }: DrawingProps) => {
  const { view, times, now, actions } = useShown();
  const palette = usePalette();
  const { starts, step } = data;
  const count = starts.length;
  const peak = peakOf(lines);
  const marks = countMarks(peak?.count ?? 0);
  const top = marks.at(-1) ?? 1;
  const bottom = useMemo(() => timeMarks(data, times), [data, times]);
  const [dragged, setDragged] = useState<readonly [from: number, to: number]>();
  const stepAt = (event: PointerEvent & { readonly currentTarget: Element }): number => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.min(Math.max(Math.floor(((event.clientX - left) / width) * count), 0), count - 1);
  };
  const [first = 0, last = 0] = dragged?.toSorted((left, right) => left - right) ?? [];
  const zoom = (): void => {
    const start = addressTime(series.steps[first]?.ts_utc_start ?? '');
    const end = addressTime(series.steps[last]?.ts_utc_end ?? '');
    if (start !== undefined && end !== undefined) actions.show({ ...view, span: { kind: 'range', start, end } });
  };
  const current = starts.findLastIndex((start) => start <= now);
  const isOver = (starts[current] ?? 0) + STEP_MS[step] <= now;
  const pale = new Set([...data.partial, ...(isOver ? [] : [current])]);
  // A step that has just begun would look like a failure of cameras.
  const active = data.cameras?.values.slice(0, isOver ? current + 1 : current);
  const mostActive = Math.max(1, ...(active ?? []));
  return (
    <div
      class="canvas"
      role="img"
      aria-label={summaryOf(title, data, times.step(starts[peak?.index ?? 0] ?? 0, step).text, peak?.count)}
    >
      <div class="scale" aria-hidden="true">
        {marks.map((mark) => (
          <span key={mark} style={{ bottom: `${(mark / top) * 100}%` }}>
            {numbers.short(mark)}
          </span>
        ))}
      </div>
      <div
        class="bars"
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          setDragged([stepAt(event), stepAt(event)]);
        }}
        onPointerMove={(event) => {
          onPoint(starts[stepAt(event)]);
          if (dragged !== undefined) setDragged([dragged[0], stepAt(event)]);
        }}
        onPointerUp={(event) => {
          if (first < last) zoom();
          else onPoint(starts[stepAt(event)]);
          setDragged(undefined);
        }}
        onPointerCancel={() => setDragged(undefined)}
        onPointerLeave={(event) => {
          // The value of a tap stays until the next tap, although the finger leaves.
          if (event.pointerType === 'mouse') onPoint(undefined);
        }}
      >
        <svg viewBox={`0 0 ${Math.max(count, 1)} ${top}`} preserveAspectRatio="none" aria-hidden="true">
          <path class="grid" d={marks.map((mark) => `M0 ${top - mark}H${count}`).join('')} />
          {index < 0 ? null : <rect x={index} y="0" width="1" height={top} />}
          {pathsOf(lines, top).map(({ label, path }) => (
            <path key={label} style={{ fill: cssColor(palette, label) }} d={path} />
          ))}
          {Array.from(pale, (at) => (
            <rect key={at} class="partial" x={at} y="0" width="1" height={top} />
          ))}
          {first < last ? <rect x={first} y="0" width={last - first + 1} height={top} /> : null}
        </svg>
        {peak === undefined ? <p class="empty">Nothing in this time.</p> : null}
      </div>
      <div class="marks" aria-hidden="true">
        {/* A mark at the right end would be cut. */}
        {bottom
          .filter(({ at }) => at < 0.93)
          .map(({ at, text }) => (
            <span key={at} style={{ left: `${at * 100}%` }}>
              {text}
            </span>
          ))}
      </div>
      {active === undefined ? null : (
        <svg class="active-line" viewBox={`0 0 ${count} ${mostActive}`} preserveAspectRatio="none" aria-hidden="true">
          <polyline points={active.map((value, at) => `${at + 0.5} ${mostActive - value}`).join(' ')} />
        </svg>
      )}
    </div>
  );
};

/** The space between two bars, as a part of a step. */
const GAP = 0.1;

/** The bars of each line as one path, above the bars of the lines before it. */
const pathsOf = (
  lines: readonly PlotLine[],
  top: number,
): readonly { readonly label: string; readonly path: string }[] => {
  const heights: number[] = [];
  return lines.map(({ label, values }) => {
    const bars = values.map((value, step) => {
      if (value === 0) return '';
      const below = heights[step] ?? 0;
      heights[step] = below + value;
      return `M${step + GAP} ${top - below}h${1 - 2 * GAP}v${-value}h${2 * GAP - 1}z`;
    });
    return { label, path: bars.join('') };
  });
};

const summaryOf = (
  title: string,
  { starts, step, drawn }: PlotData,
  peakAt: string,
  peak: number | undefined,
): string => {
  const what = `${title} per ${stepText(step)}, ${starts.length} steps.`;
  if (peak === undefined) return `${what} All 0.`;
  const totals = drawn.map(({ label, values }) => `${label} ${numbers.count(sumOf(values))}`).join(', ');
  return `${what} In all: ${totals}. Highest: ${numbers.count(peak)}, ${peakAt}. The table below has every number.`;
};
