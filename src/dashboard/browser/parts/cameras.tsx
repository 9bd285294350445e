import { cameraAccuracyText, notConfirmed, totalOf } from '../model/accuracy.ts';
import type { CameraCounts } from '../model/answers.ts';
import { countOf, orderedCategories } from '../model/categories.ts';
import { LIMITS, orderOf } from '../model/page-state.ts';
import { BY_NOT_CONFIRMED, camerasQuestion, MOST_CAMERAS } from '../model/questions.ts';
import { periodOf, utcDaysOf } from '../model/spans.ts';
import { type Column, DataTable } from './data-table.tsx';
import { usePart, useShown } from './shown.ts';
import { CameraLink, ViewLink } from './view-link.tsx';
import { Card, Name, numbers } from './words.tsx';

/** The cameras of some UTC days, ordered by a click on a head. A click on one shows it alone, a second one all. */
export const Cameras = () => {
  const { state, view, times, now, actions } = useShown();
  const { answer, busy, note } = usePart('cameras');
  const { cameras: limit, search } = state.wants;
  const order = orderOf(state);
  const days = utcDaysOf(periodOf(view.span, now, times), now);
  const total = answer?.total_cameras ?? 0;
  const cameras = inOrder(answer?.cameras ?? [], order).slice(0, limit);
  const other = limit === LIMITS.first.cameras ? LIMITS.most.cameras : LIMITS.first.cameras;
  return (
    <Card
      id="cameras"
      title={
        <>
          Cameras <span class="of">{days.text}</span>
        </>
      }
      note={note}
      busy={busy}
      beside={
        <label>
          Filter{' '}
          <input
            type="search"
            spellcheck={false}
            maxLength={128}
            onInput={({ currentTarget: { value } }) => actions.want({ search: value.trim() })}
          />
        </label>
      }
    >
      <p class="note">
        Detections by category. Flagged, confirmed, missed: what the AI flagged in reviewed frames, what a reviewer
        confirmed of it, and what only the reviewer saw.{' '}
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
          rowClass={({ camera_id: id }) => (id === view.cameraId ? 'alone' : '')}
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

/** The service knows every order but one. */
const inOrder = (cameras: readonly CameraCounts[], order: string): readonly CameraCounts[] =>
  order === BY_NOT_CONFIRMED ? cameras.toSorted((left, right) => notConfirmed(right) - notConfirmed(left)) : cameras;

const TOTALS: ReadonlyMap<string, string> = new Map([
  ['total_events', 'Frames'],
  ['reviewed_total_events', 'Reviewed'],
  ['annotated_total_events', 'Annotated'],
  [BY_NOT_CONFIRMED, 'Not confirmed'],
]);

/** A column for each total, for each category that occurs or that they are ordered by, and for how often the AI was right. */
const columnsOf = (
  cameras: readonly CameraCounts[],
  order: string,
  alone: string | undefined,
): readonly Column<CameraCounts>[] => {
  const occurring = orderedCategories(cameras).filter((category) =>
    cameras.some((camera) => countOf(camera.counts_per_category, category) > 0),
  );
  return [
    {
      name: 'Camera',
      cell: ({ camera_id: id }) => <CameraLink id={id} current={id === alone} />,
    },
    ...[...new Set([...TOTALS.keys(), ...occurring, order])]
      .filter((each) => each !== BY_NOT_CONFIRMED)
      .map((each) => ordering(each, order)),
    ...(['flagged', 'confirmed', 'missed'] as const).map((each): Column<CameraCounts> => ({
      name: each.charAt(0).toUpperCase() + each.slice(1),
      isNumber: true,
      cell: (camera) => <span title={cameraAccuracyText(camera)}>{numbers.count(totalOf(camera[each]))}</span>,
    })),
    ordering(BY_NOT_CONFIRMED, order),
  ];
};

/** A column that the cameras can be ordered by. */
const ordering = (by: string, order: string): Column<CameraCounts> => ({
  name: TOTALS.get(by) ?? `Detections of ${by}`,
  head: <OrderLink by={by} />,
  sort: by === order ? 'descending' : undefined,
  isNumber: true,
  cell: (camera) => numbers.count(countBy(camera, by)),
});

const OrderLink = ({ by }: { readonly by: string }) => {
  const { view } = useShown();
  return (
    <ViewLink to={{ ...view, orderBy: by }} class="sort">
      <Name>{TOTALS.get(by) ?? by}</Name>
    </ViewLink>
  );
};

const countBy = (camera: CameraCounts, order: string): number => {
  switch (order) {
    case 'total_events':
    case 'reviewed_total_events':
    case 'annotated_total_events':
      return camera[order];
    case BY_NOT_CONFIRMED:
      return notConfirmed(camera);
    default:
      return countOf(camera.counts_per_category, order);
  }
};
