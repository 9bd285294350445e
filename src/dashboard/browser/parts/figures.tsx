import type { ComponentChildren } from 'preact';

import { KNOWN_DAYS } from '../model/questions.ts';
import { SILENT_MINUTES, spanOfDay } from '../model/spans.ts';
import { lengthText } from '../model/times.ts';
import { DataTable } from './data-table.tsx';
import { usePart, useSeconds, useShown } from './shown.ts';
import { CameraLink, ViewLink } from './view-link.tsx';
import { Card, JumpLink, numbers, PartNote, Time } from './words.tsx';

export const Figures = () => {
  const { view, state } = useShown();
  const { answer, busy, note } = usePart('activity');
  return (
    <section class="figures" aria-label="Figures" aria-busy={busy}>
      <dl class="tiles">
        <Tile name="Camera frames" fact="total_events" of={answer?.total_events} />
        <Tile name="Active cameras" fact="active_cameras" of={answer?.active_cameras} />
        {view.cameraId === undefined ? <SilentTile /> : <CameraTile id={view.cameraId} />}
        <Tile name="Reviewed frames" fact="reviewed_total_events" of={answer?.reviewed_total_events}>
          {answer && answer.reviewed_total_events > 0
            ? `${numbers.share(answer.reviewed_total_events, answer.total_events)} of frames`
            : undefined}
        </Tile>
        <Tile name="Annotated frames" fact="annotated_total_events" of={answer?.annotated_total_events} />
      </dl>
      <PartNote note={note} busy={busy} />
      {answer?.total_events === 0 && state.parts.known?.answer !== undefined ? <Nothing /> : null}
    </section>
  );
};

interface TileProps {
  readonly name: string;
  readonly fact: string;
  /** Undefined before the first answer. */
  readonly of: number | string | undefined;
  readonly isBad?: boolean;
  readonly children?: ComponentChildren;
}

const Tile = ({ name, fact, of, isBad = false, children }: TileProps) => (
  <div class={isBad ? 'tile card bad' : 'tile card'}>
    <dt>{name}</dt>
    <dd>
      <span class="count" data-fact={fact}>
        {of === undefined ? '–' : typeof of === 'number' ? numbers.count(of) : of}
      </span>
      {children === undefined ? null : <span class="note"> {children}</span>}
    </dd>
  </div>
);

/** The note of a list of silent cameras that is not current. */
const useSilenceNote = (): string | undefined => {
  const [recent, known] = [usePart('recent'), usePart('known')];
  return recent.note ?? known.note;
};

const SilentTile = () => {
  const { silence } = useShown();
  const note = useSilenceNote();
  const count = silence?.cameras.length;
  return (
    <Tile name="Silent now" fact="silent_cameras" of={count} isBad={note !== undefined || (count ?? 0) > 0}>
      {note ?? `cameras of the last ${KNOWN_DAYS} days that sent nothing for ${SILENT_MINUTES} min`}{' '}
      {count === undefined || count === 0 ? null : <JumpLink to="silent">Show them</JumpLink>}
    </Tile>
  );
};

const CameraTile = ({ id }: { readonly id: string }) => {
  const { silence, state } = useShown();
  const now = useSeconds();
  const note = useSilenceNote();
  const isKnown = state.parts.known?.answer?.cameras.some(({ camera_id: each }) => each === id) === true;
  const silent = silence?.cameras.find(({ camera_id: each }) => each === id);
  const words = silence === undefined ? undefined : silent !== undefined ? 'Silent' : isKnown ? 'Sending' : 'Unknown';
  return (
    <Tile name="This camera now" fact="camera_now" of={words} isBad={note !== undefined || silent !== undefined}>
      {note}
      {silent === undefined ? null : (
        <>
          since <Time at={silent.last_event_at} /> ({lengthText(now - Date.parse(silent.last_event_at))})
        </>
      )}
      {words === 'Unknown' ? `sent nothing in the last ${KNOWN_DAYS} days` : null}
    </Tile>
  );
};

/** That the period has no frames, with a link to the day of the newest frame. */
const Nothing = () => {
  const { view, times, now, state } = useShown();
  const { cameraId } = view;
  const known = (state.parts.known?.answer?.cameras ?? []).filter(({ camera_id: id }) => (cameraId ?? id) === id);
  const newest = known.map(({ last_event_at: at }) => at).reduce((left, right) => (left > right ? left : right), '');
  return (
    <p class="banner" role="status">
      {cameraId === undefined ? 'No camera sent a frame' : [<bdi key="id">{cameraId}</bdi>, ' sent nothing']} in this
      time.{' '}
      {newest === '' ? (
        `Nothing came in the last ${KNOWN_DAYS} days.`
      ) : (
        <>
          The newest frame came at <Time at={newest} />.{' '}
          <ViewLink to={{ ...view, span: spanOfDay(times.dayOf(Date.parse(newest)), now, times) }} class="button small">
            Show that day
          </ViewLink>
        </>
      )}
    </p>
  );
};

const LAST_DAY = { kind: 'last', length: '24h' } as const;

export const SilentCameras = () => {
  const { silence, now } = useShown();
  const note = useSilenceNote();
  return (
    <Card id="silent" title="Silent cameras" note={note} busy={silence === undefined}>
      {silence === undefined ? null : silence.cameras.length === 0 ? (
        <p class="empty">
          Every camera of the last {KNOWN_DAYS} days sent a frame in the last {SILENT_MINUTES} minutes.
        </p>
      ) : (
        <DataTable
          title="Silent cameras"
          columns={[
            { name: 'Camera', cell: ({ camera_id: id }) => <CameraLink id={id} span={LAST_DAY} /> },
            { name: 'Last frame', cell: ({ last_event_at: at }) => <Time at={at} /> },
            { name: 'Age', isNumber: true, cell: ({ last_event_at: at }) => lengthText(now - Date.parse(at)) },
          ]}
          rows={silence.cameras}
          rowKey={({ camera_id: id }) => id}
        />
      )}
    </Card>
  );
};
