import { useMemo, useState } from 'preact/hooks';

import type { Series } from '../model/answers.ts';
import { colourOf, type Theme } from '../model/palette.ts';
import { peakOf, plotData, type PlotData, type PlottedFact } from '../model/plot-data.ts';
import type { SeriesStep } from '../model/series-step.ts';
import { PlotCanvas } from './plot-canvas.tsx';
import { Swatch } from './swatch.tsx';
import { numbers, times } from './texts.ts';

/** What a plot needs. */
export interface PlotProps {
  readonly title: string;
  readonly fact: PlottedFact;
  readonly series: Series | undefined;
  readonly theme: Theme;
  /** A part of it was marked: its first and its last step. */
  readonly onPart: (first: number, last: number) => void;
}

const NO_SERIES: Series = { step: 'hour', steps: [] };

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** One fact over time: a plot, what its colours mean, and the same numbers as a table. */
export const Plot = ({ title, fact, series, theme, onPart }: PlotProps) => {
  const data = useMemo(() => plotData(series ?? NO_SERIES, fact), [series, fact]);
  const [pointed, setPointed] = useState<number | undefined>(undefined);
  const step = series?.step ?? 'hour';
  const start = pointed === undefined ? undefined : data.starts[pointed];
  const empty = series !== undefined && peakOf(data) === undefined;
  return (
    <figure class="plot card" aria-busy={series === undefined}>
      <figcaption>
        <h3>{title}</h3>
        <p class="pointed" aria-hidden="true">
          {start === undefined ? `per ${step}, UTC` : stepText(start, step)}
        </p>
      </figcaption>
      <ul class="legend">
        {(series === undefined ? [] : data.lines).map((line) => (
          <li key={line.label}>
            <Swatch colour={colourOf(line.colour, theme)} /> <span class="label">{line.label}</span>{' '}
            <b>{numbers.count(start === undefined ? sum(line.values) : (line.values[pointed ?? 0] ?? 0))}</b>
          </li>
        ))}
      </ul>
      <div class="drawing">
        {series === undefined ? (
          <div class="canvas" />
        ) : (
          <PlotCanvas
            data={data}
            theme={theme}
            summary={summaryOf(title, data, step)}
            onStep={setPointed}
            onPart={onPart}
          />
        )}
        {empty ? <p class="empty">Nothing in this time.</p> : null}
      </div>
      {series === undefined ? null : <PlotTable title={title} data={data} step={step} />}
    </figure>
  );
};

const stepText = (startSeconds: number, step: SeriesStep): string => {
  const own = times.ownStep(startSeconds, step);
  return `${times.step(startSeconds, step)} UTC${own === undefined ? '' : ` (${own} your time)`}`;
};

/** What a plot says, for whoever does not see it. */
const summaryOf = (title: string, data: PlotData, step: SeriesStep): string => {
  const peak = peakOf(data);
  const what = `${title} per ${step}, ${data.starts.length} steps.`;
  if (peak === undefined) return `${what} All 0.`;
  const totals = data.lines.map(({ label, values }) => `${label} ${numbers.count(sum(values))}`).join(', ');
  const at = times.step(data.starts[peak.index] ?? 0, step);
  return `${what} In all: ${totals}. Highest: ${numbers.count(peak.count)} ${peak.line.label}, ${at} UTC. The table below has every number.`;
};

interface PlotTableProps {
  readonly title: string;
  readonly data: PlotData;
  readonly step: SeriesStep;
}

const PlotTable = ({ title, data, step }: PlotTableProps) => {
  const [open, setOpen] = useState(false);
  return (
    <details class="numbers" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        Table<span class="unseen"> of {title.toLowerCase()}</span>
      </summary>
      {open ? (
        <div class="scroll tall" role="region" aria-label={`${title}, table`} tabIndex={0}>
          <table>
            <caption class="unseen">
              {title} per {step}
            </caption>
            <thead>
              <tr>
                <th scope="col">{step === 'day' ? 'Day' : 'Time'} (UTC)</th>
                {times.zone === 'UTC' || step === 'day' ? null : <th scope="col">Your time</th>}
                {data.lines.map(({ label }) => (
                  <th key={label} scope="col" class="number">
                    <span class="name">{label}</span>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.starts.map((start, index) => {
                const own = times.ownStep(start, step);
                return (
                  <tr key={start}>
                    <th scope="row">{times.step(start, step)}</th>
                    {own === undefined ? null : <td>{own}</td>}
                    {data.lines.map(({ label, values }) => (
                      <td key={label} class="number">
                        {numbers.count(values[index] ?? 0)}
                      </td>
                    ))}
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      ) : null}
    </details>
  );
};
