import { useState } from 'preact/hooks';

import type { Activity } from '../model/answers.ts';
import { categoryColours, SHARED_COLOUR } from '../model/category-colours.ts';
import { categoryRows } from '../model/category-rows.ts';
import type { Panel } from '../model/page-state.ts';
import { colourOf, type Theme } from '../model/palette.ts';
import type { View } from '../model/view.ts';
import type { Actions } from './actions.ts';
import { Swatch } from './swatch.tsx';
import { numbers } from './texts.ts';
import { Time } from './time.tsx';
import { TroubleNote } from './trouble-note.tsx';
import { ViewLink } from './view-link.tsx';

/** What the figures need. */
export interface FiguresProps {
  readonly panel: Panel<Activity>;
  readonly view: View;
  readonly theme: Theme;
  readonly actions: Actions;
}

/** The ten facts of what is shown. */
export const Figures = ({ panel: { answer, trouble }, view, theme, actions }: FiguresProps) => (
  <section class="figures" aria-label="Figures" aria-busy={answer === undefined && trouble === undefined}>
    <TroubleNote trouble={trouble} />
    <dl class="tiles">
      <Tile name="Camera frames" fact="total_events" count={answer?.total_events} />
      <Tile name="Active cameras" fact="active_cameras" count={answer?.active_cameras} />
      <Tile
        name="Reviewed"
        fact="reviewed_total_events"
        count={answer?.reviewed_total_events}
        whole={answer?.total_events}
      />
      <Tile
        name="Annotated"
        fact="annotated_total_events"
        count={answer?.annotated_total_events}
        whole={answer?.total_events}
      />
    </dl>
    <div class="card">
      <div class="scroll" role="region" aria-label="By category, table" tabIndex={0}>
        <CategoryTable answer={answer} theme={theme} />
      </div>
      {answer === undefined ? null : (
        <>
          <p class="note period">
            From <Time at={answer.ts_utc_start} /> to <Time at={answer.ts_utc_end} />, both included.
          </p>
          <CameraIds ids={answer.active_camera_ids} view={view} actions={actions} />
        </>
      )}
    </div>
  </section>
);

interface TileProps {
  readonly name: string;
  /** The field of the answer that it shows. */
  readonly fact: string;
  readonly count: number | undefined;
  /** Of what it is a share, where it is one. */
  readonly whole?: number | undefined;
}

const Tile = ({ name, fact, count, whole }: TileProps) => (
  <div class="tile card">
    <dt>{name}</dt>
    <dd>
      <span class="count" data-fact={fact}>
        {count === undefined ? '–' : numbers.count(count)}
      </span>
      {count === undefined || whole === undefined || whole === 0 ? null : (
        <span class="share"> {numbers.share(count, whole)} of frames</span>
      )}
    </dd>
  </div>
);

const CategoryTable = ({ answer, theme }: { readonly answer: Activity | undefined; readonly theme: Theme }) => {
  const colours = categoryColours(answer === undefined ? [] : [answer]);
  return (
    <table class="categories">
      <caption>By category</caption>
      <thead>
        <tr>
          <th scope="col">Category</th>
          <th scope="col" class="number">
            AI detections
          </th>
          <th scope="col" class="number">
            Reviewed
          </th>
          <th scope="col" class="number">
            Annotations
          </th>
        </tr>
      </thead>
      <tbody>
        {(answer === undefined ? [] : categoryRows(answer)).map(({ category, detections, reviewed, annotations }) => (
          <tr key={category}>
            <th scope="row">
              <Swatch colour={colourOf(colours.get(category) ?? SHARED_COLOUR, theme)} />
              <span class="name">{category}</span>
            </th>
            <td class="number">{numbers.count(detections)}</td>
            <td class="number">{numbers.count(reviewed)}</td>
            <td class="number">{numbers.count(annotations)}</td>
          </tr>
        ))}
        {answer === undefined ? (
          <tr>
            <td colSpan={4}>–</td>
          </tr>
        ) : null}
      </tbody>
    </table>
  );
};

interface CameraIdsProps {
  readonly ids: readonly string[];
  readonly view: View;
  readonly actions: Actions;
}

/** The ids of the active cameras: over a thousand perhaps, so only where somebody wants them. */
const CameraIds = ({ ids, view, actions }: CameraIdsProps) => {
  const [open, setOpen] = useState(false);
  if (ids.length === 0) return <p class="note">No camera sent a frame in this time.</p>;
  return (
    <details class="ids" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{ids.length === 1 ? 'The active camera' : `The ${numbers.count(ids.length)} active cameras`}</summary>
      {open ? (
        <ul>
          {ids.map((id) => (
            <li key={id}>
              <ViewLink to={{ ...view, cameraId: id }} actions={actions} class="id">
                <bdi>{id}</bdi>
              </ViewLink>
            </li>
          ))}
        </ul>
      ) : null}
    </details>
  );
};
