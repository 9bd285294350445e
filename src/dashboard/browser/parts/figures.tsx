import { useMemo } from 'preact/hooks';

import type { SilentCamera } from '../model/alarms.ts';
import type { Activity } from '../model/answers.ts';
import { nearestIds } from '../model/camera-ids.ts';
import { CATEGORY_MAPS, countOf, MAP_NAMES, orderedCategories, paintOf, type Palette } from '../model/categories.ts';
import { KNOWN_DAYS } from '../model/questions.ts';
import { SILENT_MINUTES } from '../model/spans.ts';
import { lengthText } from '../model/times.ts';
import { type Column, DataTable } from './data-table.tsx';
import { drawnOnChange } from './drawn-on-change.tsx';
import { useShown } from './shown.ts';
import { CameraLink, CameraLinks } from './view-link.tsx';
import { Name, numbers, PartNote, type PartProps, Swatch, Time } from './words.tsx';

interface FiguresProps extends PartProps<Activity> {
  /** How many cameras are silent; undefined: not known yet. */
  readonly silent: number | undefined;
  readonly silentNote: string | undefined;
  /** Every camera that the page knows of; empty where it knows none yet. */
  readonly knownIds: readonly string[];
}

/** The ten facts of what is shown, and how many cameras are silent now. */
export const Figures = ({ answer, busy, note, silent, silentNote, knownIds }: FiguresProps) => (
  <section class="figures" aria-label="Figures" aria-busy={busy}>
    <dl class="tiles">
      <Tile name="Camera frames" fact="total_events" count={answer?.total_events} />
      <Tile name="Active cameras" fact="active_cameras" count={answer?.active_cameras} />
      <Tile
        name="Silent now"
        fact="silent_cameras"
        count={silent}
        note={silentNote ?? `of the last ${KNOWN_DAYS} days, nothing for ${SILENT_MINUTES} min`}
        isBad={silentNote !== undefined || (silent !== undefined && silent > 0)}
      />
      <Tile
        name="Reviewed frames"
        fact="reviewed_total_events"
        count={answer?.reviewed_total_events}
        note={answer && shareText(answer.reviewed_total_events, answer.total_events)}
      />
      <Tile name="Annotated frames" fact="annotated_total_events" count={answer?.annotated_total_events} />
    </dl>
    <PartNote note={note} />
    {answer?.total_events === 0 ? <UnknownCamera knownIds={knownIds} /> : null}
  </section>
);

const shareText = (part: number, whole: number): string | undefined =>
  part === 0 || whole === 0 ? undefined : `${numbers.share(part, whole)} of frames`;

interface TileProps {
  readonly name: string;
  /** The field of the answer that it shows. */
  readonly fact: string;
  readonly count: number | undefined;
  readonly note?: string | undefined;
  readonly isBad?: boolean;
}

const Tile = ({ name, fact, count, note, isBad }: TileProps) => (
  <div class={isBad ? 'tile card bad' : 'tile card'}>
    <dt>{name}</dt>
    <dd>
      <span class="count" data-fact={fact}>
        {count === undefined ? '–' : numbers.count(count)}
      </span>
      {note === undefined ? null : <span class="share"> {note}</span>}
    </dd>
  </div>
);

/** Says so where nothing is known of the camera that is shown alone, and offers those that may have been meant. */
const UnknownCamera = ({ knownIds }: Pick<FiguresProps, 'knownIds'>) => {
  const { cameraId } = useShown().view;
  const nearest = useMemo(() => nearestIds(cameraId ?? '', knownIds), [cameraId, knownIds]);
  if (cameraId === undefined || knownIds.length === 0 || knownIds.includes(cameraId)) return null;
  return (
    <div class="banner" role="status">
      <p>
        No camera named <bdi>{cameraId}</bdi> sent anything in this time or in the last {KNOWN_DAYS} days.
        {nearest.length === 0 ? null : ' Did you mean'}
      </p>
      {nearest.length === 0 ? null : <CameraLinks ids={nearest} />}
    </div>
  );
};

type CategoryRow = readonly [category: string, answer: Activity];

