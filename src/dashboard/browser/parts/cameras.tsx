import { useState } from 'preact/hooks';

import type { CameraCounts } from '../model/answers.ts';
import { countOf, orderedCategories } from '../model/categories.ts';
import { isBusy, LIMITS, orderOf, type PageState } from '../model/page-state.ts';
import type { UtcDays } from '../model/spans.ts';
import { type Column, DataTable } from './data-table.tsx';
import { useShown } from './shown.ts';
import { CameraLink, ViewLink } from './view-link.tsx';
import { Name, numbers } from './words.tsx';

interface CamerasProps {
  readonly state: PageState;
  /** The days that are asked for. */
  readonly days: UtcDays;
}

const TOTALS: ReadonlyMap<string, string> = new Map([
  ['total_events', 'Frames'],
  ['reviewed_total_events', 'Reviewed'],
  ['annotated_total_events', 'Annotated'],
]);

/** The cameras of some UTC days, ordered by a click on a head. A click on one shows it alone, a second one all. */
export const Cameras = ({ state, days }: CamerasProps) => {
  const { view, actions } = useShown();
  const panel = state.panels.cameras;
  const limit = state.wants.cameras;
  const order = orderOf(state);
  const [filter, setFilter] = useState('');
  const { answer } = panel;
  const cameras = answer?.cameras ?? [];
  const shown = cameras.filter(({ camera_id: id }) => id.toLowerCase().includes(filter.trim().toLowerCase()));
  const most = cameras[0] === undefined ? 0 : orderCount(cameras[0], order);
  const orders = [
    ...new Set([...TOTALS.keys(), ...orderedCategories(cameras), ...(cameras.length === 0 ? [] : [order])]),
  ];
  const columns: readonly Column<CameraCounts>[] = [
    {
      name: 'Camera',
      value: ({ camera_id: id }) => id,
      cell: (camera) => (
        <>
          <CameraLink id={camera.camera_id} current={camera.camera_id === view.cameraId} />
          <Share of={orderCount(camera, order)} most={most} />
        </>
      ),
    },
    ...orders.map((each): Column<CameraCounts> => ({
      name: TOTALS.get(each) ?? `Detections of ${each}`,
      head: (
        <ViewLink to={{ ...view, orderBy: each }} class="sort">
          <Name>{TOTALS.get(each) ?? each}</Name>
        </ViewLink>
      ),
      sort: each === order ? 'descending' : undefined,
      isNumber: true,
      value: (camera) => orderCount(camera, each),
      cell: (camera) => numbers.count(orderCount(camera, each)),
    })),
  ];
  const isCut = answer !== undefined && answer.total_cameras > cameras.length;
  const wantAll = (): void => {
    if (isCut && limit < LIMITS.most.cameras) actions.want({ cameras: LIMITS.most.cameras });
  };
  return (
    <section class="card" aria-labelledby="cameras-title" aria-busy={isBusy(panel)}>
      <div class="head">
        <h2 id="cameras-title">
          Cameras <span class="of">{days.text}</span>
        </h2>
        <label>
          Filter{' '}
          <input
            type="search"
            spellcheck={false}
            value={filter}
            onInput={({ currentTarget: { value } }) => {
              setFilter(value);
              wantAll();
            }}
          />
        </label>
      </div>
      <p class="note">
        Detections by category.{' '}
        {days.isExact
          ? null
          : `Cameras are counted by UTC day: this list covers the ${days.text.replace('UTC', 'whole UTC')}.`}
      </p>
      {answer !== undefined && shown.length === 0 ? (
        <p class="empty">{cameras.length === 0 ? 'No camera sent a frame on this day.' : 'No camera of this name.'}</p>
      ) : null}
      {shown.length === 0 ? null : (
        <DataTable
          title={`Cameras of the ${days.text}`}
          class="cameras"
          columns={columns}
          rows={shown}
          rowKey={({ camera_id: id }) => id}
          rowClass={({ camera_id: id }) => (id === view.cameraId ? 'alone' : '')}
        />
      )}
      {isCut ? (
        <p class="note">
          {numbers.count(cameras.length)} of {numbers.count(answer.total_cameras)} cameras.{' '}
          {limit < LIMITS.most.cameras ? (
            <button type="button" class="button small" onClick={wantAll}>
              Show {answer.total_cameras > LIMITS.most.cameras ? numbers.count(LIMITS.most.cameras) : 'all'}
            </button>
          ) : null}
        </p>
      ) : null}
    </section>
  );
};

const orderCount = (camera: CameraCounts, order: string): number => {
  switch (order) {
    case 'total_events':
    case 'reviewed_total_events':
    case 'annotated_total_events':
      return camera[order];
    default:
      return countOf(camera.counts_per_category, order);
  }
};

/** How busy a camera is, of the busiest one. */
const Share = ({ of, most }: { readonly of: number; readonly most: number }) => (
  <span class="share-bar" aria-hidden="true" style={{ width: `${most === 0 ? 0 : Math.round((of / most) * 100)}%` }} />
);
