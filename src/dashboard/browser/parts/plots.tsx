import { useMemo, useRef, useState } from 'preact/hooks';

import type { Series } from '../model/answers.ts';
import { cssColor, MAP_NAMES } from '../model/categories.ts';
import {
  countMarks,
  drawnSteps,
  peakOf,
  type PlotData,
  plotData,
  type PlotLine,
  PLOTTED_FACTS,
  type PlottedFact,
  timeMarks,
} from '../model/plot-data.ts';
import { STEP_MS, stepText } from '../model/steps.ts';
import { addressTime } from '../model/view.ts';
import { type Column, DataTable } from './data-table.tsx';
import { usePalette, usePart, useShown } from './shown.ts';
import { Name, numbers, PartNote, Swatch, TimeWords } from './words.tsx';

/** What all plots have in common: where the pointer is, and which category is shown alone. */
interface Choice {
  /** The start of the step under the pointer, or of the step that was tapped. */
  readonly pointed: number | undefined;
  readonly isolated: string | undefined;
}

/** The series of what is shown. Marking a part of a plot shows that part alone. */
export const Plots = () => {
  const { answer, busy, note } = usePart('series');
  const [choice, setChoice] = useState<Choice>({ pointed: undefined, isolated: undefined });
  return (
    <section aria-labelledby="plots-title" aria-busy={busy}>
      <h2 id="plots-title" class="unseen">
        Over time
      </h2>
      <PartNote note={note} busy={busy} />
      <div class="plots">
        {answer === undefined
          ? null
          : PLOTTED_FACTS.map((fact) => (
              <Plot key={fact} fact={fact} series={answer} choice={choice} onChoice={setChoice} />
            ))}
      </div>
    </section>
  );
};

