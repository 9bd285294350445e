import type { ComponentChildren } from 'preact';

import type { Activity, KnownCamera } from '../model/answers.ts';
import { KNOWN_DAYS } from '../model/questions.ts';
import type { Silence } from '../model/silence.ts';
import { SILENT_MINUTES, spanOfDay } from '../model/spans.ts';
import { lengthText } from '../model/times.ts';
import { useSeconds, useShown } from './shown.ts';
import { ViewLink } from './view-link.tsx';
import { JumpLink, numbers, PartNote, type PartProps, Time } from './words.tsx';

interface FiguresProps extends PartProps<Activity> {
  readonly silence: Silence | undefined;
  readonly silenceNote: string | undefined;
  /** The cameras of the last days; undefined until they are known. */
  readonly known: readonly KnownCamera[] | undefined;
}

/** The figures of what is shown, and how many cameras are silent now. */
export const Figures = ({ answer, busy, note, silence, silenceNote, known }: FiguresProps) => {
  const { view } = useShown();
  return (
    <section class="figures" aria-label="Figures" aria-busy={busy}>
      <dl class="tiles">
        <Tile name="Camera frames" fact="total_events" of={answer?.total_events} />
        <Tile name="Active cameras" fact="active_cameras" of={answer?.active_cameras} />
        {view.cameraId === undefined ? (
          <SilentTile silence={silence} note={silenceNote} />
        ) : (
          <CameraTile id={view.cameraId} silence={silence} note={silenceNote} known={known} />
        )}
        <Tile name="Reviewed frames" fact="reviewed_total_events" of={answer?.reviewed_total_events}>
          {answer && shareText(answer.reviewed_total_events, answer.total_events)}
        </Tile>
        <Tile name="Annotated frames" fact="annotated_total_events" of={answer?.annotated_total_events} />
      </dl>
      <PartNote note={note} busy={busy} />
      {answer?.total_events === 0 && known !== undefined ? <Nothing known={known} /> : null}
    </section>
  );
};

const shareText = (part: number, whole: number): string | undefined =>
  part === 0 || whole === 0 ? undefined : `${numbers.share(part, whole)} of frames`;

interface TileProps {
  readonly name: string;
  /** The field of the answer that it shows. */
  readonly fact: string;
  /** Undefined: not known yet. */
  readonly of: number | string | undefined;
  readonly isBad?: boolean;
  /** A note beside it. */
  readonly children?: ComponentChildren;
}

const Tile = ({ name, fact, of, isBad = false, children }: TileProps) => (
  <div class={isBad ? 'tile card bad' : 'tile card'}>
    <dt>{name}</dt>
    <dd>
      <span class="count" data-fact={fact}>
        {of === undefined ? '–' : typeof of === 'number' ? numbers.count(of) : of}
      </span>
      {children === undefined ? null : <span class="share"> {children}</span>}
    </dd>
  </div>
);

interface SilentTileProps {
  readonly silence: Silence | undefined;
  readonly note: string | undefined;
}

const SilentTile = ({ silence, note }: SilentTileProps) => {
  const count = silence?.cameras.length;
  return (
    <Tile name="Silent now" fact="silent_cameras" of={count} isBad={note !== undefined || (count ?? 0) > 0}>
      {note ?? `of the last ${KNOWN_DAYS} days, nothing for ${SILENT_MINUTES} min`}{' '}
      {count === undefined || count === 0 ? null : <JumpLink to="silent">Which ones?</JumpLink>}
    </Tile>
  );
};

/** Whether the camera that is shown alone is silent, and since when. */
const CameraTile = ({ id, silence, note, known }: SilentTileProps & { id: string } & Pick<FiguresProps, 'known'>) => {
  const now = useSeconds();
  const isKnown = known?.some(({ camera_id: each }) => each === id) === true;
  const silent = silence?.cameras.find((each) => each.id === id);
  const words = silence === undefined ? undefined : silent !== undefined ? 'Silent' : isKnown ? 'Sends' : 'Unknown';
  return (
    <Tile name="This camera now" fact="camera_now" of={words} isBad={note !== undefined || silent !== undefined}>
      {note}
      {silent?.lastAt === undefined ? null : (
        <>
          since <Time at={silent.lastAt} /> ({lengthText(now - Date.parse(silent.lastAt))})
        </>
      )}
      {words === 'Unknown' ? `sent nothing in the last ${KNOWN_DAYS} days` : null}
    </Tile>
  );
};

/** Says that nothing happened in the time that is shown, and leads to the day of the newest frame. */
const Nothing = ({ known }: { readonly known: readonly KnownCamera[] }) => {
  const { view, times, clock } = useShown();
  const shown = known.filter(({ camera_id: id }) => view.cameraId === undefined || id === view.cameraId);
  const newest = shown
    .flatMap(({ last_event_at: at }) => at ?? [])
    .sort()
    .at(-1);
  const who = view.cameraId === undefined ? 'No camera' : <bdi>{view.cameraId}</bdi>;
  return (
    <p class="banner" role="status">
      {who} sent {view.cameraId === undefined ? 'a frame' : 'nothing'} in this time.{' '}
      {newest === undefined ? (
        `Nothing came in the last ${KNOWN_DAYS} days.`
      ) : (
        <>
          The newest frame came at <Time at={newest} />.{' '}
          <ViewLink
            to={{ ...view, span: spanOfDay(times.dayOf(Date.parse(newest)), clock.now(), times) }}
            class="button small"
          >
            Show that day
          </ViewLink>
        </>
      )}
    </p>
  );
};
