import { render } from 'preact';

import { keptClock, keptKey, keptPhone } from './asking/kept.ts';
import { watchVersion } from './asking/new-version.ts';
import { Polling } from './asking/polling.ts';
import { ServiceClock } from './asking/service-clock.ts';
import { keepMemory, readMemory } from './asking/tab-memory.ts';
import { dueReasons, reasonsOf } from './model/alarm-rule.ts';
import { alertTitle } from './model/alert-state.ts';
import { alertsOf } from './model/alert-order.ts';
import { arrivalsOf, isOnWall, type TabMemory, withFirstAnswer, withSeen, withUnseen } from './model/arrivals.ts';
import { cameraIdsOf, cameraStatesOf } from './model/camera-states.ts';
import { healthOf } from './model/health.ts';
import { firstState, freshestNotifications, listedNotifications, type PageState } from './model/page-state.ts';
import { apiBase } from './model/questions.ts';
import { actionTroubleText } from './model/refresh.ts';
import { spanTitle } from './model/spans.ts';
import { Times } from './model/times.ts';
import { type ReadView, readView, viewSearch, withoutKey } from './model/view.ts';
import { keyboardOf } from './page/keyboard.tsx';
import { Page } from './page/page.tsx';
import type { Actions, Shown } from './parts/shown.ts';
import { Alarm } from './signals/alarm.ts';
import { signal } from './signals/signaling.ts';
import { showInTab } from './signals/tab.ts';
import { WakeLock } from './signals/wake-lock.ts';

const replaceSearch = (search: string): void => history.replaceState(null, '', `${location.pathname}${search}`);

/** The view of the address, which then has no key. If the address names no clock, the page shows the reader's choice. */
const firstView = (): ReadView => {
  const search = withoutKey(location.search);
  if (search !== location.search) replaceSearch(search);
  const { view, problems } = readView(search);
  if (new URLSearchParams(search).has('tz') || keptClock.get() !== 'utc') return { view, problems };
  const utc = { ...view, clock: 'utc' } as const;
  if (problems.length === 0) replaceSearch(viewSearch(utc));
  return { view: utc, problems };
};

/** The computer slept if the page did not run for 90 s. A browser wakes a hidden tab once a minute. */
const SLEPT_MS = 90_000;

/** After that, the page asks first. An outage that stays makes a sound (milliseconds). */
const ASKING_MS = 15_000;

