import { render } from 'preact';

import { Alarm } from './alarm.ts';
import { keptClock, keptKey, keptPhone } from './asking/kept.ts';
import { Polling } from './asking/polling.ts';
import { ServiceClock } from './asking/service-clock.ts';
import { alarmReasons, attentionOf, freshestNotifications, tabSignOf } from './model/attention.ts';
import { afterEvent, firstState, type PageEvent } from './model/page-state.ts';
import { pageStatus } from './model/page-status.ts';
import { apiBase } from './model/questions.ts';
import { cameraIdsOf, silenceOf } from './model/silence.ts';
import { spanTitle } from './model/spans.ts';
import { readView, type View, viewSearch, withoutKey } from './model/view.ts';
import { Page } from './parts/page.tsx';
import type { Actions } from './parts/shown.ts';
import { showInTab } from './tab.ts';

const replaceSearch = (search: string): void => history.replaceState(null, '', `${location.pathname}${search}`);

/** The view of the address, without a key that somebody put into it, and with the reader's clock if it names none. */
const firstView = (): ReturnType<typeof readView> => {
  const search = withoutKey(location.search);
  if (search !== location.search) replaceSearch(search);
  const { view, problems } = readView(search);
  if (new URLSearchParams(search).has('tz') || keptClock.get() !== 'utc') return { view, problems };
  replaceSearch(`${search}${search === '' ? '?' : '&'}tz=utc`);
  return { view: { ...view, clock: 'utc' }, problems };
};

/**
 * Starts the page. Address and answers become a state, the state becomes what is shown, what a person does becomes an event, and an event
 * the next state.
 *
 * @returns a function that ends the page: it asks and draws nothing more
 */
export const startPage = (root: Element): (() => void) => {
  const asked = firstView();
  const ended = new AbortController();
  const alarm = new Alarm();
  const clock = new ServiceClock(() => polling.askChanged());
  let state = firstState({
    view: asked.view,
    addressProblems: asked.problems,
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
    showInTab(tabSignOf(attention, status), title.filter((part) => part !== undefined).join(' · '));
    alarm.tell(alarmReasons(attention, status));
    const sound = { isOn: alarm.isOn, isDecided: alarm.isDecided, isReady: alarm.isReady };
    const cameraIds = cameraIdsOf(state);
    render(
      <Page {...{ state, view, times, now, status, attention, freshest, silence, cameraIds, sound, clock, actions }} />,
      root,
    );
  };

  let isDrawDue = false;
  /** Draws once for everything that happens in a task: all questions are asked at once. */
  const drawSoon = (): void => {
    if (isDrawDue) return;
    isDrawDue = true;
    queueMicrotask(() => {
      isDrawDue = false;
      if (!ended.signal.aborted) draw();
    });
  };

  const changed = (event: PageEvent): void => {
    if (event.kind === 'unauthorized') keptKey.set(undefined);
    state = afterEvent(state, event);
    if (state.sawPhone && keptPhone.get() === undefined) keptPhone.set('yes');
    drawSoon();
  };

  /** What a person does is drawn at once: the focus may go to what it shows. */
  const happened = (event: PageEvent): void => {
    changed(event);
    draw();
  };

  const polling = new Polling(
    { base: apiBase(location.pathname), key: () => keptKey.get(), clock },
    { state: () => state, happened: changed },
  );

  const turnTo = (view: View, addressProblems: readonly string[]): void => {
    happened({ kind: 'view changed', view, addressProblems });
    polling.askChanged();
  };

  const actions: Actions = {
    show: (view) => {
      // A clock that the reader chooses is kept; the clock of a link that they follow is not.
      if (view.clock !== state.view.clock) keptClock.set(view.clock === 'utc' ? 'utc' : undefined);
      history.pushState(null, '', actions.addressOf(view));
      turnTo(view, []);
    },
    addressOf: (view) => `${location.pathname}${viewSearch(view)}`,
    refreshNow: () => polling.start(),
    giveKey: (given) => {
      keptKey.set(given);
      happened({ kind: 'key given' });
      polling.start();
    },
    forgetKey: () => {
      keptKey.set(undefined);
      polling.stop();
      happened({ kind: 'key forgotten' });
    },
    want: (wants) => {
      happened({ kind: 'wanted', wants });
      polling.askChanged();
    },
    stopNotification: async (id) => polling.act(id, 'stop', {}),
    acknowledge: async (id, by) => polling.act(id, 'acknowledge', { by }),
    file: async (question) => polling.file(question),
    switchSound: (isOn) => void alarm.switchTo(isOn).then(draw),
  };

  const listen = { signal: ended.signal };
  const goBack = (): void => {
    const { view, problems } = readView(location.search);
    turnTo(view, problems);
  };
  /** A hidden page asks about alerts alone, and about everything at once when it is seen again. */
  const seenOrHidden = (): void => {
    happened({ kind: 'hidden or seen', isHidden: document.hidden });
    if (state.locked === undefined) polling.start();
  };
  window.addEventListener('popstate', goBack, listen);
  document.addEventListener('visibilitychange', seenOrHidden, listen);
  window.addEventListener('online', seenOrHidden, listen);
  // A browser that was started again lets nothing sound before a click.
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
