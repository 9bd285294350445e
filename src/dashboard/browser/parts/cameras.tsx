import type { CameraCounts, Cameras as CamerasAnswer } from '../model/answers.ts';
import { countOf, orderedCategories } from '../model/categories.ts';
import { LIMITS } from '../model/page-state.ts';
import { camerasQuestion } from '../model/questions.ts';
import { type Column, DataTable, type WholeTable } from './data-table.tsx';
import { drawnOnChange } from './drawn-on-change.tsx';
import { useShown } from './shown.ts';
import { CameraLink, ViewLink } from './view-link.tsx';
import { Name, numbers, PartNote, type PartProps } from './words.tsx';

interface CamerasProps extends PartProps<CamerasAnswer> {
  /** What they are ordered by. */
  readonly order: string;
  /** How many are asked for. */
  readonly limit: number;
  /** A part of the ids of those that are asked for. */
  readonly search: string;
  /** The UTC days that are asked for. */
  readonly days: number;
  readonly last: string;
  readonly daysText: string;
  /** Whether that is exactly what the page shows. */
  readonly isExact: boolean;
}

const TOTALS: ReadonlyMap<string, string> = new Map([
  ['total_events', 'Frames'],
  ['reviewed_total_events', 'Reviewed'],
  ['annotated_total_events', 'Annotated'],
]);

/** The cameras of some UTC days, ordered by a click on a head. A click on one shows it alone, a second one all. */
export const Cameras = drawnOnChange((props: CamerasProps) => {
  const { answer, busy, note, order, limit, search, days, last, daysText, isExact } = props;
  const { view, actions } = useShown();
  const cameras = answer?.cameras ?? [];
  const total = answer?.total_cameras ?? 0;
  const wholeTable = async (): Promise<WholeTable<CameraCounts> | undefined> => {
    const all = await actions.ask(camerasQuestion({ last, days }, order, search, LIMITS.most.cameras));
    return all && { columns: columnsOf(all.cameras, order, view.cameraId), rows: all.cameras };
  };
  const isCut = total > cameras.length;
  return (
    <section class="card" aria-labelledby="cameras-title" aria-busy={busy}>
      <div class="head">
        <h2 id="cameras-title">
          Cameras <span class="of">{daysText}</span> <PartNote note={note} />
        </h2>
        <label>
          Filter{' '}
          <input
            type="search"
            spellcheck={false}
            maxLength={128}
            onInput={({ currentTarget: { value } }) => actions.want({ search: value.trim() })}
          />
        </label>
      </div>
      <p class="note">
        Detections by category.{' '}
        {isExact
          ? null
          : `Cameras are counted by UTC day: this list covers the ${daysText.replace('UTC', 'whole UTC')}.`}
      </p>
      {answer !== undefined && cameras.length === 0 ? (
        <p class="empty">{search === '' ? 'No camera sent a frame on this day.' : 'No camera of this name.'}</p>
      ) : null}
      {cameras.length === 0 ? null : (
        <DataTable
          title={`Cameras of the ${daysText}`}
          class="cameras"
          columns={columnsOf(cameras, order, view.cameraId)}
          rows={cameras}
          rowKey={({ camera_id: id }) => id}
          rowClass={({ camera_id: id }) => (id === view.cameraId ? 'alone' : '')}
          wholeTable={isCut ? wholeTable : undefined}
          hint={
            isCut ? `All ${numbers.count(Math.min(total, LIMITS.most.cameras))} cameras are in the file.` : undefined
          }
        />
      )}
      {isCut || limit > LIMITS.first.cameras ? (
        <p class="note">
          {numbers.count(cameras.length)} of {numbers.count(total)} cameras.{' '}
          {isCut && limit < LIMITS.most.cameras ? (
            <button type="button" class="button small" onClick={() => actions.want({ cameras: LIMITS.most.cameras })}>
              Show {total > LIMITS.most.cameras ? numbers.count(LIMITS.most.cameras) : 'all'}
            </button>
          ) : null}
          {limit > LIMITS.first.cameras ? (
            <button type="button" class="button small" onClick={() => actions.want({ cameras: LIMITS.first.cameras })}>
              Show {LIMITS.first.cameras}
            </button>
          ) : null}
        </p>
      ) : null}
    </section>
  );
});

/** A column for each total, and for each category that occurs; the one that they are ordered by in any case. */
const columnsOf = (
  cameras: readonly CameraCounts[],
  order: string,
  alone: string | undefined,
): readonly Column<CameraCounts>[] => {
  const most = cameras[0] === undefined ? 0 : orderCount(cameras[0], order);
  const occurring = orderedCategories(cameras).filter((category) =>
    cameras.some((camera) => countOf(camera.counts_per_category, category) > 0),
  );
  return [
    {
      name: 'Camera',
      value: ({ camera_id: id }) => id,
      cell: (camera) => (
        <>
          <CameraLink id={camera.camera_id} current={camera.camera_id === alone} />
          <Share of={orderCount(camera, order)} most={most} />
        </>
      ),
    },
    ...[...new Set([...TOTALS.keys(), ...occurring, order])].map((each): Column<CameraCounts> => ({
      name: TOTALS.get(each) ?? `Detections of ${each}`,
      head: <OrderLink by={each} />,
      sort: each === order ? 'descending' : undefined,
      isNumber: true,
      value: (camera) => orderCount(camera, each),
      cell: (camera) => numbers.count(orderCount(camera, each)),
    })),
  ];
};

const OrderLink = ({ by }: { readonly by: string }) => {
  const { view } = useShown();
  return (
    <ViewLink to={{ ...view, orderBy: by }} class="sort">
      <Name>{TOTALS.get(by) ?? by}</Name>
    </ViewLink>
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
