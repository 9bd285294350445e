import type { Series } from '../model/answers.ts';
import type { Panel } from '../model/page-state.ts';
import type { Theme } from '../model/palette.ts';
import type { PlottedFact } from '../model/plot-data.ts';
import { addressTime, type View } from '../model/view.ts';
import type { Actions } from './actions.ts';
import { Plot } from './plot.tsx';
import { TroubleNote } from './trouble-note.tsx';

const PLOTS: readonly { readonly title: string; readonly fact: PlottedFact }[] = [
  { title: 'AI detections', fact: 'counts_per_category' },
  { title: 'Reviews', fact: 'reviewed_counts_per_category' },
  { title: 'Annotations', fact: 'annotated_counts_per_category' },
  { title: 'Camera frames', fact: 'total_events' },
];

/** What the plots need. */
export interface PlotsProps {
  readonly panel: Panel<Series>;
  readonly view: View;
  readonly theme: Theme;
  readonly actions: Actions;
}

/** The series of what is shown. Marking a part of a plot shows that part alone. */
export const Plots = ({ panel: { answer, trouble }, view, theme, actions }: PlotsProps) => {
  const showPart = (first: number, last: number): void => {
    const start = addressTime(answer?.steps[first]?.ts_utc_start ?? '');
    const end = addressTime(answer?.steps[last]?.ts_utc_end ?? '');
    if (start !== undefined && end !== undefined) actions.show({ ...view, span: { kind: 'range', start, end } });
  };
  return (
    <section aria-labelledby="plots-title">
      <h2 id="plots-title" class="unseen">
        Over time
      </h2>
      <TroubleNote trouble={trouble} />
      <div class="plots">
        {PLOTS.map(({ title, fact }) => (
          <Plot key={fact} title={title} fact={fact} series={answer} theme={theme} onPart={showPart} />
        ))}
      </div>
    </section>
  );
};
