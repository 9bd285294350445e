import { textFilter } from '../../../text-filter.ts';
import type { CameraCounts } from '../model/answers.ts';
import { type CameraState, KNOWN_DAYS, STATE_WORDS } from '../model/camera-states.ts';
import { countOf, falseAlarms, orderedCategories, totalOf } from '../model/categories.ts';
import { FIRST_CAMERAS, MORE_CAMERAS, orderOf } from '../model/page-state.ts';
import { BY_FALSE_ALARMS, camerasQuestion, MOST_CAMERAS } from '../model/questions.ts';
import { periodOf, utcDaysOf } from '../model/spans.ts';
import { Button } from '../parts/button.tsx';
import { type Column, DataTable, numberColumn } from '../parts/data-table.tsx';
import { numbers } from '../parts/numbers.ts';
import { useNote, usePart, useShown } from '../parts/shown.ts';
import { CameraLink, ViewLink } from '../parts/view-link.tsx';
import { Card, Distance, Mark, Name, Time } from '../parts/words.tsx';

/** All cameras with their state: the cameras of some UTC days with their counts, or the cameras that do not send. */
export const Cameras = () => {
  const { state, view, times, now, cameras, actions } = useShown();
  const { busy, note } = usePart('cameras');
  const { notSending } = state.wants;
  const statesNote = useNote('recent', 'known');
  const days = utcDaysOf(periodOf(view.span, now, times), now);
  const silent = cameras?.notSending.length ?? 0;
  return (
    <Card
      id="cameras"
      title="Cameras"
      of={notSending ? 'now' : days.text}
      tip={`Silent: no frame for 15 minutes. Gone: no frame for 7 days, of the last ${KNOWN_DAYS} days. Detections by category. Flags, right, missed and false alarms: of the AI in reviewed frames. Counted by whole UTC days. Sort by false alarms to find cameras that cry wolf.`}
      note={notSending ? statesNote : (note ?? statesNote)}
      busy={notSending ? cameras === undefined && busy : busy}
    >
      <div class="row">
        <div class="joined" role="group" aria-label="Which cameras">
          {[false, true].map((each) => (
            <Button
              key={String(each)}
              look="small"
              aria-pressed={notSending === each}
              onClick={() => actions.want({ notSending: each })}
            >
              {each ? `Not sending: ${numbers.count(silent)}` : 'All'}
            </Button>
          ))}
        </div>
        <label class="row">
          Filter{' '}
          <input
            type="search"
            spellcheck={false}
            maxLength={128}
            onInput={({ currentTarget: { value } }) => actions.want({ search: value.trim() })}
          />
        </label>
      </div>
      {notSending ? <NotSending of={cameras?.notSending ?? []} /> : <Counted />}
    </Card>
  );
};

const StateCell = ({ of }: { readonly of: CameraState | undefined }) => {
  if (of === undefined) return <span class="note">–</span>;
  const text = STATE_WORDS[of.state];
  if (of.state === 'sending') return <Mark of={{ text, tone: 'neutral' }} />;
  return (
    <span title={of.lastEventAt}>
      <Mark of={{ text, tone: 'bad' }} /> since <Time at={of.lastEventAt} />
    </span>
  );
};

const LAST_DAY = { kind: 'last', length: '24h' } as const;

const NotSending = ({ of }: { readonly of: readonly CameraState[] }) => {
  const { search } = useShown().state.wants;
  const found = of.filter(({ id }) => textFilter(search)(id));
  if (found.length === 0) {
    return <p class="empty">{search === '' ? 'No silent or gone camera is known.' : 'No such camera is silent.'}</p>;
  }
  return (
    <DataTable
      title="Cameras that do not send"
      columns={[
        { name: 'Camera', cell: ({ id }) => <CameraLink id={id} span={LAST_DAY} /> },
        { name: 'State', cell: (each) => <StateCell of={each} /> },
        { name: 'For', isNumber: true, cell: ({ lastEventAt: at }) => <Distance at={at} as="length" /> },
      ]}
      rows={found}
      rowKey={({ id }) => id}
    />
  );
};

