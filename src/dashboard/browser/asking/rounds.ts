import type { Activity, Cameras, Notification, Notifications, Series } from '../model/answers.ts';
import type { PageEvent, PageState, Panels } from '../model/page-state.ts';
import {
  activityQuestion,
  camerasQuestion,
  notificationsQuestion,
  periodOf,
  seriesQuestion,
  storyQuestion,
} from '../model/questions.ts';
import { isPhoneOff, type RoundOutcome } from '../model/refresh.ts';
import {
  activitySchema,
  camerasSchema,
  notificationSchema,
  notificationsSchema,
  seriesSchema,
} from './answer-schemas.ts';
import { type Connection, Endpoint, type Reply } from './endpoint.ts';
import { askFor, type Feed, turnTo } from './feed.ts';

/** What the rounds need of the page. */
export interface RoundsPage {
  readonly state: () => PageState;
  readonly happened: (event: PageEvent) => void;
}

interface Feeds {
  readonly activity: Feed<Activity>;
  readonly series: Feed<Series>;
  readonly cameras: Feed<Cameras>;
  readonly notifications: Feed<Notifications>;
  readonly story: Feed<Notification>;
}

/**
 * Asks the service about everything that the page shows, round after round. One round at a time: a new one ends the one before,
 * whose answers nobody sees any more.
 */
export class Rounds {
  readonly #page: RoundsPage;
  readonly #connection: Connection;
  readonly #feeds: Feeds;
  #current = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isPhoneOff = false;

  constructor(connection: Connection, page: RoundsPage) {
    this.#page = page;
    this.#connection = connection;
    const panels = (): Panels => page.state().panels;
    const show = (changed: Partial<Panels>): void => page.happened({ kind: 'panels changed', panels: changed });
    this.#feeds = {
      activity: {
        endpoint: new Endpoint(connection, activitySchema),
        shown: () => panels().activity,
        show: (activity) => show({ activity }),
      },
      series: {
        endpoint: new Endpoint(connection, seriesSchema),
        shown: () => panels().series,
        show: (series) => show({ series }),
      },
      cameras: {
        endpoint: new Endpoint(connection, camerasSchema),
        shown: () => panels().cameras,
        show: (cameras) => show({ cameras }),
      },
      notifications: {
        endpoint: new Endpoint(connection, notificationsSchema),
        shown: () => panels().notifications,
        show: (notifications) => show({ notifications }),
      },
      story: {
        endpoint: new Endpoint(connection, notificationSchema),
        shown: () => panels().story,
        show: (story) => show({ story }),
      },
    };
  }

  /** Asks at once, and from then on by itself. */
  start(): void {
    this.pause();
    const round = new AbortController();
    this.#current = round;
    void this.#ask(round.signal);
  }

  /** Asks nothing more until {@link start}. */
  pause(): void {
    this.#current.abort();
    clearTimeout(this.#timer);
  }

  /** Asks nothing more and forgets every answer, as whoever takes the key away wants. */
  forget(): void {
    this.pause();
    for (const { endpoint } of Object.values(this.#feeds)) endpoint.forget();
  }

  /** Asks about the notifications with the next round, although the service has said that it has no phone. */
  askPhoneAgain(): void {
    this.#isPhoneOff = false;
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const outcome = await this.#round(signal);
    if (signal.aborted) return;
    const now = Date.now();
    this.#page.happened({ kind: 'round ended', outcome, now, chance: Math.random() });
    const { refresh } = this.#page.state();
    if (refresh.phase === 'current' || refresh.phase === 'failing') {
      this.#timer = setTimeout(() => this.start(), refresh.nextAt - now);
    }
  }

  async #round(signal: AbortSignal): Promise<RoundOutcome> {
    const { view, cameraLimit } = this.#page.state();
    const now = Date.now();
    const activity = askFor(this.#feeds.activity, activityQuestion(view, now), signal);
    // Without a key, one question finds out whether there has to be one: five refusals tell no more than one.
    if (this.#connection.key() === undefined) {
      const first = await activity;
      if (first.kind === 'unauthorized') return first;
    }
    const replies = await Promise.all([
      activity,
      this.#series(activity, now, signal),
      askFor(this.#feeds.cameras, camerasQuestion(view, cameraLimit, now), signal),
      this.#notifications(signal),
      this.#story(signal),
    ]);
    return outcomeOf(replies);
  }

  async #series(activity: Promise<Reply<Activity>>, now: number, signal: AbortSignal): Promise<Reply<unknown>> {
    const { view } = this.#page.state();
    const period = periodOf(view, now);
    const feed = this.#feeds.series;
    if (period !== undefined) return askFor(feed, seriesQuestion(period, view.cameraId), signal);
    // The sliding window's ends move: what is shown is about the window, whatever its ends are.
    const subject = `sliding window, camera ${view.cameraId ?? ''}`;
    turnTo(feed, subject, undefined);
    const reply = await activity;
    if (reply.kind !== 'answer' || signal.aborted) return reply;
    const { ts_utc_start: start, ts_utc_end: end } = reply.answer;
    return askFor(feed, seriesQuestion({ start, end }, view.cameraId), signal, subject);
  }

  async #notifications(signal: AbortSignal): Promise<Reply<unknown>> {
    if (this.#isPhoneOff) return NOTHING_ASKED;
    const reply = await askFor(this.#feeds.notifications, notificationsQuestion(), signal);
    if (reply.kind !== 'trouble' || !isPhoneOff(reply.trouble)) return reply;
    // The panel says so, and nothing is wrong with the rest. That does not pass by itself: it takes a new start of the service.
    this.#isPhoneOff = true;
    return NOTHING_ASKED;
  }

  async #story(signal: AbortSignal): Promise<Reply<unknown>> {
    const { openNotification } = this.#page.state();
    if (openNotification === undefined) return NOTHING_ASKED;
    return askFor(this.#feeds.story, storyQuestion(openNotification), signal);
  }
}

/** What was not asked cannot have failed. */
const NOTHING_ASKED: Reply<undefined> = { kind: 'answer', answer: undefined };

/** How a round went: a missing key says more than a failure, a failure more than an answer. What is refused was answered. */
const outcomeOf = (replies: readonly Reply<unknown>[]): RoundOutcome => {
  let failed: RoundOutcome | undefined;
  for (const reply of replies) {
    if (reply.kind === 'unauthorized') return reply;
    if (reply.kind === 'trouble' && reply.trouble.kind !== 'refused') {
      failed ??= { kind: 'failed', trouble: reply.trouble };
    }
  }
  return failed ?? { kind: 'answered' };
};
