import { useMemo, useRef, useState } from 'preact/hooks';

import type { Series } from '../model/answers.ts';
import { CATEGORY_MAPS, cssColour, MAP_NAMES, paintOf, type Palette } from '../model/categories.ts';
import {
  countMarks,
  drawnSteps,
  peakOf,
  type PlotData,
  plotData,
  type PlotLine,
  type PlottedFact,
  timeMarks,
} from '../model/plot-data.ts';
import { STEP_MS } from '../model/times.ts';
import { addressTime } from '../model/view.ts';
import { type Column, DataTable } from './data-table.tsx';
import { drawnOnChange } from './drawn-on-change.tsx';
import { useShown } from './shown.ts';
import { Name, numbers, PartNote, type PartProps, Swatch, TimeWords } from './words.tsx';

const PLOTS: readonly (readonly [title: string, fact: PlottedFact])[] = [
  ...CATEGORY_MAPS.map((map) => [MAP_NAMES[map], map] as const),
  ['Camera frames', 'total_events'],
  ['Active cameras', 'active_cameras'],
];

interface PlotsProps extends PartProps<Series> {
  readonly palette: Palette;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The series of what is shown. Marking a part of a plot shows that part alone. */
export const Plots = drawnOnChange(({ answer, busy, note, palette, now }: PlotsProps) => {
  const { view, actions } = useShown();
  const [pointed, setPointed] = useState<number>();
  const [isolated, setIsolated] = useState<string>();
  const showPart = (first: number, last: number): void => {
    const start = addressTime(answer?.steps[first]?.ts_utc_start ?? '');
    const end = addressTime(answer?.steps[last]?.ts_utc_end ?? '');
    if (start !== undefined && end !== undefined) actions.show({ ...view, span: { kind: 'range', start, end } });
  };
  return (
    <section aria-labelledby="plots-title" aria-busy={busy}>
      <h2 id="plots-title" class="unseen">
        Over time
      </h2>
      <PartNote note={note} />
      <div class="plots">
        {PLOTS.map(([title, fact]) => (
          <Plot
            key={fact}
            title={title}
            fact={fact}
            series={answer}
            palette={palette}
            now={now}
            pointed={pointed}
            onPoint={setPointed}
            isolated={isolated}
            onIsolate={(label) => setIsolated(label === isolated ? undefined : label)}
            onPart={showPart}
          />
        ))}
      </div>
    </section>
  );
});

interface PlotProps {
  readonly title: string;
  readonly fact: PlottedFact;
  readonly series: Series | undefined;
  readonly palette: Palette;
  readonly now: number;
  /** The begin of the step under the pointer, or that was tapped; in all plots the same. */
  readonly pointed: number | undefined;
  readonly onPoint: (start: number | undefined) => void;
  /** The category that is shown alone. */
  readonly isolated: string | undefined;
  readonly onIsolate: (label: string) => void;
  /** A part of it was marked: its first and its last step. */
  readonly onPart: (first: number, last: number) => void;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** All of a line; of cameras the most, because the same ones are in many steps. */
const wholeOf = ({ values }: PlotLine, fact: PlottedFact): string =>
  fact === 'active_cameras' ? `at most ${numbers.count(Math.max(0, ...values))}` : numbers.count(sum(values));

/** One fact over time: a plot, what its colours mean, and the same numbers as a table. */
const Plot = ({ fact, series, isolated, onIsolate, ...drawing }: PlotProps) => {
  const { title, pointed } = drawing;
  const { times } = useShown();
  const data = useMemo(() => series && plotData(series, fact), [series, fact]);
  const index = pointed === undefined ? -1 : (data?.starts.indexOf(pointed) ?? -1);
  const alone = data?.drawn.filter(({ label }) => label === isolated) ?? [];
  const lines = alone.length === 0 ? (data?.drawn ?? []) : alone;
  const isPlain = fact === 'total_events' || fact === 'active_cameras';
  return (
    <figure class="plot card">
      <figcaption>
        <h3>{title}</h3>
        <p class="pointed" aria-hidden="true">
          {data === undefined ? null : pointed === undefined || index < 0 ? (
            `per ${data.step === 'day' ? 'UTC day' : data.step}`
          ) : (
            <TimeWords of={times.step(pointed, data.step)} />
          )}
        </p>
      </figcaption>
      <ul class="legend">
        {data?.drawn.map((line) => {
          const whole = wholeOf(line, fact);
          const words = (
            <>
              <Swatch paint={paintOf(drawing.palette, isPlain ? '' : line.label)} /> <Name>{line.label}</Name>{' '}
              {/* The whole is the longest value: its place is kept, so that nothing moves beneath a pointer. */}
              <b class="stay">
                <span>{index < 0 ? whole : numbers.count(line.values[index] ?? 0)}</span>
                <span aria-hidden="true">{whole}</span>
              </b>
            </>
          );
          return (
            <li key={line.label} class={lines.includes(line) ? '' : 'away'}>
              {isPlain ? (
                words
              ) : (
                <button type="button" aria-pressed={line.label === isolated} onClick={() => onIsolate(line.label)}>
                  {words}
                </button>
              )}
            </li>
          );
        })}
      </ul>
      {data === undefined ? (
        <div class="canvas" />
      ) : (
        <Drawing data={data} isPlain={isPlain} lines={lines} index={index} {...drawing} />
      )}
      {data === undefined ? null : <PlotTable title={title} data={data} />}
    </figure>
  );
};

/** The bars that are of a part of their step only: the range begins or ends within it, or it is not over yet. */
const partialSteps = ({ starts, step, partial: [first, last] }: PlotData, drawn: number, now: number) =>
  Array.from({ length: drawn }, (_, at) => at).filter(
    (at) =>
      (at === 0 && first) ||
      (at === starts.length - 1 && last) ||
      (at === drawn - 1 && (starts[at] ?? 0) + STEP_MS[step] > now),
  );

interface DrawingProps extends Pick<PlotProps, 'title' | 'palette' | 'now' | 'onPoint' | 'onPart'> {
  readonly data: PlotData;
  /** Without categories. */
  readonly isPlain: boolean;
  /** Of the step that is pointed at; -1: none is. */
  readonly index: number;
  /** What of it is drawn. */
  readonly lines: readonly PlotLine[];
}

/** Up to so many steps, their bars stand apart. */
const MOST_APART = 62;

/** Stacked bars. The pointer, or a tap, shows the counts of a step; dragging over several marks a part, also with a finger. */
const Drawing = ({ title, palette, data, isPlain, lines, now, index, onPoint, onPart }: DrawingProps) => {
  const { times } = useShown();
  const count = data.starts.length;
  const drawn = drawnSteps(data, now);
  const peak = peakOf(lines);
  const marks = countMarks(peak?.count ?? 0);
  const top = marks.at(-1) ?? 1;
  const bottom = useMemo(() => timeMarks(data, times), [data, times]);
  const [marked, setMarked] = useState<{ readonly from: number; readonly to: number }>();
  const pressed = useRef<number | undefined>(undefined);
  const stepAt = (event: PointerEvent & { readonly currentTarget: Element }): number => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.min(Math.max(Math.floor(((event.clientX - left) / width) * count), 0), count - 1);
  };
  const end = (): void => {
    pressed.current = undefined;
    setMarked(undefined);
  };
  const part = marked && { first: Math.min(marked.from, marked.to), last: Math.max(marked.from, marked.to) };
  return (
    <div
      class="canvas"
      role="img"
      aria-label={summaryOf(title, data, times.step(data.starts[peak?.index ?? 0] ?? 0, data.step).text, peak)}
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
          if (event.button !== 0 || count === 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          pressed.current = stepAt(event);
        }}
        onPointerMove={(event) => {
          if (count === 0) return;
          const step = stepAt(event);
          onPoint(data.starts[step]);
          const from = pressed.current;
          if (from !== undefined) setMarked(step === from && marked === undefined ? undefined : { from, to: step });
        }}
        onPointerUp={(event) => {
          if (part !== undefined) onPart(part.first, part.last);
          else if (pressed.current !== undefined) onPoint(data.starts[stepAt(event)]);
          end();
        }}
        onPointerCancel={end}
        onPointerLeave={(event) => {
          // A finger that has tapped leaves as well: its value stays until the next tap.
          if (event.pointerType === 'mouse') onPoint(undefined);
        }}
      >
        <svg viewBox={`0 0 ${Math.max(count, 1)} ${top}`} preserveAspectRatio="none" aria-hidden="true">
          <path class="grid" d={marks.map((mark) => `M0 ${top - mark}H${count}`).join('')} />
          {index < 0 ? null : <rect x={index} y="0" width="1" height={top} />}
          {pathsOf(lines, drawn, top).map(({ label, d }) => (
            <path
              key={label}
              class={count > MOST_APART ? '' : 'apart'}
              style={{ fill: cssColour(paintOf(palette, isPlain ? '' : label).colour) }}
              d={d}
            />
          ))}
          {partialSteps(data, drawn, now).map((at) => (
            <rect key={at} class="partial" x={at} y="0" width="1" height={top} />
          ))}
          {part === undefined ? null : <rect x={part.first} y="0" width={part.last - part.first + 1} height={top} />}
        </svg>
        {peak === undefined ? <p class="empty">Nothing in this time.</p> : null}
      </div>
      <div class="marks" aria-hidden="true">
        {bottom.map(({ at, text }) => (
          <span key={at} style={{ left: `${at * 100}%` }}>
            {text}
          </span>
        ))}
      </div>
    </div>
  );
};

