import {
  activitySchema,
  camerasSchema,
  notificationSchema,
  notificationsSchema,
  seriesSchema,
} from '../model/answers.ts';
import { type Answers, orderOf, type PageEvent, type PageState, type Panel, panelAbout } from '../model/page-state.ts';
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

/** Asks the service about everything that the page shows, one round at a time: a new one ends the one before. */
export class Rounds {
  readonly #page: RoundsPage;
  readonly #connection: Connection;
  readonly #endpoints: { readonly [Name in keyof Answers]: Endpoint<Answers[Name]> };
  #current = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isPhoneOff = false;

  constructor(connection: Connection, page: RoundsPage) {
    this.#page = page;
    this.#connection = connection;
    const silence = new Endpoint(connection, activitySchema);
    this.#endpoints = {
      activity: new Endpoint(connection, activitySchema),
      series: new Endpoint(connection, seriesSchema),
      cameras: new Endpoint(connection, camerasSchema),
      notifications: new Endpoint(connection, notificationsSchema),
      story: new Endpoint(connection, notificationSchema),
      recent: silence,
      before: silence,
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
    for (const endpoint of Object.values(this.#endpoints)) endpoint.forget();
  }

  /** Asks about the notifications with the next round, although the service has said that it has no phone. */
  askPhoneAgain(): void {
    this.#isPhoneOff = false;
  }

  /** Stops a notification: nobody more is phoned. Then asks how everything stands. */
  async stopNotification(id: string): Promise<void> {
    const question = storyQuestion(id);
    const reply = await this.#endpoints.story.ask(`${question}/stop`, new AbortController().signal, 'POST');
    if (reply.kind === 'trouble') this.#page.happened({ kind: 'stop failed', trouble: reply.trouble });
    if (reply.kind === 'answer' && this.#page.state().view.notification === id) {
      this.#show('story', { subject: question, answer: reply.answer, at: Date.now(), trouble: undefined });
    }
    this.start();
  }

  async #ask(signal: AbortSignal, byHand: boolean): Promise<void> {
    const outcome = await this.#round({ signal });
    if (signal.aborted) return;
    const now = Date.now();
    this.#page.happened({ kind: 'round ended', outcome, now, chance: Math.random(), byHand });
    const { refresh } = this.#page.state();
    if (refresh.phase === 'current' || refresh.phase === 'failing') {
      this.#timer = setTimeout(() => this.start(false), refresh.nextAt - now);
    }
  }

  async #round(asking: Asking): Promise<RoundOutcome> {
    const state = this.#page.state();
    const { view, times, wants } = state;
    const now = Date.now();
    const period = periodOf(view.span, now, times);
    // The last hour is one subject, wherever it begins: its figures stay until the new ones are there.
    const moving = view.span.kind === 'last' ? `last ${view.span.hours}, camera ${view.cameraId ?? ''}` : undefined;
    const figures = this.#askFor(
      'activity',
      activityQuestion(period, view.cameraId, { withIds: wants.ids }),
      asking,
      moving ?? activityQuestion(period, view.cameraId, { withIds: false }),
    );
    // Without a key, one question finds out whether there has to be one: many refusals tell no more than one.
    const others: Asking = this.#connection.key() === undefined ? { ...asking, after: figures } : asking;
    const silence = silencePeriods(now);
    const idsOf = async (of: keyof typeof silence): Promise<Reply<unknown>> =>
      this.#askOnce(of, activityQuestion(silence[of], undefined, { withIds: true }), others);
    const replies = await Promise.all([
      figures,
      this.#askFor('series', seriesQuestion(period, view.cameraId), others, moving),
      this.#askFor('cameras', camerasQuestion(utcDaysOf(period, now), orderOf(state), wants.cameras), others),
      this.#askPhone(notificationsQuestion(wants.notifications), others),
      view.notification === undefined ? NOTHING_ASKED : this.#askFor('story', storyQuestion(view.notification), others),
      idsOf('recent'),
      idsOf('before'),
    ]);
    return outcomeOf(replies);
  }

  /** Asks about the newest notifications, unless the service has no phone: that is no failure, and does not pass by itself. */
  async #askPhone(question: Question, asking: Asking): Promise<Reply<unknown>> {
    if (this.#isPhoneOff) return NOTHING_ASKED;
    const reply = await this.#askFor('notifications', question, asking, 'newest');
    if (reply.kind !== 'trouble' || !isPhoneOff(reply.trouble)) return reply;
    this.#isPhoneOff = true;
    return NOTHING_ASKED;
  }

  #show<Name extends keyof Answers>(name: Name, panel: Panel<Answers[Name]>): void {
    this.#page.happened({ kind: 'panels changed', panels: { [name]: panel } });
  }

  /**
   * Turns the panel to its subject at once, then asks and shows what comes; an answer to a question that was ended meanwhile is not
   * shown.
   *
   * @param subject what the panel is about, where that is not the question itself
   */
  async #askFor<Name extends keyof Answers>(
    name: Name,
    question: Question,
    { signal, after }: Asking,
    subject: string = question,
  ): Promise<Reply<Answers[Name]>> {
    const endpoint = this.#endpoints[name];
    const panel = (): Panel<Answers[Name]> => this.#page.state().panels[name];
    const shown = panelAbout(panel(), subject, endpoint.known(question));
    if (shown !== panel()) this.#show(name, shown);
    const first = await after;
    if (first?.kind === 'unauthorized') return first;
    const reply = await endpoint.ask(question, signal);
    if (signal.aborted) return reply;
    const before = panel();
    if (reply.kind === 'trouble') this.#show(name, { ...before, subject, trouble: reply.trouble });
    // What has not changed is not shown again: nothing flickers.
    if (reply.kind === 'answer' && (reply.answer !== before.answer || before.trouble !== undefined)) {
      this.#show(name, { subject, answer: reply.answer, at: Date.now(), trouble: undefined });
    }
    return reply;
  }

  /** The same, unless the question has been answered before: its period is over. */
  async #askOnce(name: 'recent' | 'before', question: Question, asking: Asking): Promise<Reply<unknown>> {
    const known = this.#endpoints[name].known(question);
    if (known === undefined) return this.#askFor(name, question, asking, name);
    if (this.#page.state().panels[name].answer !== known.answer) {
      this.#show(name, { subject: name, ...known, trouble: undefined });
    }
    return NOTHING_ASKED;
  }
}

/** How the questions of a round are asked. */
interface Asking {
  /** Ends them. */
  readonly signal: AbortSignal;
  /** They wait for this answer, and are not asked at all if it says that there has to be a key. */
  readonly after?: Promise<Reply<unknown>>;
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
