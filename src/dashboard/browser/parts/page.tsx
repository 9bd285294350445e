import { useMemo } from 'preact/hooks';

import type { ServiceClock } from '../asking/service-clock.ts';
import type { Notification } from '../model/answers.ts';
import type { Attention } from '../model/attention.ts';
import { paletteOf } from '../model/categories.ts';
import { type Answers, isBusy, orderOf, type PageState, type PartName, type Parts } from '../model/page-state.ts';
import { type PageStatus, partNote } from '../model/page-status.ts';
import type { Silence } from '../model/silence.ts';
import { daysText, periodOf, spanTitle, utcDaysOf, zoneOf } from '../model/spans.ts';
import { AttentionStrip } from './attention.tsx';
import { Cameras } from './cameras.tsx';
import { Categories } from './categories.tsx';
import { Figures } from './figures.tsx';
import { Head, SoundQuestion } from './head.tsx';
import { KeyForm } from './key-form.tsx';
import { Notifications } from './notifications.tsx';
import { Plots } from './plots.tsx';
import { type Actions, ShownContext, useShown } from './shown.ts';
import { SilentCameras } from './silent-cameras.tsx';
import { ViewBar } from './view-bar.tsx';
import { JumpLink, type PartProps } from './words.tsx';

/** Everything that the page shows. */
export interface PageProps {
  readonly state: PageState;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly status: PageStatus;
  readonly attention: Attention;
  /** Each notification as the freshest answer has it, by its id. */
  readonly freshest: ReadonlyMap<string, Notification>;
  /** Undefined until it is known. */
  readonly silence: Silence | undefined;
  readonly sound: { readonly isOn: boolean; readonly isDecided: boolean; readonly isReady: boolean };
  readonly clock: ServiceClock;
  readonly actions: Actions;
}

/** A clock of the reader's computer that is so wrong is mentioned; milliseconds. */
const WRONG_CLOCK = 60_000;

/** The whole page, from its state. */
export const Page = ({ state, now, status, attention, freshest, silence, sound, clock, actions }: PageProps) => {
  const { view, parts, locked, times, keyHeld } = state;
  const days = daysText(periodOf(view.span, now, times), times);
  const shown = useMemo(
    () => ({ view, times, days, keyHeld, actions, clock }),
    [view, times, days, keyHeld, actions, clock],
  );
  const ids = useKnownIds(parts);
  const hasShown = parts.activity?.answer !== undefined || parts.attention?.answer !== undefined;
  const isEmpty = locked !== undefined && !hasShown;
  return (
    <ShownContext.Provider value={shown}>
      {isEmpty ? null : (
        <JumpLink to="shown" class="skip">
          Skip to the figures
        </JumpLink>
      )}
      <Head status={status} redCount={attention.redCount} isSoundOn={sound.isOn} isSoundReady={sound.isReady} />
      <main>
        <AttentionStrip attention={attention} status={status} cameraIds={ids} trouble={state.actionTrouble} />
        {keyHeld && !sound.isDecided ? <SoundQuestion /> : null}
        {locked === undefined ? null : <KeyForm refused={locked.refused} hasShown={hasShown} />}
        {state.addressProblems.length === 0 ? null : (
          <div class="banner" role="alert">
            {state.addressProblems.map((problem) => (
              <p key={problem}>{problem}</p>
            ))}
          </div>
        )}
        {isEmpty ? null : <Content state={state} now={now} silence={silence} ids={ids} freshest={freshest} />}
      </main>
      <footer>
        <span class="paper">As of {times.moment(status.asOf ?? now).text}. </span>
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

interface ContentProps extends Pick<PageProps, 'state' | 'now' | 'silence' | 'freshest'> {
  /** Every camera that the page knows of; empty until it knows some. */
  readonly ids: readonly string[];
}

const Content = ({ state, now, silence, ids, freshest }: ContentProps) => {
  const { view, times } = useShown();
  const { parts, wants } = state;
  const partOf = <Name extends PartName>(name: Name): PartProps<Answers[Name]> => ({
    answer: parts[name]?.answer,
    busy: isBusy(state, name),
    note: partNote(state, name, now),
  });
  const activity = partOf('activity');
  const accuracy = partOf('accuracy');
  // The same object until something of it changes: the table is drawn again only then.
  const accuracyShown = useMemo(() => accuracy, [accuracy.answer, accuracy.busy, accuracy.note]);
  const palette = useMemo(() => paletteOf(activity.answer), [activity.answer]);
  const silenceNote = partNote(state, 'recent', now) ?? partNote(state, 'known', now);
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
        <Figures {...activity} silence={silence} silenceNote={silenceNote} known={parts.known?.answer?.cameras} />
        <div class="aside">
          <SilentCameras silence={silence} now={minute} note={silenceNote} />
          <Notifications state={state} freshest={freshest} now={now} />
        </div>
        <div class="body">
          <Categories
            {...activity}
            accuracy={accuracyShown}
            daysText={days.text}
            wantsIds={wants.ids}
            palette={palette}
          />
          <Plots {...partOf('series')} palette={palette} now={minute} file={parts.series?.question ?? ''} />
          <Cameras
            {...partOf('cameras')}
            {...days}
            order={orderOf(state)}
            limit={wants.cameras}
            search={wants.search}
          />
        </div>
      </div>
    </>
  );
};

/** Cameras to choose from: those of the last days, those of what is shown, and those of the list. */
const useKnownIds = ({ known, activity, cameras }: Parts): readonly string[] => {
  const lists = [known?.answer, activity?.answer, cameras?.answer];
  return useMemo(
    () => [
      ...new Set([
        ...(known?.answer?.cameras.map(({ camera_id: id }) => id) ?? []),
        ...(activity?.answer?.active_camera_ids ?? []),
        ...(cameras?.answer?.cameras.map(({ camera_id: id }) => id) ?? []),
      ]),
    ],
    lists,
  );
};
