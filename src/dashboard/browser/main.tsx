import { render } from 'preact';

import { keepClock, keptClock, SessionKey } from './asking/kept.ts';
import { Rounds } from './asking/rounds.ts';
import { attentionOf } from './model/alerts.ts';
import { afterEvent, firstState, type PageEvent } from './model/page-state.ts';
import { apiBase } from './model/questions.ts';
import { spanTitle } from './model/spans.ts';
import { readView, type View, viewSearch, withoutKey } from './model/view.ts';
import { Page } from './parts/page.tsx';
import type { Actions } from './parts/shown.ts';

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
const firstView: View = { ...asked.view, clock: isClockGiven ? asked.view.clock : keptClock() };
if (firstView.clock !== asked.view.clock) replaceSearch(`${search}${search === '' ? '?' : '&'}tz=${firstView.clock}`);
keepClock(firstView.clock);

const key = new SessionKey();
let state = firstState(firstView, asked.problems, key.get() !== undefined);

const draw = (): void => {
  const now = Date.now();
  const { view, times } = state;
  const attention = attentionOf(state.panels.notifications.answer, now).length;
  const parts = [view.cameraId, spanTitle(view.span, now, times), 'Camera activity'].filter(
    (part) => part !== undefined,
  );
  const title = `${attention === 0 ? '' : `(${attention}) `}${parts.join(' · ')}`;
  if (document.title !== title) document.title = title;
  render(<Page state={state} now={now} actions={actions} />, root);
};

const happened = (event: PageEvent): void => {
  if (event.kind === 'round ended' && event.outcome.kind === 'unauthorized') key.forget();
  state = afterEvent(state, event);
  draw();
};

const rounds = new Rounds({ base: apiBase(location.pathname), key: () => key.get() }, { state: () => state, happened });

const turnTo = (view: View, addressProblems: readonly string[]): void => {
  keepClock(view.clock);
  happened({ kind: 'view changed', view, addressProblems });
  if (state.refresh.phase !== 'locked') rounds.start();
};

const actions: Actions = {
  show: (view) => {
    history.pushState(null, '', actions.addressOf(view));
    turnTo(view, []);
  },
  addressOf: (view) => `${location.pathname}${viewSearch(view)}`,
  refreshNow: () => {
    rounds.askPhoneAgain();
    rounds.start();
  },
  giveKey: (given) => {
    key.set(given);
    happened({ kind: 'key given' });
    rounds.start();
  },
  forgetKey: () => {
    key.forget();
    rounds.forget();
    happened({ kind: 'key forgotten' });
  },
  want: (wants) => {
    happened({ kind: 'wanted', wants });
    rounds.start();
  },
  stopNotification: (id) => void rounds.stopNotification(id),
};

window.addEventListener('popstate', () => {
  const { view, problems } = readView(location.search);
  turnTo(view, problems);
});

/** Nobody looks at a hidden page: it asks nothing, and at once when it is seen again. */
const seenOrNot = (): void => {
  if (document.hidden) rounds.pause();
  else if (state.refresh.phase !== 'locked') rounds.start();
};
document.addEventListener('visibilitychange', seenOrNot);
window.addEventListener('online', seenOrNot);

draw();
rounds.start();
