import type { ComponentChildren } from 'preact';

import { KNOWN_DAYS, STATE_WORDS } from '../model/camera-states.ts';
import { changeText, previousPeriod } from '../model/previous-period.ts';
import { spanOfDay } from '../model/spans.ts';
import { type TrendFact, trendOf } from '../model/trends.ts';
import { numbers } from '../parts/numbers.ts';
import { useNote, usePart, useShown } from '../parts/shown.ts';
import { ViewLink } from '../parts/view-link.tsx';
import { Distance, JumpLink, PartNote, Time, Tip } from '../parts/words.tsx';

/** The figures of the period, each with its change and a trend. */
export const Tiles = () => {
  const { view, state } = useShown();
  const { answer, busy } = usePart('activity');
  const reviewed = answer && answer.reviewed_total_events > 0;
  return (
    <section class="figures" aria-label="Figures" aria-busy={busy}>
      <dl class="tiles">
        <CountTile name="Camera frames" fact="total_events" />
        <CountTile name="Active cameras" fact="active_cameras" />
        {view.cameraId === undefined ? <NotSendingTile /> : <CameraTile id={view.cameraId} />}
        <CountTile name="Reviewed frames" fact="reviewed_total_events">
          {reviewed ? `${numbers.share(answer.reviewed_total_events, answer.total_events)} of frames` : undefined}
        </CountTile>
        <CountTile name="Annotated frames" fact="annotated_total_events" />
      </dl>
      {answer?.total_events === 0 && state.parts.known?.answer !== undefined ? <Nothing /> : null}
    </section>
  );
};

interface TileProps {
  readonly name: string;
  readonly fact: string;
  /** Undefined before the first answer. */
  readonly of: number | string | undefined;
  /** Stands in place of `children` while the figure is not current. */
  readonly note?: string | undefined;
  readonly tip?: string;
  readonly isBad?: boolean;
  /** Points from 0 to 1. */
  readonly trend?: readonly number[];
  readonly children?: ComponentChildren;
}

export const Tile = ({ name, fact, of, note, tip, isBad = false, trend = [], children }: TileProps) => (
  <div class={isBad ? 'tile card bad' : 'tile card'}>
    <dt class="row">
      {name} {tip && <Tip about={name}>{tip}</Tip>}
    </dt>
    <dd class="row">
      <span class="count" data-fact={fact}>
        {typeof of === 'number' ? numbers.count(of) : (of ?? '–')}
      </span>
      {note === undefined ? <span class="note">{children}</span> : <PartNote note={note} />}
      {trend.length === 0 ? null : (
        <svg class="trend" viewBox={`0 0 ${trend.length - 1} 1`} preserveAspectRatio="none" aria-hidden="true">
          <polyline points={trend.map((value, at) => `${at} ${1 - value}`).join(' ')} />
        </svg>
      )}
    </dd>
  </div>
);

interface CountTileProps {
  readonly name: string;
  readonly fact: TrendFact;
  readonly children?: ComponentChildren;
}

/** A figure, and its change against the period before. */
const CountTile = ({ name, fact, children }: CountTileProps) => {
  const { view, times, now } = useShown();
  const { answer, note } = usePart('activity');
  const previous = usePart('previous').answer;
  const series = usePart('series').answer;
  const change = answer && previous && changeText(answer[fact], previous[fact]);
  const { words } = previousPeriod(view.span, now, times);
  return (
    <Tile {...{ name, fact, note }} of={answer?.[fact]} trend={series === undefined ? [] : trendOf(series, fact, now)}>
      {change === undefined ? null : (
        <b title={`Against ${words}: ${numbers.count(previous?.[fact] ?? 0)}`}>
          {change}
          <span class="unseen"> against {words}</span>{' '}
        </b>
      )}
      {children}
    </Tile>
  );
};

const NotSendingTile = () => {
  const { cameras, actions } = useShown();
  const note = useNote('recent', 'known');
  const count = cameras?.notSending.length;
  const gone = cameras?.notSending.filter(({ state }) => state === 'gone').length ?? 0;
  return (
    <Tile
      name="Not sending now"
      fact="not_sending"
      of={count}
      note={note}
      isBad={cameras?.areManySilent === true}
      tip={`Of the cameras of the last ${KNOWN_DAYS} days: no frame for 15 minutes. Gone: no frame for 7 days.`}
    >
      {gone === 0 ? null : `${numbers.count(gone)} gone for 7 days `}
      {count === undefined || count === 0 ? null : (
        <JumpLink to="cameras" onFollow={() => actions.want({ notSending: true })}>
          Show
        </JumpLink>
      )}
    </Tile>
  );
};

const CameraTile = ({ id }: { readonly id: string }) => {
  const { cameras } = useShown();
  const note = useNote('recent', 'known');
  const found = cameras?.byId.get(id);
  const isSilent = found !== undefined && found.state !== 'sending';
  const words = found === undefined ? 'Unknown' : STATE_WORDS[found.state];
  return (
    <Tile name="This camera now" fact="camera_now" of={cameras && words} note={note} isBad={isSilent}>
      {isSilent && (
        <span title={found.lastEventAt}>
          for <Distance at={found.lastEventAt} as="length" />
        </span>
      )}
      {cameras !== undefined && found === undefined ? `no frame in ${KNOWN_DAYS} days` : null}
    </Tile>
  );
};

/** Says that the period has no frames, with a link to the day of the newest frame. */
const Nothing = () => {
  const { view, times, now, state } = useShown();
  const { cameraId } = view;
  const known = (state.parts.known?.answer?.cameras ?? []).filter(({ camera_id: id }) => (cameraId ?? id) === id);
  const newest = known.map(({ last_event_at: at }) => at).reduce((left, right) => (left > right ? left : right), '');
  return (
    <p class="banner row" role="status">
      <span>
        {cameraId === undefined ? 'No camera sent a frame' : [<bdi key="id">{cameraId}</bdi>, ' sent nothing']} in this
        time.{' '}
        {newest === '' ? (
          `Nothing came in the last ${KNOWN_DAYS} days.`
        ) : (
          <>
            The newest frame came at <Time at={newest} />.
          </>
        )}
      </span>{' '}
      {newest === '' ? null : (
        <ViewLink to={{ ...view, span: spanOfDay(times.dayOf(Date.parse(newest)), now, times) }} class="button small">
          Show that day
        </ViewLink>
      )}
    </p>
  );
};
