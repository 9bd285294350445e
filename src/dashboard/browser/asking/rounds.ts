import {
  type Activity,
  activitySchema,
  camerasSchema,
  notificationSchema,
  notificationsSchema,
  seriesSchema,
} from '../model/answers.ts';
import { orderOf, type PageEvent, type PageState, type Panel, panelAbout, type Panels } from '../model/page-state.ts';
import {
  activityQuestion,
  camerasQuestion,
  notificationsQuestion,
  type Question,
  seriesQuestion,
  storyQuestion,
} from '../model/questions.ts';
import { isPhoneOff, type RoundOutcome } from '../model/refresh.ts';
import { periodOf, silencePeriods, utcDaysOf } from '../model/spans.ts';
import { type Connection, Endpoint, type Reply } from './endpoint.ts';

/** What the rounds need of the page. */
export interface RoundsPage {
  readonly state: () => PageState;
  readonly happened: (event: PageEvent) => void;
}

/** One panel and the endpoint that fills it. */
interface Feed<Answer> {
  readonly endpoint: Endpoint<Answer>;
  readonly shown: () => Panel<Answer>;
  readonly show: (panel: Panel<Answer>) => void;
}

type Feeds = { readonly [Name in keyof Panels]: Panels[Name] extends Panel<infer Answer> ? Feed<Answer> : never };

/** Asks the service about everything that the page shows, one round at a time: a new one ends the one before. */
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
    const feed = <Name extends keyof Panels, Answer>(name: Name, endpoint: Endpoint<Answer>) => ({
      endpoint,
      shown: () => panels()[name],
      show: (panel: Panels[Name]) => show({ [name]: panel }),
    });
    const silence = new Endpoint(connection, activitySchema);
    this.#feeds = {
      activity: feed('activity', new Endpoint(connection, activitySchema)),
      series: feed('series', new Endpoint(connection, seriesSchema)),
      cameras: feed('cameras', new Endpoint(connection, camerasSchema)),
      notifications: feed('notifications', new Endpoint(connection, notificationsSchema)),
      story: feed('story', new Endpoint(connection, notificationSchema)),
      recent: feed('recent', silence),
      before: feed('before', silence),
    };
  }

  /** Asks at once, and from then on by itself. @param byHand somebody asked for it */
  start(byHand = true): void {
    this.pause();
    const round = new AbortController();
    this.#current = round;
    void this.#ask(round.signal, byHand);
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

  /** Stops a notification: nobody more is phoned. Then asks how everything stands. */
  async stopNotification(id: string): Promise<void> {
    const { story } = this.#feeds;
    const reply = await story.endpoint.ask(`${storyQuestion(id)}/stop`, new AbortController().signal, 'POST');
    if (reply.kind === 'trouble') this.#page.happened({ kind: 'stop failed', trouble: reply.trouble });
    if (reply.kind === 'answer' && this.#page.state().view.notification === id) {
      story.show({ subject: storyQuestion(id), answer: reply.answer, at: Date.now(), trouble: undefined });
    }
    this.start();
  }

  async #ask(signal: AbortSignal, byHand: boolean): Promise<void> {
    const outcome = await this.#round(signal);
    if (signal.aborted) return;
    const now = Date.now();
    this.#page.happened({ kind: 'round ended', outcome, now, chance: Math.random(), byHand });
    const { refresh } = this.#page.state();
    if (refresh.phase === 'current' || refresh.phase === 'failing') {
      this.#timer = setTimeout(() => this.start(false), refresh.nextAt - now);
    }
  }

  async #round(signal: AbortSignal): Promise<RoundOutcome> {
    const state = this.#page.state();
    const { view, times, wants } = state;
    const { activity, series, cameras, notifications, story, recent, before } = this.#feeds;
    const now = Date.now();
    const period = periodOf(view.span, now, times);
    // The last hour is one subject, wherever it begins: its figures stay until the new ones are there.
    const moving = view.span.kind === 'last' ? `last ${view.span.hours}, camera ${view.cameraId ?? ''}` : undefined;
    const withoutIds = activityQuestion(period, view.cameraId, { withIds: false });
    const figures = askFor(
      activity,
      activityQuestion(period, view.cameraId, { withIds: wants.ids }),
      signal,
      moving ?? withoutIds,
    );
    // Without a key, one question finds out whether there has to be one: many refusals tell no more than one.
    if (this.#connection.key() === undefined) {
      const first = await figures;
      if (first.kind === 'unauthorized') return first;
    }
    const silence = silencePeriods(now);
    const idsOf = async (feed: Feed<Activity>, of: keyof typeof silence): Promise<Reply<unknown>> =>
      askOnce(feed, activityQuestion(silence[of], undefined, { withIds: true }), signal, of);
    const replies = await Promise.all([
      figures,
      askFor(series, seriesQuestion(period, view.cameraId), signal, moving),
      askFor(cameras, camerasQuestion(utcDaysOf(period, now), orderOf(state), wants.cameras), signal),
      this.#isPhoneOff
        ? NOTHING_ASKED
        : askFor(notifications, notificationsQuestion(wants.notifications), signal, 'newest'),
      view.notification === undefined ? NOTHING_ASKED : askFor(story, storyQuestion(view.notification), signal),
      idsOf(recent, 'recent'),
      idsOf(before, 'before'),
    ]);
    return outcomeOf(replies.filter((reply) => !this.#saysPhoneOff(reply, replies[3])));
  }

  /** Whether the service says that it has no phone: no failure, and nothing that passes by itself. */
  #saysPhoneOff(reply: Reply<unknown>, ofNotifications: Reply<unknown>): boolean {
    if (reply !== ofNotifications || reply.kind !== 'trouble' || !isPhoneOff(reply.trouble)) return false;
    this.#isPhoneOff = true;
    return true;
  }
}

/** What was not asked cannot have failed. */
const NOTHING_ASKED: Reply<undefined> = { kind: 'answer', answer: undefined };

/**
 * Asks and shows what comes; an answer to a question that was ended meanwhile is not shown.
 *
 * @param subject what the panel is about, where that is not the question itself
 */
const askFor = async <Answer>(
  feed: Feed<Answer>,
  question: Question,
  signal: AbortSignal,
  subject: string = question,
): Promise<Reply<Answer>> => {
  const shown = feed.shown();
  const panel = panelAbout(shown, subject, feed.endpoint.known(question));
  if (panel !== shown) feed.show(panel);
  const reply = await feed.endpoint.ask(question, signal);
  if (signal.aborted) return reply;
  const before = feed.shown();
  if (reply.kind === 'trouble') feed.show({ ...before, subject, trouble: reply.trouble });
  // What has not changed is not shown again: nothing flickers.
  if (reply.kind === 'answer' && (reply.answer !== before.answer || before.trouble !== undefined)) {
    feed.show({ subject, answer: reply.answer, at: Date.now(), trouble: undefined });
  }
  return reply;
};

/** The same, unless the question has been answered before: its period is over. */
const askOnce = async (
  feed: Feed<Activity>,
  question: Question,
  signal: AbortSignal,
  subject: string,
): Promise<Reply<unknown>> => {
  const known = feed.endpoint.known(question);
  if (known === undefined) return askFor(feed, question, signal, subject);
  if (feed.shown().answer !== known.answer) feed.show({ subject, ...known, trouble: undefined });
  return NOTHING_ASKED;
};

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
