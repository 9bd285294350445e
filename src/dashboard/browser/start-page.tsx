import { render } from 'preact';

import { Alarm } from './alarm.ts';
import { keptClock, keptKey, keptPhone } from './asking/kept.ts';
import { Polling } from './asking/polling.ts';
import { ServiceClock } from './asking/service-clock.ts';
import { alarmReasons, attentionOf, freshestNotifications, tabSignOf } from './model/attention.ts';
import { firstState, type PageState } from './model/page-state.ts';
import { pageStatus } from './model/page-status.ts';
import { apiBase } from './model/questions.ts';
import { cameraIdsOf, silenceOf } from './model/silence.ts';
import { spanTitle } from './model/spans.ts';
import { Times } from './model/times.ts';
import { type ReadView, readView, viewSearch, withoutKey } from './model/view.ts';
import { Page } from './parts/page.tsx';
import type { Actions } from './parts/shown.ts';
import { showInTab } from './tab.ts';

const replaceSearch = (search: string): void => history.replaceState(null, '', `${location.pathname}${search}`);

/** The view of the address, which then has no key. If the address names no clock, the page shows the reader's choice. */
const firstView = (): ReadView => {
  const search = withoutKey(location.search);
  if (search !== location.search) replaceSearch(search);
  const { view, problems } = readView(search);
  if (new URLSearchParams(search).has('tz') || keptClock.get() !== 'utc') return { view, problems };
  replaceSearch(`${search}${search === '' ? '?' : '&'}tz=utc`);
  return { view: { ...view, clock: 'utc' }, problems };
};

/** Answers and actions change the state, and the page draws each state. @returns a function that ends the page */
export const startPage = (root: Element): (() => void) => {
  const { view: shownFirst, problems } = firstView();
  const ended = new AbortController();
  const alarm = new Alarm();
  const clock = new ServiceClock(() => polling.askChanged());
  let state = firstState({
    view: shownFirst,
    addressProblems: problems,
    keyHeld: keptKey.get() !== undefined,
    isHidden: document.hidden,
    sawPhone: keptPhone.get() !== undefined,
  });

  let drawnStatus = '';
  const draw = (): void => {
    const now = clock.now();
    const status = pageStatus(state, now);
    drawnStatus = JSON.stringify(status);
    const freshest = freshestNotifications(state);
    const silence = silenceOf(state, now);
    const attention = attentionOf(state, freshest, silence);
    const { view, times } = state;
    const title = [view.cameraId, spanTitle(view.span, now, times), 'Camera activity'];
    showInTab(tabSignOf(attention, status), attention.redCount, title.filter((part) => part !== undefined).join(' · '));
    alarm.tell(alarmReasons(attention, status));
    const cameraIds = cameraIdsOf(state);
    render(
      <Page
        {...{ state, view, times, now, status, attention, freshest, silence, cameraIds, sound: alarm, clock, actions }}
      />,
      root,
    );
  };

  let isDrawDue = false;
  /** Draws once for all changes of a task. */
  const change = (next: PageState): void => {
    state = next;
    if (state.sawPhone && keptPhone.get() === undefined) keptPhone.set('yes');
    if (isDrawDue) return;
    isDrawDue = true;
    queueMicrotask(() => {
      isDrawDue = false;
      if (!ended.signal.aborted) draw();
    });
  };

  /** Draws at once: the focus may go to a new element. */
  const changeNow = (changed: Partial<PageState>): void => {
    change({ ...state, ...changed });
    draw();
  };

  const polling = new Polling({ base: apiBase(location.pathname), clock }, () => state, change);

  const turnTo = ({ view, problems: addressProblems }: ReadView): void => {
    const times = view.clock === state.view.clock ? state.times : new Times(view.clock);
    changeNow({ view, times, addressProblems, actionTrouble: undefined });
    polling.askChanged();
  };

  const actions: Actions = {
    show: (view) => {
      // The browser keeps the clock that the reader chooses, not the clock of a link.
      if (view.clock !== state.view.clock) keptClock.set(view.clock === 'utc' ? 'utc' : undefined);
      history.pushState(null, '', actions.addressOf(view));
      turnTo({ view, problems: [] });
    },
    addressOf: (view) => `${location.pathname}${viewSearch(view)}`,
    refreshNow: () => polling.start(),
    giveKey: (given) => {
      keptKey.set(given);
      changeNow({ keyHeld: true, locked: undefined });
      polling.start();
    },
    forgetKey: () => {
      keptKey.set(undefined);
      polling.stop();
      // The reader leaves: no answer stays.
      changeNow({ keyHeld: false, parts: {}, acted: undefined, locked: { refused: false } });
    },
    want: (wants) => {
      changeNow({ wants: { ...state.wants, ...wants } });
      polling.askChanged();
    },
    stopNotification: async (id) => polling.act(id, 'stop', {}),
    acknowledge: async (id, by) => polling.act(id, 'acknowledge', { by }),
    file: async (question) => polling.file(question),
    switchSound: (isOn) => void alarm.switchTo(isOn).then(draw),
  };

  const seenOrHidden = (): void => {
    changeNow({ isHidden: document.hidden });
    if (state.locked === undefined) polling.start();
  };
  const listen = { signal: ended.signal };
  window.addEventListener('popstate', () => turnTo(readView(location.search)), listen);
  document.addEventListener('visibilitychange', seenOrHidden, listen);
  window.addEventListener('online', seenOrHidden, listen);
  // After a restart, a browser allows sound only after a click.
  window.addEventListener('pointerdown', () => void (alarm.isOn && !alarm.isReady && alarm.wake().then(draw)), listen);
  // Answers get old while nothing else happens.
  const aging = setInterval(() => {
    if (JSON.stringify(pageStatus(state, clock.now())) !== drawnStatus) draw();
  }, 1_000);

  draw();
  polling.start();
  return () => {
    ended.abort();
    clearInterval(aging);
    polling.stop();
    render(null, root);
  };
};
