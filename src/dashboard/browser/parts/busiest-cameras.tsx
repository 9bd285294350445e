import type { CameraCounts, Cameras } from '../model/answers.ts';
import { countOf, orderedCategories } from '../model/category-rows.ts';
import { CAMERA_LIMITS, type Panel } from '../model/page-state.ts';
import type { View } from '../model/view.ts';
import type { Actions } from './actions.ts';
import { numbers } from './texts.ts';
import { TroubleNote } from './trouble-note.tsx';
import { ViewLink } from './view-link.tsx';

/** What the busiest cameras need. */
export interface BusiestCamerasProps {
  readonly panel: Panel<Cameras>;
  readonly view: View;
  /** The day that is asked for. */
  readonly date: string;
  readonly limit: number;
  readonly actions: Actions;
}

const TOTALS: ReadonlyMap<string, string> = new Map([
  ['total_events', 'Frames'],
  ['reviewed_total_events', 'Reviewed'],
  ['annotated_total_events', 'Annotated'],
]);

/** The cameras of a day, busiest first. A click on one shows it alone, a second one all cameras again. */
export const BusiestCameras = ({ panel: { answer, trouble }, view, date, limit, actions }: BusiestCamerasProps) => {
  const cameras = answer?.cameras ?? [];
  const categories = orderedCategories(cameras);
  const orders = [...new Set([...TOTALS.keys(), ...categories, view.orderBy])];
  const most = cameras[0] === undefined ? 0 : orderCount(cameras[0], view.orderBy);
  return (
    <section class="card" aria-labelledby="cameras-title" aria-busy={answer === undefined && trouble === undefined}>
      <div class="head">
        <h2 id="cameras-title">
          Busiest cameras <span class="of">{date}</span>
        </h2>
        <label>
          Order by{' '}
          <select
            value={view.orderBy}
            onChange={(event) => actions.show({ ...view, orderBy: event.currentTarget.value })}
          >
            {orders.map((order) => (
              <option key={order} value={order}>
                {TOTALS.get(order)?.toLowerCase() ?? `${order} flagged`}
              </option>
            ))}
          </select>
        </label>
      </div>
      <TroubleNote trouble={trouble} />
      {answer !== undefined && cameras.length === 0 ? <p class="empty">No camera sent a frame on this day.</p> : null}
      {cameras.length === 0 ? null : (
        <div class="scroll" role="region" aria-label="Busiest cameras, table" tabIndex={0}>
          <table class="cameras">
            <caption class="unseen">Busiest cameras of {date}</caption>
            <thead>
              <tr>
                <th scope="col">Camera</th>
                {[...TOTALS].map(([order, name]) => (
                  <OrderHead key={order} name={name} ordered={order === view.orderBy} />
                ))}
                {categories.map((category) => (
                  <OrderHead key={category} name={category} ordered={category === view.orderBy} />
                ))}
              </tr>
            </thead>
            <tbody>
              {cameras.map((camera) => {
                const alone = camera.camera_id === view.cameraId;
                return (
                  <tr key={camera.camera_id} class={alone ? 'alone' : ''}>
                    <th scope="row">
                      <ViewLink
                        to={{ ...view, cameraId: alone ? undefined : camera.camera_id }}
                        actions={actions}
                        class="id"
                        current={alone}
                      >
                        <bdi>{camera.camera_id}</bdi>
                      </ViewLink>
                      <Share of={orderCount(camera, view.orderBy)} most={most} />
                    </th>
                    {[...TOTALS.keys(), ...categories].map((order) => (
                      <td key={order} class="number">
                        {numbers.count(orderCount(camera, order))}
                      </td>
                    ))}
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      {answer !== undefined && answer.total_cameras > cameras.length ? (
        <p class="note">
          {numbers.count(cameras.length)} of {numbers.count(answer.total_cameras)} cameras.{' '}
          {limit < CAMERA_LIMITS.most ? (
            <button type="button" class="button" onClick={actions.showMoreCameras}>
              Show {answer.total_cameras > CAMERA_LIMITS.most ? numbers.count(CAMERA_LIMITS.most) : 'all'}
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

const OrderHead = ({ name, ordered }: { readonly name: string; readonly ordered: boolean }) => (
  <th scope="col" class="number" {...(ordered ? { 'aria-sort': 'descending' as const } : {})}>
    <span class="name">{name}</span>
  </th>
);

/** How busy a camera is beside the busiest one. */
const Share = ({ of, most }: { readonly of: number; readonly most: number }) => (
  <span class="share-bar" aria-hidden="true" style={{ width: `${most === 0 ? 0 : Math.round((of / most) * 100)}%` }} />
);