const columnsOf = (palette: Palette): readonly Column<CategoryRow>[] => [
  {
    name: 'Category',
    value: ([category]) => category,
    cell: ([category]) => (
      <>
        <Swatch paint={paintOf(palette, category)} />
        <Name>{category}</Name>
      </>
    ),
  },
  ...CATEGORY_MAPS.map((map): Column<CategoryRow> => ({
    name: MAP_NAMES[map],
    isNumber: true,
    value: ([category, answer]) => countOf(answer[map], category),
    cell: ([category, answer]) => numbers.count(countOf(answer[map], category)),
  })),
];

interface CategoriesProps extends PartProps<Activity> {
  readonly palette: Palette;
  /** Whether somebody looks at the ids of the active cameras. */
  readonly wantsIds: boolean;
}

/** The counts of every category, and which cameras were active. */
export const Categories = drawnOnChange(({ answer, busy, note, palette, wantsIds }: CategoriesProps) => (
  <section class="card" aria-labelledby="categories-title" aria-busy={busy}>
    <h2 id="categories-title">
      By category <PartNote note={note} />
    </h2>
    <DataTable
      title="By category"
      class="categories"
      columns={columnsOf(palette)}
      rows={answer === undefined ? [] : orderedCategories([answer]).map((category) => [category, answer] as const)}
      rowKey={([category]) => category}
    />
    <p class="note">
      Detections and annotations are marks: a frame may have several. “{MAP_NAMES.reviewed_counts_per_category}” are the
      reviewed frames in which a reviewer marked the category.
    </p>
    {answer === undefined ? null : (
      <>
        <p class="note period">
          From <Time at={answer.ts_utc_start} /> to <Time at={answer.ts_utc_end} />, both included.
        </p>
        <ActiveIds answer={answer} wantsIds={wantsIds} />
      </>
    )}
  </section>
));

/** The ids of the active cameras: over a thousand perhaps, so they are asked for only where somebody looks at them. */
const ActiveIds = ({
  answer: { active_cameras: count, active_camera_ids: ids },
  wantsIds,
}: {
  readonly answer: Activity;
  readonly wantsIds: boolean;
}) => {
  const { actions } = useShown();
  if (count === 0) return <p class="note">No camera sent a frame in this time.</p>;
  return (
    <details
      class="ids"
      open={wantsIds}
      onToggle={({ currentTarget: { open } }) => {
        if (open !== wantsIds) actions.want({ ids: open });
      }}
    >
      <summary>{count === 1 ? 'The active camera' : `The ${numbers.count(count)} active cameras`}</summary>
      {!wantsIds ? null : ids === undefined ? <p class="note">Asking the service…</p> : <CameraLinks ids={ids} />}
    </details>
  );
};

const LAST_DAY = { kind: 'last', hours: 24 } as const;

interface SilentCamerasProps {
  readonly silent: readonly SilentCamera[] | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly note: string | undefined;
}

/** Which cameras are silent now, since when, and how long that is: who fell silent last comes first. */
export const SilentCameras = drawnOnChange(({ silent, now, note }: SilentCamerasProps) => (
  <section class="card" aria-labelledby="silent-title">
    <h2 id="silent-title">
      Silent cameras <PartNote note={note} />
    </h2>
    {silent === undefined ? null : silent.length === 0 ? (
      <p class="empty">
        Every camera of the last {KNOWN_DAYS} days sent a frame in the last {SILENT_MINUTES} minutes.
      </p>
    ) : (
      <DataTable
        title="Silent cameras"
        columns={[
          { name: 'Camera', value: ({ id }) => id, cell: ({ id }) => <CameraLink id={id} span={LAST_DAY} /> },
          {
            name: 'Last frame',
            value: ({ lastAt }) => lastAt ?? '',
            cell: ({ lastAt }) => (lastAt === undefined ? '–' : <Time at={lastAt} as="moment" />),
          },
          {
            name: 'Age in minutes',
            head: 'Age',
            isNumber: true,
            value: ({ lastAt }) => (lastAt === undefined ? '' : Math.floor((now - Date.parse(lastAt)) / 60_000)),
            cell: ({ lastAt }) => (lastAt === undefined ? '–' : lengthText(now - Date.parse(lastAt))),
          },
        ]}
        rows={silent}
        rowKey={({ id }) => id}
      />
    )}
  </section>
));
