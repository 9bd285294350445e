import { spanTitle, zoneOf } from '../model/spans.ts';
import { AttentionStrip } from './attention.tsx';
import { Cameras } from './cameras.tsx';
import { Categories } from './categories.tsx';
import { Figures, SilentCameras } from './figures.tsx';
import { Head, SoundQuestion } from './head.tsx';
import { KeyForm } from './key-form.tsx';
import { Notifications } from './notifications.tsx';
import { Plots } from './plots.tsx';
import { type Shown, ShownContext } from './shown.ts';
import { ViewBar } from './view-bar.tsx';
import { JumpLink } from './words.tsx';

export const Page = (shown: Shown) => {
  const { locked, keyHeld, addressProblems, parts } = shown.state;
  const hasShown = parts.activity?.answer !== undefined || parts.attention?.answer !== undefined;
  const isEmpty = locked !== undefined && !hasShown;
  return (
    <ShownContext.Provider value={shown}>
      {isEmpty ? null : (
        <JumpLink to="shown" class="unseen">
          Skip to the figures
        </JumpLink>
      )}
      <Head />
      <main>
        <AttentionStrip />
        {keyHeld && !shown.sound.isDecided ? <SoundQuestion /> : null}
        {locked === undefined ? null : <KeyForm refused={locked.refused} hasShown={hasShown} />}
        {addressProblems.length === 0 ? null : (
          <div class="banner" role="alert">
            {addressProblems.map((problem) => (
              <p key={problem}>{problem}</p>
            ))}
          </div>
        )}
        {isEmpty ? null : <Content {...shown} />}
      </main>
      <Foot {...shown} />
    </ShownContext.Provider>
  );
};

const Content = ({ view, times, now }: Shown) => (
  <>
    <ViewBar />
    <h2 id="shown" class="shown" tabIndex={-1}>
      {spanTitle(view.span, now, times)} <span class="note">{zoneOf(view.span, now, times)}</span>
      {view.cameraId === undefined ? null : (
        <>
          {' · '}
          <bdi>{view.cameraId}</bdi>
        </>
      )}
    </h2>
    <div class="columns">
      <Figures />
      <div class="aside">
        <SilentCameras />
        <Notifications />
      </div>
      <div class="body">
        <Categories />
        <Plots />
        <Cameras />
      </div>
    </div>
  </>
);

/** The page mentions a larger error of the computer's clock; milliseconds. */
const WRONG_CLOCK = 60_000;

const Foot = ({ view, times, now, status, clock: { offset } }: Shown) => (
  <footer>
    <span class="paper">As of {times.moment(status.asOf ?? now).text}. </span>
    {times.readerZone === 'UTC'
      ? 'Times are UTC.'
      : `Times are ${times.isUtc ? 'UTC' : `${times.readerZone} (${zoneOf(view.span, now, times)})`}; point at a time to see the other zone. The camera list and daily steps use UTC days.`}
    {Math.abs(offset) < WRONG_CLOCK
      ? null
      : ` The clock of this computer is ${Math.round(Math.abs(offset) / 60_000)} min ${offset < 0 ? 'fast' : 'slow'}: the page uses the clock of the service.`}
  </footer>
);
