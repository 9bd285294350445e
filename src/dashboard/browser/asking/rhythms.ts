import pLimit from 'p-limit';

import {
  activitySchema,
  camerasSchema,
  knownSchema,
  type Notification,
  notificationSchema,
  notificationsSchema,
  seriesSchema,
} from '../model/answers.ts';
import { type Asked, askedOf, HIDDEN_PARTS } from '../model/asked.ts';
import {
  type Answers,
  NOTHING,
  type PageEvent,
  type PageState,
  type Panel,
  PARTS,
  type PartName,
} from '../model/page-state.ts';
import { type Question, storyQuestion } from '../model/questions.ts';
import { afterReply, answeredAt, PACE, type Refresh } from '../model/refresh.ts';
import { type Connection, Endpoint, type Reply } from './endpoint.ts';

/** What the rhythms need of the page. */
export interface RhythmsPage {
  readonly state: () => PageState;
  readonly happened: (event: PageEvent) => void;
}

/** Parts that are asked about beside everything else: of the others, so many at a time, because a browser opens six connections. */
const ALERTS: ReadonlySet<PartName> = new Set(['attention', 'notifications', 'story']);
const MOST_OTHERS = 3;

type AnyAnswer = Answers[PartName];

/** A question about one part that is open, or the wait for the next one. */
interface Turn {
  readonly controller: AbortController;
  readonly question: Question;
  timer?: ReturnType<typeof setTimeout>;
}

/** Asks the service about each part of the page in a rhythm of its own: nothing waits for a part that is slow. */
export class Rhythms {
  readonly #page: RhythmsPage;
  readonly #connection: Connection;
  readonly #endpoints: { readonly [Name in PartName]: Endpoint<Answers[Name]> };
  readonly #turns = new Map<PartName, Turn>();
  readonly #others = pLimit(MOST_OTHERS);
  /** Whether the service has answered without a key. Before that, one question finds out whether there has to be one. */
  #isOpen = false;
  #isHidden = false;

