import { useMemo } from 'preact/hooks';

import { attentionOf } from '../model/alerts.ts';
import { silentCameras } from '../model/camera-ids.ts';
import { type PageState, type Panels, refusalsOf } from '../model/page-state.ts';
import { troubleText } from '../model/refresh.ts';
import { periodOf, spanTitle, utcDaysOf } from '../model/spans.ts';
import { Cameras } from './cameras.tsx';
import { Categories, Figures, SilentCameras } from './figures.tsx';
import { KeyForm } from './key-form.tsx';
import { AttentionStrip, Notifications } from './notifications.tsx';
import { Plots } from './plots.tsx';
import { FailureBanner, RefreshStatus } from './refresh-status.tsx';
import { type Actions, ShownContext, useShown } from './shown.ts';
import { ViewBar } from './view-bar.tsx';

interface PageProps {
  readonly state: PageState;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly actions: Actions;
}

/** The whole page, from its state. */
export const Page = ({ state, now, actions }: PageProps) => {
  const { view, panels, refresh, times } = state;
  const shown = useMemo(() => ({ view, times, actions }), [view, times, actions]);
  // Where a key that worked is not taken any more, what it showed stays.
  const isEmpty = refresh.phase === 'locked' && panels.activity.answer === undefined;
  const problems = [...state.addressProblems, ...refusalsOf(panels).map(troubleText)];
  return (
    <ShownContext.Provider value={shown}>
      {isEmpty ? null : <SkipLink />}
      <header class="top">
        <h1>
          <span class="mark" aria-hidden="true" /> Camera activity
        </h1>
        <RefreshStatus refresh={refresh} />
        {state.keyHeld ? (
          <button type="button" class="button quiet" onClick={actions.forgetKey}>
            Forget the key
          </button>
        ) : null}
      </header>
      <main>
        <AttentionStrip of={attentionOf(panels.notifications.answer, now)} />
        <FailureBanner
          refresh={refresh}
          shownAt={panels.activity.answer === undefined ? undefined : panels.activity.at}
        />
        {refresh.phase === 'locked' ? <KeyForm refused={refresh.refused} /> : null}
        {problems.length === 0 ? null : (
          <div class="banner" role="alert">
            {problems.map((problem) => (
              <p key={problem}>{problem}</p>
            ))}
          </div>
        )}
        {isEmpty ? null : <Content state={state} now={now} />}
      </main>
      <footer>
        Times are {times.isUtc ? 'UTC' : `${times.readerZone} (${times.name(now)})`}
        {times.readerZone === 'UTC'
          ? '.'
          : '; the other clock is in their titles. Days of cameras, and steps of a day, are UTC days.'}
      </footer>
    </ShownContext.Provider>
  );
};

const Content = ({ state, now }: Omit<PageProps, 'actions'>) => {
  const { view, times } = useShown();
  const { panels } = state;
  const silent = useSilentCameras(panels);
  const ids = useKnownIds(panels);
  return (
    <>
      <ViewBar now={now} cameraIds={ids} />
      <h2 id="shown" class="shown" tabIndex={-1}>
        {spanTitle(view.span, now, times)} <span class="of">{times.isUtc ? 'UTC' : times.name(now)}</span>
        {view.cameraId === undefined ? null : (
          <>
            {' · '}
            <bdi>{view.cameraId}</bdi>
          </>
        )}
      </h2>
      <div class="columns">
        <Figures panel={panels.activity} silent={silent} knownIds={ids} />
        <div class="aside">
          <Notifications state={state} />
          {silent === undefined ? null : <SilentCameras silent={silent} />}
        </div>
        <div class="body">
          <Categories state={state} />
          <Plots panel={panels.series} now={now - (now % 60_000)} />
          <Cameras state={state} days={utcDaysOf(periodOf(view.span, now, times), now)} />
        </div>
      </div>
    </>
  );
};

/** The first thing that a keyboard meets. It moves the focus only: the address is the view's. */
const SkipLink = () => (
  <a
    class="skip"
    href="#shown"
    onClick={(event) => {
      event.preventDefault();
      document.querySelector<HTMLElement>('#shown')?.focus();
    }}
  >
    Skip to the figures
  </a>
);

const useSilentCameras = ({ before, recent }: Panels): readonly string[] | undefined =>
  useMemo(() => {
    const [active, sending] = [before.answer?.active_camera_ids, recent.answer?.active_camera_ids];
    return active && sending && silentCameras(active, sending);
  }, [before.answer, recent.answer]);

/** Cameras to choose from: those of the last 24 hours, those of what is shown, and those of the list. */
const useKnownIds = ({ before, activity, cameras }: Panels): readonly string[] => {
  const lists = [before.answer, activity.answer, cameras.answer];
  return useMemo(
    () => [
      ...new Set([
        ...(before.answer?.active_camera_ids ?? []),
        ...(activity.answer?.active_camera_ids ?? []),
        ...(cameras.answer?.cameras.map(({ camera_id: id }) => id) ?? []),
      ]),
    ],
    lists,
  );
};