/** Answers and actions change the state, and the page draws each state. @returns a function that ends the page */
export const startPage = (root: Element): (() => void) => {
  const { view: shownFirst, problems } = firstView();
  const ended = new AbortController();
  const [alarm, wakeLock] = [new Alarm(), new WakeLock()];
  const clock = new ServiceClock(() => polling.askChanged());
  const openedAt = performance.now();
  let state = firstState({
    view: shownFirst,
    addressProblems: problems,
    keyHeld: keptKey.get() !== undefined,
    isHidden: document.hidden,
    sawPhone: keptPhone.get() !== undefined,
    memory: readMemory(),
  });

  let [derivedAt, wokenAt, askedFor] = [Date.now(), -Infinity, -Infinity];
  /** Everything that follows from the state at a time. */
  const derive = () => {
    if (Date.now() - derivedAt > SLEPT_MS) wokenAt = Date.now();
    derivedAt = Date.now();
    const now = clock.now();
    const freshest = freshestNotifications(state);
    const listed = listedNotifications(state, freshest);
    if (state.parts.notifications?.answer !== undefined) {
      state = { ...state, memory: withFirstAnswer(state.memory, listed, now - (performance.now() - openedAt)) };
    }
    const all = arrivalsOf(state.memory, listed);
    const arrivals = state.view.wall ? all.filter((each) => isOnWall(each, now)) : all;
    const alerts = alertsOf(listed, arrivals);
    const cameras = cameraStatesOf(state);
    const health = healthOf(state, alerts, cameras, now);
    // The clock may be set back.
    const outages = Math.abs(derivedAt - wokenAt) < ASKING_MS ? new Map<string, string>() : health.outages;
    const reasons = reasonsOf([...alerts.worst, ...alerts.rest], arrivals, outages);
    return { now, freshest, arrivals, alerts, cameras, health, reasons };
  };

  let kept: TabMemory = state.memory;
  /** Gives the due signals, and keeps the memory of the tab. */
  const signalDue = ({ now, reasons, arrivals }: ReturnType<typeof derive>): void => {
    state = { ...state, memory: signal(alarm, state.memory, reasons, arrivals, now) };
    if (state.memory !== kept) keepMemory((kept = state.memory));
  };

  let shown: Shown | undefined;
  let drawnHealth = '';
  const draw = (): void => {
    const derived = derive();
    const { now, health, reasons } = derived;
    signalDue(derived);
    drawnHealth = JSON.stringify(health);
    const { view, times } = state;
    const camera = view.cameraId === undefined ? [] : [view.cameraId];
    showInTab(health, [...camera, spanTitle(view.span, now, times), 'Camera activity']);
    const missed = alarm.isOn && !alarm.isReady ? dueReasons(reasons, state.memory, now).length : 0;
    const sound = { isOn: alarm.isOn, isDecided: alarm.isDecided, isReady: alarm.isReady, missed };
    const mayScreenSleep = view.wall && wakeLock.isRefused;
    shown = { state, view, times, ...derived, sound, mayScreenSleep, cameraIds: cameraIdsOf(state), clock, actions };
    const { activeElement: focused, body } = document;
    render(<Page {...shown} />, root);
    // The part with the focus is gone: the keyboard does not begin again at the start of the page.
    if (focused !== body && document.activeElement === body) {
      document.getElementById('alerts')?.focus({ preventScroll: true });
    }
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
    const { notification: left } = state.view;
    // A reader who leaves an alert has seen it. While it is open, its row stays in its place.
    const memory = left === undefined || left === view.notification ? state.memory : withSeen(state.memory, [left]);
    changeNow({ view, times, addressProblems, memory });
    polling.askChanged();
  };

  const seen = (ids: readonly string[]): void => changeNow({ memory: withSeen(state.memory, ids) });

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
      polling.forgetKey();
      // The reader leaves: no answer stays.
      changeNow({ keyHeld: false, parts: {}, acted: undefined, dialog: undefined, locked: { refused: false } });
    },
    want: (wants) => {
      changeNow({ wants: { ...state.wants, ...wants } });
      polling.askChanged();
    },
    openDialog: (dialog) => changeNow({ dialog }),
    say: (toast) => changeNow({ toast }),
    take: async (of, by) => {
      const { notification_id: id, acknowledged_by: before } = of;
      let trouble = await polling.act(id);
      // Another reader has taken it since the reader of this page saw its owner.
      if (trouble === undefined && freshestNotifications(state).get(id)?.acknowledged_by !== before) {
        return actions.openDialog({ kind: 'take', of });
      }
      trouble ??= await polling.act(id, 'acknowledge', { by });
      if (trouble !== undefined) return actions.say({ text: `Not taken. ${actionTroubleText(trouble)}`, isBad: true });
      seen([id]);
      const undo = before && { undo: () => void actions.take({ ...of, acknowledged_by: by }, before) };
      actions.say({ text: `${by} has it: ${alertTitle(of)}`, isBad: false, ...undo });
    },
    stop: async (of, by) => {
      const { notification_id: id } = of;
      const trouble = await polling.act(id, 'stop', { by });
      if (trouble !== undefined) {
        return actions.say({ text: `Not stopped. ${actionTroubleText(trouble)}`, isBad: true });
      }
      seen([id]);
      actions.say({ text: `Stopped by ${by}: ${alertTitle(of)}`, isBad: false });
    },
    see: (alerts) => {
      const ids = alerts.map(({ notification_id: id }) => id);
      seen(ids);
      const undo = (): void => changeNow({ memory: withUnseen(state.memory, ids) });
      const [first, ...more] = alerts.map(alertTitle);
      actions.say({ text: more.length > 0 ? `Seen: ${ids.length} alerts` : `Seen: ${first}`, isBad: false, undo });
    },
    file: async (question) => polling.file(question),
    switchSound: (isOn) =>
      void alarm.switchTo(isOn).then(() => {
        const { memory } = state;
        draw();
        // Nothing was due: the reader hears how the alarm sounds.
        if (isOn && JSON.stringify(memory.sounded) === JSON.stringify(state.memory.sounded)) alarm.sound('alarm');
      }),
  };

  const seenOrHidden = (): void => {
    changeNow({ isHidden: document.hidden });
    polling.start();
    if (state.view.wall) void wakeLock.keepAwake().then(draw);
  };
  /** After a restart, a browser allows sound only after a click or a key. */
  const unlock = (): void => {
    if (alarm.isOn && !alarm.isReady) void alarm.wake().then(draw);
  };
  /** The reader chose in another tab. */
  const soundChosen = (): void => void alarm.wake().then(draw);
  const listen = { signal: ended.signal };
  window.addEventListener('popstate', () => turnTo(readView(location.search)), listen);
  document.addEventListener('visibilitychange', seenOrHidden, listen);
  window.addEventListener('online', seenOrHidden, listen);
  window.addEventListener('pointerdown', unlock, listen);
  window.addEventListener('keydown', unlock, listen);
  window.addEventListener('storage', soundChosen, listen);
  window.addEventListener(
    'keydown',
    keyboardOf(() => shown),
    listen,
  );
  // Answers get old, and an alarm repeats, while nothing else happens.
  const aging = setInterval(() => {
    const derived = derive();
    if (wokenAt !== askedFor) {
      askedFor = wokenAt;
      polling.start();
    }
    signalDue(derived);
    if (JSON.stringify(derived.health) !== drawnHealth || state.isEarly) changeNow({ isEarly: false });
  }, 1_000);
  const endVersionWatch = watchVersion({ base: apiBase(location.pathname) }, () => changeNow({ isOutdated: true }));

  draw();
  polling.start();
  unlock();
  if (state.view.wall) void wakeLock.keepAwake().then(draw);
  return () => {
    ended.abort();
    clearInterval(aging);
    endVersionWatch();
    polling.stop();
    void wakeLock.end();
    render(null, root);
  };
};
