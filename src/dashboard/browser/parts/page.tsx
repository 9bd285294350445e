import { useMemo } from 'preact/hooks';

import type { Alarm } from '../alarm.ts';
import type { ServiceClock } from '../asking/service-clock.ts';
import type { Alarms, SilentCamera } from '../model/alarms.ts';
import { paletteOf } from '../model/categories.ts';
import { type Answers, isBusy, orderOf, type PageState, type Panels, type PartName } from '../model/page-state.ts';
import { daysText, periodOf, spanTitle, utcDaysOf, zoneOf } from '../model/spans.ts';
import { partNote, standingOf } from '../model/standing.ts';
import { AttentionStrip } from './attention.tsx';
import { Cameras } from './cameras.tsx';
import { Categories, Figures, SilentCameras } from './figures.tsx';
import { KeyForm } from './key-form.tsx';
import { Notifications } from './notifications.tsx';
import { Plots } from './plots.tsx';
import { AlarmSwitch, FailureBanner, RefreshStatus } from './refresh-status.tsx';
import { type Actions, ShownContext, useShown } from './shown.ts';
import { ViewBar } from './view-bar.tsx';
import type { PartProps } from './words.tsx';

interface PageProps {
  readonly state: PageState;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Undefined: not known yet. */
  readonly silent: readonly SilentCamera[] | undefined;
  readonly alarms: Alarms;
  readonly alarm: Alarm;
  readonly clock: ServiceClock;
  readonly actions: Actions;
}

/** A clock that is so wrong is told. */
const WRONG_CLOCK = 60_000;

/** The whole page, from its state. */
export const Page = ({ state, now, silent, alarms, alarm, clock, actions }: PageProps) => {
  const { view, panels, locked, times } = state;
  const days = daysText(periodOf(view.span, now, times), times);
  const shown = useMemo(() => ({ view, times, days, actions, clock }), [view, times, days, actions, clock]);
  const ids = useKnownIds(panels);
  const standing = standingOf(state, now);
  // Where a key that worked is not taken any more, what it showed stays.
  const isEmpty = locked !== undefined && standing.at === undefined;
  return (
    <ShownContext.Provider value={shown}>
      {isEmpty ? null : <SkipLink />}
      <header class="top">
        <h1>
          <span class="mark" aria-hidden="true" /> Camera activity
        </h1>
        <RefreshStatus state={state} />
        <AlarmSwitch isOn={alarm.isOn} isHeard={alarm.isHeard} />
        {state.keyHeld ? (
          <button type="button" class="button quiet" onClick={actions.forgetKey}>
            Forget the key
          </button>
        ) : null}
      </header>
      <main>
        <AttentionStrip alarms={alarms} cameraIds={ids} trouble={state.actionTrouble} />
        <FailureBanner standing={standing} hasFigures={panels.activity.answer !== undefined} />
        {locked === undefined ? null : <KeyForm refused={locked.refused} shownAt={standing.at} />}
        {state.addressProblems.length === 0 ? null : (
          <div class="banner" role="alert">
            {state.addressProblems.map((problem) => (
              <p key={problem}>{problem}</p>
            ))}
          </div>
        )}
        {isEmpty ? null : <Content state={state} now={now} silent={silent} ids={ids} />}
      </main>
      <footer>
        Times are {times.isUtc ? 'UTC' : `${times.readerZone} (${zoneOf(view.span, now, times)})`}
        {times.readerZone === 'UTC'
          ? '.'
          : '; the other clock is in their titles. Days of cameras, and steps of a day, are UTC days.'}
        {Math.abs(clock.offset) < WRONG_CLOCK
          ? null
          : ` The clock of this computer is ${Math.round(Math.abs(clock.offset) / 60_000)} min ${clock.offset < 0 ? 'fast' : 'slow'}: the page goes by the service’s.`}
      </footer>
    </ShownContext.Provider>
  );
};

interface ContentProps extends Pick<PageProps, 'state' | 'now' | 'silent'> {
  /** Every camera that the page knows of; empty where it knows none yet. */
  readonly ids: readonly string[];
}

const Content = ({ state, now, silent, ids }: ContentProps) => {
  const { view, times } = useShown();
  const { panels, wants } = state;
  const partOf = <Name extends PartName>(name: Name): PartProps<Answers[Name]> => ({
    answer: panels[name].answer,
    busy: isBusy(state, name),
    note: partNote(state, name, now),
  });
  const activity = partOf('activity');
  const palette = useMemo(() => paletteOf(activity.answer), [activity.answer]);
  const silentNote = partNote(state, 'recent', now) ?? partNote(state, 'known', now);
  const days = utcDaysOf(periodOf(view.span, now, times), now);
  const minute = now - (now % 60_000);
  return (
    <>
      <ViewBar now={now} cameraIds={ids} />
      <h2 id="shown" class="shown" tabIndex={-1}>
        {spanTitle(view.span, now, times)} <span class="of">{zoneOf(view.span, now, times)}</span>
        {view.cameraId === undefined ? null : (
          <>
            {' · '}
            <bdi>{view.cameraId}</bdi>
          </>
        )}
      </h2>
      <div class="columns">
        <Figures {...activity} silent={silent?.length} silentNote={silentNote} knownIds={ids} />
        <div class="aside">
          <Notifications
            state={state}
            note={partNote(state, 'notifications', now)}
            storyNote={partNote(state, 'story', now)}
          />
          <SilentCameras silent={silent} now={minute} note={silentNote} />
        </div>
        <div class="body">
          <Categories {...activity} wantsIds={wants.ids} palette={palette} />
          <Plots {...partOf('series')} palette={palette} now={minute} />
          <Cameras
            {...partOf('cameras')}
            order={orderOf(state)}
            limit={wants.cameras}
            search={wants.search}
            days={days.days}
            last={days.last}
            daysText={days.text}
            isExact={days.isExact}
          />
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

/** Cameras to choose from: those of the last days, those of what is shown, and those of the list. */
const useKnownIds = ({ known, activity, cameras }: Panels): readonly string[] => {
  const lists = [known.answer, activity.answer, cameras.answer];
  return useMemo(
    () => [
      ...new Set([
        ...(known.answer?.cameras.map(({ camera_id: id }) => id) ?? []),
        ...(activity.answer?.active_camera_ids ?? []),
        ...(cameras.answer?.cameras.map(({ camera_id: id }) => id) ?? []),
      ]),
    ],
    lists,
  );
};
