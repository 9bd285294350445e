// oxlint-disable-next-line import/no-unassigned-import -- it has to run before uPlot loads
import './valid-language.ts';

import { render } from 'preact';

import { Rounds } from './asking/rounds.ts';
import { SessionKey } from './asking/session-key.ts';
import { afterEvent, firstState, type PageEvent } from './model/page-state.ts';
import { apiBase } from './model/questions.ts';
import { readView, type View, viewSearch, withoutKey } from './model/view.ts';
import type { Actions } from './parts/actions.ts';
import { Page } from './parts/page.tsx';
import { viewTitle } from './parts/view-title.ts';

/*
 * The page: address and answers become a state, the state becomes what is shown, what a person does becomes an event, and an event
 * the next state.
 */

const root = document.querySelector('#page');
if (root === null) throw new TypeError('the document has no #page');

const search = withoutKey(location.search);
if (search !== location.search) history.replaceState(null, '', `${location.pathname}${search}`);

const key = new SessionKey();
const atFirst = readView(search);
let state = firstState(atFirst.view, atFirst.problems, key.get() !== undefined);

const draw = (): void => {
  const now = Date.now();
  document.title = `${state.view.cameraId === undefined ? '' : `${state.view.cameraId} · `}${viewTitle(state.view, now)} · Camera activity`;
  render(<Page state={state} now={now} actions={actions} />, root);
};

const happened = (event: PageEvent): void => {
  if (event.kind === 'round ended' && event.outcome.kind === 'unauthorized') key.forget();
  state = afterEvent(state, event);
  draw();
};

const rounds = new Rounds({ base: apiBase(location.pathname), key: () => key.get() }, { state: () => state, happened });

const turnTo = (view: View, addressProblems: readonly string[]): void => {
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
  showMoreCameras: () => {
    happened({ kind: 'more cameras wanted' });
    rounds.start();
  },
  openNotification: (id) => {
    happened({ kind: 'notification opened', id });
    rounds.start();
  },
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
