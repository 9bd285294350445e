import type { CameraCounts } from '../model/answers.ts';
import { countOf, notConfirmed, orderedCategories, totalOf } from '../model/categories.ts';
import { LIMITS, orderOf } from '../model/page-state.ts';
import { BY_NOT_CONFIRMED, camerasQuestion, MOST_CAMERAS } from '../model/questions.ts';
import { periodOf, utcDaysOf } from '../model/spans.ts';
import { type Column, DataTable } from './data-table.tsx';
import { usePart, useShown } from './shown.ts';
import { CameraLink, ViewLink } from './view-link.tsx';
import { Card, Name, numbers } from './words.tsx';

/** The cameras of some UTC days. The head of a column sorts by it. */
export const Cameras = () => {
  const { state, view, times, now, actions } = useShown();
  const { answer, busy, note } = usePart('cameras');
  const { cameras: limit, search } = state.wants;
  const order = orderOf(state);
  const days = utcDaysOf(periodOf(view.span, now, times), now);
  const total = answer?.total_cameras ?? 0;
  const listed = answer?.cameras ?? [];
  const sorted =
    order === BY_NOT_CONFIRMED ? listed.toSorted((left, right) => notConfirmed(right) - notConfirmed(left)) : listed;
  const cameras = sorted.slice(0, limit);
  const other = limit === LIMITS.first.cameras ? LIMITS.most.cameras : LIMITS.first.cameras;
  const title = (
    <>
      Cameras <span class="note">{days.text}</span>
    </>
  );
  return (
    <Card id="cameras" title={title} note={note} busy={busy}>
      <label>
        Filter{' '}
        <input
          type="search"
          spellcheck={false}
          maxLength={128}
          onInput={({ currentTarget: { value } }) => actions.want({ search: value.trim() })}
        />
      </label>
      <p class="note">
        Detections by category. Flagged, confirmed, missed: what the AI flagged in reviewed frames, which of these a
        reviewer confirmed, and which the AI missed.{' '}
        {days.isExact
          ? null
          : `Cameras are counted by UTC day: this list covers the ${days.text.replace('UTC', 'whole UTC')}.`}
      </p>
      {answer !== undefined && cameras.length === 0 ? (
        <p class="empty">{search === '' ? 'No camera sent a frame on this day.' : 'No camera of this name.'}</p>
      ) : null}
      {cameras.length === 0 ? null : (
        <DataTable
          title={`Cameras of the ${days.text}`}
          class="cameras"
          columns={columnsOf(cameras, order, view.cameraId)}
          rows={cameras}
          total={total}
          rowKey={({ camera_id: id }) => id}
          file={camerasQuestion(days, order, search, MOST_CAMERAS)}
        />
      )}
      {total > LIMITS.first.cameras ? (
        <button type="button" class="button small" onClick={() => actions.want({ cameras: other })}>
          Show {other}
        </button>
      ) : null}
    </Card>
  );
};

type Count = (camera: CameraCounts) => number;

const TOTALS: ReadonlyMap<string, readonly [name: string, Count]> = new Map([
  ['total_events', ['Frames', ({ total_events: count }: CameraCounts) => count]],
  ['reviewed_total_events', ['Reviewed', ({ reviewed_total_events: count }: CameraCounts) => count]],
  ['annotated_total_events', ['Annotated', ({ annotated_total_events: count }: CameraCounts) => count]],
]);

/** The totals, the categories that occur or give the order, and the accuracy of the AI. */
const columnsOf = (
  cameras: readonly CameraCounts[],
  order: string,
  alone: string | undefined,
): readonly Column<CameraCounts>[] => {
  const occurring = orderedCategories(cameras).filter((category) =>
    cameras.some((camera) => countOf(camera.counts_per_category, category) > 0),
  );
  const sortable = (by: string, name: string, head: string, count: Count): Column<CameraCounts> => ({
    name,
    head: <OrderLink by={by}>{head}</OrderLink>,
    sort: by === order ? 'descending' : undefined,
    isNumber: true,
    cell: (camera) => numbers.count(count(camera)),
  });
  const categories = new Set([...occurring, order].filter((each) => !TOTALS.has(each) && each !== BY_NOT_CONFIRMED));
  return [
    {
      name: 'Camera',
      cell: ({ camera_id: id }) => <CameraLink id={id} current={id === alone} />,
    },
    ...Array.from(TOTALS, ([by, [name, count]]) => sortable(by, name, name, count)),
    ...Array.from(categories, (by) =>
      sortable(by, `Detections of ${by}`, by, (camera) => countOf(camera.counts_per_category, by)),
    ),
    ...(['flagged', 'confirmed', 'missed'] as const).map((each): Column<CameraCounts> => ({
      name: each.charAt(0).toUpperCase() + each.slice(1),
      isNumber: true,
      cell: (camera) => numbers.count(totalOf(camera[each])),
    })),
    sortable(BY_NOT_CONFIRMED, 'Not confirmed', 'Not confirmed', notConfirmed),
  ];
};

const OrderLink = ({ by, children }: { readonly by: string; readonly children: string }) => {
  const { view } = useShown();
  return (
    <ViewLink to={{ ...view, orderBy: by }} class="sort">
      <Name>{children}</Name>
    </ViewLink>
  );
};