const Counted = () => {
  const { state, view, times, now, cameras: states, actions } = useShown();
  const { answer } = usePart('cameras');
  const { cameras: limit, search } = state.wants;
  const order = orderOf(state);
  const days = utcDaysOf(periodOf(view.span, now, times), now);
  const total = answer?.total_cameras ?? 0;
  const listed = answer?.cameras ?? [];
  const sorted =
    order === BY_FALSE_ALARMS ? listed.toSorted((left, right) => falseAlarms(right) - falseAlarms(left)) : listed;
  const cameras = sorted.slice(0, limit);
  const other = limit === FIRST_CAMERAS ? MORE_CAMERAS : FIRST_CAMERAS;
  if (cameras.length === 0) {
    return <p class="empty">{search === '' ? 'No camera sent a frame on this day.' : 'No camera of this name.'}</p>;
  }
  return (
    <>
      <DataTable
        title={`Cameras, ${days.text}`}
        class="cameras"
        columns={[
          { name: 'Camera', cell: ({ camera_id: id }) => <CameraLink id={id} current={id === view.cameraId} /> },
          { name: 'State now', cell: ({ camera_id: id }) => <StateCell of={states?.byId.get(id)} /> },
          ...countColumns(cameras, order),
        ]}
        rows={cameras}
        total={total}
        rowKey={({ camera_id: id }) => id}
        file={camerasQuestion(days, order, search, MOST_CAMERAS)}
      />
      {total > FIRST_CAMERAS ? (
        <Button look="small" onClick={() => actions.want({ cameras: other })}>
          {other > limit ? `Show ${numbers.count(Math.min(other, total))} of ${numbers.count(total)}` : 'Show fewer'}
        </Button>
      ) : null}
    </>
  );
};

type Count = (camera: CameraCounts) => number;

const TOTALS: readonly (readonly [order: string, name: string, count: Count])[] = [
  ['total_events', 'Frames', ({ total_events: count }) => count],
  ['reviewed_total_events', 'Reviewed', ({ reviewed_total_events: count }) => count],
  ['annotated_total_events', 'Annotated', ({ annotated_total_events: count }) => count],
];

const FALSE_ALARMS = [BY_FALSE_ALARMS, 'False alarms', falseAlarms] as const;

/** The column of the order first, then totals, the categories that occur, and the accuracy of the AI. */
const countColumns = (cameras: readonly CameraCounts[], order: string): readonly Column<CameraCounts>[] => {
  const occurring = orderedCategories(cameras).filter((category) =>
    cameras.some((camera) => countOf(camera.counts_per_category, category) > 0),
  );
  const sortable = (by: string, head: string, count: Count, name = head): Column<CameraCounts> =>
    numberColumn(name, count, {
      head: <OrderLink by={by}>{head}</OrderLink>,
      sort: by === order ? 'descending' : undefined,
    });
  const isOther = [...TOTALS, FALSE_ALARMS].some(([by]) => by === order);
  const columns = [
    ...TOTALS.map((each) => sortable(...each)),
    ...Array.from(new Set([...occurring, ...(isOther ? [] : [order])]), (by) =>
      sortable(by, by, (camera) => countOf(camera.counts_per_category, by), `Detections of ${by}`),
    ),
    numberColumn('Flags', ({ flagged }: CameraCounts) => totalOf(flagged)),
    numberColumn('Right', ({ confirmed }: CameraCounts) => totalOf(confirmed)),
    numberColumn('Missed', ({ missed }: CameraCounts) => totalOf(missed)),
    sortable(...FALSE_ALARMS),
  ];
  // On a phone, the first columns are in sight.
  return columns.toSorted((left, right) => Number(right.sort !== undefined) - Number(left.sort !== undefined));
};

const OrderLink = ({ by, children }: { readonly by: string; readonly children: string }) => {
  const { view } = useShown();
  return (
    <ViewLink to={{ ...view, orderBy: by }} class="sort">
      <Name>{children}</Name>
    </ViewLink>
  );
};