interface PlotProps {
  readonly fact: PlottedFact;
  readonly series: Series;
  readonly choice: Choice;
  readonly onChoice: (choice: Choice) => void;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** One fact over time: a plot, what its colors mean, and the same numbers as a table. */
const Plot = ({ fact, series, choice, onChoice }: PlotProps) => {
  const title = fact === 'total_events' ? 'Camera frames' : MAP_NAMES[fact];
  const { view, times, actions } = useShown();
  const palette = usePalette();
  const data = useMemo(() => plotData(series, fact, palette), [series, fact, palette]);
  const { pointed, isolated } = choice;
  const index = pointed === undefined ? -1 : data.starts.indexOf(pointed);
  const alone = data.drawn.filter(({ label }) => label === isolated);
  const lines = alone.length === 0 ? data.drawn : alone;
  const showPart = (first: number, last: number): void => {
    const start = addressTime(series.steps[first]?.ts_utc_start ?? '');
    const end = addressTime(series.steps[last]?.ts_utc_end ?? '');
    if (start !== undefined && end !== undefined) actions.show({ ...view, span: { kind: 'range', start, end } });
  };
  return (
    <figure class="plot card">
      <figcaption>
        <h3>{title}</h3>
        <p class="pointed" aria-hidden="true">
          {pointed === undefined || index < 0 ? (
            `per ${stepText(data.step)}`
          ) : (
            <TimeWords of={times.step(pointed, data.step)} />
          )}
        </p>
      </figcaption>
      <ul class="legend">
        {data.drawn.map((line) => (
          <li key={line.label} class={lines.includes(line) ? '' : 'away'}>
            <button
              type="button"
              disabled={data.drawn.length === 1}
              aria-pressed={line.label === isolated}
              onClick={() => onChoice({ pointed, isolated: line.label === isolated ? undefined : line.label })}
            >
              <Swatch palette={palette} of={line.label} />
              <LineWords of={line} index={index} whole={numbers.count(sum(line.values))} />
            </button>
          </li>
        ))}
        {data.cameras === undefined ? null : (
          <li>
            {/* The same camera is active in many steps: active cameras cannot be added up. */}
            <LineWords
              of={data.cameras}
              index={index}
              whole={`at most ${numbers.count(Math.max(0, ...data.cameras.values))}`}
            />
          </li>
        )}
      </ul>
      <Drawing
        title={title}
        data={data}
        lines={lines}
        index={index}
        onPoint={(start) => onChoice({ isolated, pointed: start })}
        onPart={showPart}
      />
      <PlotTable title={title} data={data} />
    </figure>
  );
};

/** The name of a line, and its count in the step that is pointed at, or in all. */
const LineWords = ({ of, index, whole }: { readonly of: PlotLine; readonly index: number; readonly whole: string }) => (
  <>
    <Name>{of.label}</Name>{' '}
    {/* The whole is the longest value. It keeps its place, so that nothing moves beneath a pointer. */}
    <b class="stay">
      <span>{index < 0 ? whole : numbers.count(of.values[index] ?? 0)}</span>
      <span aria-hidden="true">{whole}</span>
    </b>
  </>
);

/** The steps that are drawn pale. Only a part of them is in the range, or they are not over yet. */
const partialSteps = ({ starts, step, partial: [first, last] }: PlotData, drawn: number, now: number) =>
  Array.from({ length: drawn }, (_, at) => at).filter(
    (at) =>
      (at === 0 && first) ||
      (at === starts.length - 1 && last) ||
      (at === drawn - 1 && (starts[at] ?? 0) + STEP_MS[step] > now),
  );

interface DrawingProps {
  readonly title: string;
  readonly data: PlotData;
  /** The step that is pointed at; -1: none is. */
  readonly index: number;
  /** What of it is drawn. */
  readonly lines: readonly PlotLine[];
  readonly onPoint: (start: number | undefined) => void;
  /** A part of it was marked: its first and its last step. */
  readonly onPart: (first: number, last: number) => void;
}

/** Stacked bars. The pointer, or a tap, shows the counts of a step; dragging over several marks a part, also with a finger. */
const Drawing = ({ title, data, lines, index, onPoint, onPart }: DrawingProps) => {
  const { times, now } = useShown();
  const palette = usePalette();
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
  const partial = partialSteps(data, drawn, now);
  // A step that has just begun would look as if cameras had failed.
  const active = data.cameras?.values.slice(0, partial.includes(drawn - 1) ? drawn - 1 : drawn);
  const mostActive = Math.max(1, ...(active ?? []));
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
            <path key={label} style={{ fill: cssColor(palette, label) }} d={d} />
          ))}
          {partial.map((at) => (
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
      {active === undefined ? null : (
        <svg class="active-line" viewBox={`0 0 ${count} ${mostActive}`} preserveAspectRatio="none" aria-hidden="true">
          <polyline
            vector-effect="non-scaling-stroke"
            points={active.map((value, at) => `${at + 0.5} ${mostActive - value}`).join(' ')}
          />
        </svg>
      )}
    </div>
  );
};

/** The space between two bars, as a part of a step. */
const GAP = 0.1;

/** The bars of each line as one path, each on top of those of the lines before it. */
const pathsOf = (
  lines: readonly PlotLine[],
  drawn: number,
  top: number,
): readonly (PlotLine & { readonly d: string })[] => {
  const heights = Array.from({ length: drawn }, () => 0);
  return lines.map((line) => {
    const bars = heights.map((below, step) => {
      const value = line.values[step] ?? 0;
      if (value === 0) return '';
      heights[step] = below + value;
      return `M${step + GAP} ${top - below}h${1 - 2 * GAP}v${-value}h${2 * GAP - 1}z`;
    });
    return { ...line, d: bars.join('') };
  });
};

/** What a plot says, in words. */
const summaryOf = (
  title: string,
  { starts, step, drawn }: PlotData,
  at: string,
  peak: ReturnType<typeof peakOf>,
): string => {
  const what = `${title} per ${stepText(step)}, ${starts.length} steps.`;
  if (peak === undefined) return `${what} All 0.`;
  const totals = drawn.map(({ label, values }) => `${label} ${numbers.count(sum(values))}`).join(', ');
  return `${what} In all: ${totals}. Highest: ${numbers.count(peak.count)}, ${at}. The table below has every number.`;
};

const PlotTable = ({ title, data }: { readonly title: string; readonly data: PlotData }) => {
  const { times, state } = useShown();
  const [open, setOpen] = useState(false);
  const columns: readonly Column<number>[] = [
    {
      name: data.step === 'day' ? 'Day (UTC)' : 'Time',
      cell: (index) => <TimeWords of={times.step(data.starts[index] ?? 0, data.step)} />,
    },
    ...[...data.columns, ...(data.cameras === undefined ? [] : [data.cameras])].map(
      ({ label, values }): Column<number> => ({
        name: label,
        head: <Name>{label}</Name>,
        isNumber: true,
        cell: (index) => numbers.count(values[index] ?? 0),
      }),
    ),
  ];
  return (
    <details class="numbers" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        Table<span class="unseen"> of {title.toLowerCase()}</span>
      </summary>
      {open ? (
        <DataTable
          title={`${title} per ${stepText(data.step)}`}
          columns={columns}
          rows={data.starts.map((_, index) => index)}
          rowKey={(index) => data.starts[index] ?? index}
          file={state.parts.series?.question ?? ''}
        />
      ) : null}
    </details>
  );
};
