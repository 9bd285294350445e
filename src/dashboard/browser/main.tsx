import { render } from 'preact';

import { Alarm } from './alarm.ts';
import { keptClock, keptKey } from './asking/kept.ts';
import { Rhythms } from './asking/rhythms.ts';
import { ServiceClock } from './asking/service-clock.ts';
import { alarmReasons, alarmsOf, silentCameras, tabSignOf } from './model/alarms.ts';
import { afterEvent, firstState, type PageEvent } from './model/page-state.ts';
import { apiBase } from './model/questions.ts';
import { spanTitle } from './model/spans.ts';
import { readView, type View, viewSearch, withoutKey } from './model/view.ts';
import { Page } from './parts/page.tsx';
import type { Actions } from './parts/shown.ts';
import { showInTab } from './tab.ts';

/*
 * The page: address and answers become a state, the state becomes what is shown, what a person does becomes an event, and an event
 * the next state.
 */

const root = document.querySelector('#page');
if (root === null) throw new TypeError('the document has no #page');

const replaceSearch = (search: string): void => history.replaceState(null, '', `${location.pathname}${search}`);

const search = withoutKey(location.search);
if (search !== location.search) replaceSearch(search);
const asked = readView(search);
// An address that names no clock is shown as this browser shows times; from then on the address says so.
const isClockGiven = new URLSearchParams(search).has('tz');
const firstView: View = {
  ...asked.view,
  clock: isClockGiven ? asked.view.clock : keptClock.get() === 'utc' ? 'utc' : 'local',
};
if (firstView.clock !== asked.view.clock) replaceSearch(`${search}${search === '' ? '?' : '&'}tz=${firstView.clock}`);

const alarm = new Alarm();
const clock = new ServiceClock(() => rhythms.askChanged());
let state = firstState(firstView, asked.problems, keptKey.get() !== undefined);
let silent: { readonly from: readonly unknown[]; readonly cameras: ReturnType<typeof silentCameras> } | undefined;

/** The silent cameras: the same list until it can differ, because it is long. */
const silentNow = (now: number): ReturnType<typeof silentCameras> => {
  const from = [state.panels.known.answer, state.panels.recent.answer, Math.floor(now / 60_000)];
  if (silent === undefined || from.some((each, index) => each !== silent?.from[index])) {
    silent = { from, cameras: silentCameras(state.panels, now) };
  }
  return silent.cameras;
};

const draw = (): void => {
  const now = clock.now();
  const { view, times } = state;
  const cameras = silentNow(now);
  const alarms = alarmsOf(state.panels, cameras);
  const parts = [view.cameraId, spanTitle(view.span, now, times), 'Camera activity'];
  showInTab(tabSignOf(state, alarms, now), parts.filter((part) => part !== undefined).join(' · '));
  alarm.tell(alarmReasons(state, alarms, now));
  render(
    <Page state={state} now={now} silent={cameras} alarms={alarms} alarm={alarm} clock={clock} actions={actions} />,
    root,
  );
};

const happened = (event: PageEvent): void => {
  if (event.kind === 'unauthorized') keptKey.set(undefined);
  state = afterEvent(state, event);
  draw();
};

const rhythms = new Rhythms(
  { base: apiBase(location.pathname), key: () => keptKey.get(), clock },
  { state: () => state, happened },
);

const turnTo = (view: View, addressProblems: readonly string[]): void => {
  happened({ kind: 'view changed', view, addressProblems });
  rhythms.askChanged();
};

const actions: Actions = {
  show: (view) => {
    // The clock that somebody chooses is theirs from then on; the one of a link that they follow is not.
    if (view.clock !== state.view.clock) keptClock.set(view.clock === 'utc' ? 'utc' : undefined);
    history.pushState(null, '', actions.addressOf(view));
    turnTo(view, []);
  },
  addressOf: (view) => `${location.pathname}${viewSearch(view)}`,
  refreshNow: () => rhythms.start({ byHand: true }),
  giveKey: (given) => {
    keptKey.set(given);
    happened({ kind: 'key given' });
    rhythms.start();
  },
  forgetKey: () => {
    keptKey.set(undefined);
    rhythms.forget();
    happened({ kind: 'key forgotten' });
  },
  want: (wants) => {
    happened({ kind: 'wanted', wants });
    rhythms.askChanged();
  },
  stopNotification: (id) => void rhythms.act(id, 'stop', {}),
  acknowledge: (id, by) => void rhythms.act(id, 'acknowledge', { by }),
  ask: (question) => rhythms.askOnce(question),
  switchAlarm: (isOn) => void alarm.switchTo(isOn).then(draw),
};

window.addEventListener('popstate', () => {
  const { view, problems } = readView(location.search);
  turnTo(view, problems);
});

/** Nobody looks at a hidden page: it asks only whether there is an alert, and about everything at once when it is seen again. */
const seenOrNot = (): void => {
  if (state.locked === undefined) rhythms.start({ isHidden: document.hidden });
};
document.addEventListener('visibilitychange', seenOrNot);
window.addEventListener('online', seenOrNot);
// A browser that was started anew lets nothing sound before somebody has clicked.
window.addEventListener('pointerdown', () => void (alarm.isOn && !alarm.isHeard && alarm.wake().then(draw)));

draw();
rhythms.start({ isHidden: document.hidden });
