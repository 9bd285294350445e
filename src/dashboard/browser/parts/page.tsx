import { useMemo } from 'preact/hooks';

import type { Activity, Cameras } from '../model/answers.ts';
import type { PageState } from '../model/page-state.ts';
import { lastDayOf } from '../model/view-steps.ts';
import type { Actions } from './actions.ts';
import { BusiestCameras } from './busiest-cameras.tsx';
import { Figures } from './figures.tsx';
import { KeyForm } from './key-form.tsx';
import { Notifications } from './notifications.tsx';
import { Plots } from './plots.tsx';
import { FailureBanner, RefreshStatus } from './refresh-status.tsx';
import { times } from './texts.ts';
import { useTheme } from './theme.ts';
import { ViewBar } from './view-bar.tsx';
import { viewTitle } from './view-title.ts';

/** What the whole page needs. */
export interface PageProps {
  readonly state: PageState;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly actions: Actions;
}

/** The whole page, from its state. */
export const Page = ({ state, now, actions }: PageProps) => {
  const { view, panels, refresh } = state;
  const theme = useTheme();
  const locked = refresh.phase === 'locked';
  // Where a key that worked is not taken any more, what it showed stays.
  const hasAnswers = panels.activity.answer !== undefined;
  const cameraIds = useMemo(
    () => knownCameraIds(panels.activity.answer, panels.cameras.answer),
    [panels.activity.answer, panels.cameras.answer],
  );
  return (
    <>
      {locked && !hasAnswers ? null : <SkipLink />}
      <header class="top">
        <h1>
          <span class="mark" aria-hidden="true" /> Camera activity
        </h1>
        <RefreshStatus refresh={refresh} actions={actions} />
        {state.keyHeld ? (
          <button type="button" class="button quiet" onClick={actions.forgetKey}>
            Forget the key
          </button>
        ) : null}
      </header>
      <main>
        <FailureBanner refresh={refresh} />
        {locked ? <KeyForm refused={refresh.refused} actions={actions} /> : null}
        {state.addressProblems.length === 0 ? null : (
          <div class="banner" role="alert">
            {state.addressProblems.map((problem) => (
              <p key={problem}>{problem}</p>
            ))}
          </div>
        )}
        {locked && !hasAnswers ? null : (
          <>
            <ViewBar view={view} now={now} cameraIds={cameraIds} actions={actions} />
            <h2 id="shown" class="shown" tabIndex={-1}>
              {viewTitle(view, now)}
              {view.cameraId === undefined ? null : (
                <>
                  {' · '}
                  <bdi class="camera">{view.cameraId}</bdi>
                </>
              )}
            </h2>
            <Figures panel={panels.activity} view={view} theme={theme} actions={actions} />
            <Plots panel={panels.series} view={view} theme={theme} actions={actions} />
            <div class="lists">
              <BusiestCameras
                panel={panels.cameras}
                view={view}
                date={panels.cameras.answer?.date ?? lastDayOf(view.span, now)}
                limit={state.cameraLimit}
                actions={actions}
              />
              <Notifications
                panel={panels.notifications}
                story={panels.story}
                open={state.openNotification}
                actions={actions}
              />
            </div>
          </>
        )}
      </main>
      <footer>Days and times are UTC{times.zone === 'UTC' ? '' : `; your time is ${times.zone}`}.</footer>
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

/** Cameras to choose from: the active ones of what is shown and the busiest ones of its day. */
const knownCameraIds = (activity: Activity | undefined, cameras: Cameras | undefined): readonly string[] => [
  ...new Set([...(activity?.active_camera_ids ?? []), ...(cameras?.cameras.map(({ camera_id: id }) => id) ?? [])]),
];
