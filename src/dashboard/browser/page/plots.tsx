import { useMemo, useState } from 'preact/hooks';

import type { Series } from '../model/answers.ts';
import { MAP_NAMES } from '../model/categories.ts';
import { type PlotData, plotData, type PlotLine, PLOTTED_FACTS, type PlottedFact, sumOf } from '../model/plot-data.ts';
import { stepText } from '../model/steps.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { numbers } from '../parts/numbers.ts';
import { usePalette, usePart, useShown } from '../parts/shown.ts';
import { Name, PartNote, Swatch, TimeWords } from '../parts/words.tsx';
import { Drawing } from './plot-drawing.tsx';

/** All plots share the cursor and the isolated category. */
interface Choice {
  /** The start of the step under the pointer, or of the last tapped step. */
  readonly pointed: number | undefined;
  readonly isolated: string | undefined;
}

/** `facts`: which plots; all by default. */
export const Plots = ({ facts = PLOTTED_FACTS }: { readonly facts?: readonly PlottedFact[] }) => {
  const { answer, busy, note } = usePart('series');
  const [choice, setChoice] = useState<Choice>({ pointed: undefined, isolated: undefined });
  return (
    <section aria-labelledby="plots-title" aria-busy={busy}>
      <h2 id="plots-title" class="unseen">
        Over time
      </h2>
      <div class="pair">
        {facts.map((fact) =>
          answer === undefined ? (
            <div key={fact} class="plot card waiting" />
          ) : (
            <Plot key={fact} {...{ fact, note, choice }} series={answer} onChoice={setChoice} />
          ),
        )}
      </div>
    </section>
  );
};

interface PlotProps {
  readonly fact: PlottedFact;
  readonly series: Series;
  readonly note: string | undefined;
  readonly choice: Choice;
  readonly onChoice: (choice: Choice) => void;
}

/** One fact over time: a plot, its legend, and a table with the same numbers. */
const Plot = ({ fact, series, note, choice, onChoice }: PlotProps) => {
  const title = fact === 'total_events' ? 'Camera frames' : MAP_NAMES[fact];
  const { times, view } = useShown();
  const palette = usePalette();
  const data = useMemo(() => plotData(series, fact, palette), [series, fact, palette]);
  const { drawn, cameras, step } = data;
  const { pointed, isolated } = choice;
  const index = pointed === undefined ? -1 : data.starts.indexOf(pointed);
  const alone = drawn.filter(({ label }) => label === isolated);
  const lines = alone.length === 0 ? drawn : alone;
  return (
    <figure class="plot card">
      <figcaption class="row">
        <h3>{title}</h3>
        <PartNote note={note} />
        <p class="pointed" aria-hidden="true">
          {pointed === undefined || index < 0 ? `per ${stepText(step)}` : <TimeWords of={times.step(pointed, step)} />}
        </p>
      </figcaption>
      <ul class="legend row">
        {drawn.map((line) => (
          <li key={line.label} class={lines.includes(line) ? '' : 'away'}>
            <button
              type="button"
              disabled={drawn.length === 1 || view.wall}
              aria-pressed={line.label === isolated}
              onClick={() => onChoice({ pointed, isolated: line.label === isolated ? undefined : line.label })}
            >
              <Swatch palette={palette} of={line.label} />
              <LineWords of={line} index={index} whole={numbers.count(sumOf(line.values))} />
            </button>
          </li>
        ))}
        {cameras === undefined ? null : (
          <li>
            <LineWords of={cameras} index={index} whole={`at most ${numbers.count(Math.max(0, ...cameras.values))}`} />
          </li>
        )}
      </ul>
      <Drawing {...{ title, data, lines, index, series }} onPoint={(start) => onChoice({ isolated, pointed: start })} />
      {view.wall ? null : <PlotTable title={title} data={data} />}
    </figure>
  );
};

/** The name of a line, and its count in the pointed step; without one, in all steps. The latter text is the longest: its width is reserved. */
const LineWords = ({ of, index, whole }: { readonly of: PlotLine; readonly index: number; readonly whole: string }) => (
  <>
    <Name>{of.label}</Name>{' '}
    <b style={{ minWidth: `${whole.length}ch` }}>{index < 0 ? whole : numbers.count(of.values[index] ?? 0)}</b>
  </>
);

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