  constructor(connection: Connection, page: RhythmsPage) {
    this.#page = page;
    this.#connection = connection;
    this.#endpoints = {
      attention: new Endpoint(connection, notificationsSchema),
      activity: new Endpoint(connection, activitySchema),
      series: new Endpoint(connection, seriesSchema),
      // With all cameras and many categories, an answer takes megabytes.
      cameras: new Endpoint(connection, camerasSchema, 3),
      notifications: new Endpoint(connection, notificationsSchema),
      story: new Endpoint(connection, notificationSchema),
      recent: new Endpoint(connection, activitySchema, 1),
      known: new Endpoint(connection, knownSchema, 1),
    };
  }

  /** Asks about everything at once, and from then on by itself. @param isHidden nobody sees the page */
  start({ isHidden = this.#isHidden, byHand = false } = {}): void {
    this.#isHidden = isHidden;
    this.pause();
    for (const [name] of PARTS) {
      if (this.#asksFirst() ? name === 'attention' : !isHidden || HIDDEN_PARTS.has(name)) this.#ask(name, byHand);
    }
  }

  /** Asks at once about the parts that are about something else now. */
  askChanged(): void {
    if (this.#turns.size === 0 || this.#isHidden || this.#asksFirst()) return;
    for (const [name] of PARTS) {
      const asked = this.#askedOf(name);
      if (asked?.question !== this.#turns.get(name)?.question) this.#ask(name, false);
    }
  }

  /** Asks nothing more until {@link start}. */
  pause(): void {
    for (const [name] of PARTS) this.#end(name);
  }

  /** Asks nothing more and forgets every answer, as whoever takes the key away wants. */
  forget(): void {
    this.pause();
    this.#isOpen = false;
    for (const endpoint of Object.values(this.#endpoints)) endpoint.forget();
  }

  /** Has something done to a notification, and shows what became of it. @param action `stop`, `acknowledge` */
  async act(id: string, action: string, body: object): Promise<void> {
    const question = storyQuestion(id);
    const { signal } = new AbortController();
    const reply = await this.#endpoints.story.ask(`${question}/${action}`, { signal, post: body });
    if (reply.kind === 'unauthorized') return this.#lock(reply.keySent);
    const trouble = reply.kind === 'trouble' ? reply.trouble : undefined;
    this.#page.happened({ kind: 'action ended', id, trouble });
    if (reply.kind === 'answer') this.#replace(reply.answer);
    for (const name of ALERTS) this.#ask(name, true);
  }

  /** The cameras of a question, however many: for a file. Undefined where they could not be had. */
  async askOnce(question: Question): Promise<Answers['cameras'] | undefined> {
    const endpoint = new Endpoint(this.#connection, camerasSchema, 0);
    const reply = await endpoint.ask(question, { signal: new AbortController().signal });
    return reply.kind === 'answer' ? reply.answer : undefined;
  }

  /** Shows how a notification stands wherever it is shown. */
  #replace(notification: Notification): void {
    const { attention, notifications, story } = this.#page.state().panels;
    const isIt = (each: Notification): boolean => each.notification_id === notification.notification_id;
    const inList = (panel: Panel<Answers['attention']>): Panel<Answers['attention']> => ({
      ...panel,
      answer: panel.answer && {
        notifications: panel.answer.notifications.map((each) => (isIt(each) ? notification : each)),
      },
    });
    const panels = {
      attention: inList(attention),
      notifications: inList(notifications),
      story: story.answer !== undefined && isIt(story.answer) ? { ...story, answer: notification } : story,
    };
    this.#page.happened({ kind: 'parts changed', panels, refreshes: {} });
  }

  #asksFirst(): boolean {
    return this.#connection.key() === undefined && !this.#isOpen;
  }

  #askedOf(name: PartName): Asked | undefined {
    const asked = askedOf(this.#page.state(), name, this.#connection.clock.now());
    return asked && this.#isHidden ? { ...asked, pace: Math.max(asked.pace, PACE.hidden) } : asked;
  }

  #end(name: PartName): void {
    const turn = this.#turns.get(name);
    turn?.controller.abort();
    clearTimeout(turn?.timer);
    this.#turns.delete(name);
  }

  #show(name: PartName, panel: Panel<AnyAnswer>, refresh: Refresh | undefined): void {
    this.#page.happened({ kind: 'parts changed', panels: { [name]: panel }, refreshes: { [name]: refresh } });
  }

  /** Turns the part to what it is about at once, then asks and shows what comes; an answer to a question that was ended is not shown. */
  #ask(name: PartName, byHand: boolean): void {
    this.#end(name);
    const asked = this.#askedOf(name);
    if (asked === undefined) {
      if (this.#page.state().refreshes[name] !== undefined) this.#show(name, NOTHING, undefined);
      return;
    }
    const { question, subject, pace } = asked;
    const turn: Turn = { controller: new AbortController(), question };
    this.#turns.set(name, turn);
    const { signal } = turn.controller;
    const endpoint = this.#endpoints[name];
    const panel = this.#page.state().panels[name];
    if (panel.subject !== subject) {
      const known = endpoint.known(question);
      const last = known && answeredAt(known.at, pace);
      this.#show(name, { subject, answer: known?.answer }, { phase: 'asking', last });
    } else if (this.#page.state().refreshes[name] === undefined) this.#show(name, panel, { phase: 'asking' });
    const isUrgent = ALERTS.has(name);
    const ask = async (): Promise<Reply<AnyAnswer>> => endpoint.ask(question, { signal, isUrgent });
    void (isUrgent ? ask() : this.#others(ask)).then((reply) => {
      if (!signal.aborted) this.#heard(name, reply, { ...asked, byHand, turn });
    });
  }

  #heard(
    name: PartName,
    reply: Reply<AnyAnswer>,
    { subject, pace, byHand, turn }: Asked & { readonly byHand: boolean; readonly turn: Turn },
  ): void {
    if (reply.kind === 'unauthorized') return this.#lock(reply.keySent);
    const before = this.#page.state();
    const now = this.#connection.clock.now();
    const trouble = reply.kind === 'trouble' ? reply.trouble : undefined;
    const asked = { now, pace, byHand, chance: Math.random() };
    const refresh = afterReply(before.refreshes[name] ?? { phase: 'asking' }, trouble, asked);
    const panel = before.panels[name];
    // What has not changed stays the same object: nothing of it is drawn anew.
    this.#show(
      name,
      reply.kind === 'answer' && reply.answer !== panel.answer ? { subject, answer: reply.answer } : panel,
      refresh,
    );
    if (refresh.phase !== 'asking') turn.timer = setTimeout(() => this.#ask(name, false), refresh.nextAt - now);
    if (!this.#asksFirst()) return;
    this.#isOpen = true;
    for (const [other] of PARTS) if (other !== name && !this.#isHidden) this.#ask(other, byHand);
  }

  #lock(keySent: boolean): void {
    this.pause();
    this.#isOpen = false;
    this.#page.happened({ kind: 'unauthorized', keySent });
  }
}
