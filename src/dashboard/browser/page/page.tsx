import { isOpening } from '../model/page-state.ts';
import { zoneOf } from '../model/spans.ts';
import { Button } from '../parts/button.tsx';
import { type Shown, ShownContext } from '../parts/shown.ts';
import { JumpLink, ViewTitle } from '../parts/words.tsx';
import { AlertsTable } from './alerts-table.tsx';
import { Cameras } from './cameras.tsx';
import { Categories, Quality } from './categories.tsx';
import { AlertDialog, ToastLine } from './dialogs.tsx';
import { Drawer } from './drawer.tsx';
import { HealthBar, SoundQuestion } from './health-bar.tsx';
import { KeyForm } from './key-form.tsx';
import { KeysPanel } from './keyboard.tsx';
import { Plots } from './plots.tsx';
import { Problems } from './problems.tsx';
import { Tiles } from './tiles.tsx';
import { Tools } from './tools.tsx';
import { Wall } from './wall.tsx';

export const Page = (shown: Shown) => {
  const { state, view, sound } = shown;
  const { locked, addressProblems, parts, isOutdated } = state;
  const hasShown = parts.activity?.answer !== undefined || parts.attention?.answer !== undefined;
  const isEmpty = locked !== undefined && !hasShown;
  const isWaiting = isOpening(state);
  return (
    <ShownContext.Provider value={shown}>
      {isEmpty || view.wall ? null : (
        <JumpLink to="shown" class="unseen">
          Skip to the figures
        </JumpLink>
      )}
      <HealthBar />
      <main class={view.wall ? 'wall' : ''}>
        {isOutdated ? <Outdated /> : null}
        <Problems />
        {sound.isDecided || view.wall ? null : <SoundQuestion />}
        {locked === undefined ? null : <KeyForm refused={locked.refused} isHeld={state.keyHeld} />}
        {addressProblems.length === 0 ? null : (
          <div class="banner row" role="alert">
            {addressProblems.map((problem) => (
              <p key={problem}>{problem}</p>
            ))}
          </div>
        )}
        {isEmpty ? null : <AlertsTable />}
        {isEmpty || isWaiting ? null : view.wall ? <Wall /> : <Content />}
      </main>
      {isWaiting ? null : <Foot {...shown} />}
      <Drawer />
      <AlertDialog />
      <KeysPanel />
      <ToastLine />
    </ShownContext.Provider>
  );
};

const Outdated = () => (
  <p class="banner row" role="status">
    The service has a new version of this page.{' '}
    <Button look="small" onClick={() => location.reload()}>
      Reload
    </Button>
  </p>
);

const Content = () => (
  <>
    <Tools />
    <h2 id="shown" class="unseen" tabIndex={-1}>
      <ViewTitle />
    </h2>
    <Tiles />
    <Plots />
    <div class="pair">
      <Categories />
      <Quality />
    </div>
    <Cameras />
  </>
);

/** The page mentions a larger error of the computer's clock; milliseconds. */
const WRONG_CLOCK = 60_000;

const Foot = ({ view, times, now, health, clock: { offset } }: Shown) => (
  <footer>
    <span class="paper">As of {times.moment(health.asOf ?? now).text}. </span>
    {times.readerZone === 'UTC'
      ? 'Times are UTC.'
      : `Times are ${times.isUtc ? 'UTC' : `${times.readerZone} (${zoneOf(view.span, now, times)})`}; point at a time to see the other zone. Cameras, AI quality and daily steps use UTC days.`}
    {Math.abs(offset) < WRONG_CLOCK
      ? null
      : ` The clock of this computer is ${Math.round(Math.abs(offset) / 60_000)} min ${offset < 0 ? 'fast' : 'slow'}: the page uses the clock of the service.`}
  </footer>
);