/** The bars of each line as one path, each on top of those of the lines before it. */
const pathsOf = (
  lines: readonly PlotLine[],
  drawn: number,
  top: number,
): readonly (PlotLine & { readonly d: string })[] => {
  const count = lines[0]?.values.length ?? 0;
  const gap = count > MOST_APART ? 0 : 0.1;
  const heights = Array.from({ length: drawn }, () => 0);
  return lines.map((line) => {
    const bars = heights.map((below, step) => {
      const value = line.values[step] ?? 0;
      if (value === 0) return '';
      heights[step] = below + value;
      return `M${step + gap} ${top - below}h${1 - 2 * gap}v${-value}h${2 * gap - 1}z`;
    });
    return { ...line, d: bars.join('') };
  });
};

/** What a plot says, for whoever does not see it. */
const summaryOf = (
  title: string,
  { starts, step, columns }: PlotData,
  at: string,
  peak: ReturnType<typeof peakOf>,
): string => {
  const what = `${title} per ${step}, ${starts.length} steps.`;
  if (peak === undefined) return `${what} All 0.`;
  const totals = columns.map(({ label, values }) => `${label} ${numbers.count(sum(values))}`).join(', ');
  const inAll = title === 'Active cameras' ? '' : ` In all: ${totals}.`;
  return `${what}${inAll} Highest: ${numbers.count(peak.count)}, ${at}. The table below has every number.`;
};

const PlotTable = ({ title, data }: { readonly title: string; readonly data: PlotData }) => {
  const { times } = useShown();
  const [open, setOpen] = useState(false);
  const columns: readonly Column<number>[] = [
    {
      name: data.step === 'day' ? 'Day (UTC)' : 'Time',
      value: (index) => new Date(data.starts[index] ?? 0).toISOString(),
      cell: (index) => <TimeWords of={times.step(data.starts[index] ?? 0, data.step)} />,
    },
    ...data.columns.map(({ label, values }): Column<number> => ({
      name: label,
      head: <Name>{label}</Name>,
      isNumber: true,
      value: (index) => values[index] ?? 0,
      cell: (index) => numbers.count(values[index] ?? 0),
    })),
  ];
  return (
    <details class="numbers" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        Table<span class="unseen"> of {title.toLowerCase()}</span>
      </summary>
      {open ? (
        <DataTable
          title={`${title} per ${data.step}`}
          columns={columns}
          rows={data.starts.map((_, index) => index)}
          rowKey={(index) => data.starts[index] ?? index}
        />
      ) : null}
    </details>
  );
};
