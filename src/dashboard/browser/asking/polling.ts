import pLimit from 'p-limit';
import type * as z from 'zod/mini';

import {
  accuracySchema,
  activitySchema,
  camerasSchema,
  knownSchema,
  notificationSchema,
  notificationsSchema,
  seriesSchema,
} from '../model/answers.ts';
import { type Answers, type PageEvent, type PageState, PARTS, type PartName } from '../model/page-state.ts';
import { type Question, storyQuestion } from '../model/questions.ts';
import { afterAnswer, afterTrouble, type Part, PACES } from '../model/refresh.ts';
import { type Asked, askedOf } from '../model/what-is-asked.ts';
import { ask, askForFile, type Connection, type Reply } from './service-client.ts';

/** What polling needs of the page. */
export interface PolledPage {
  readonly state: () => PageState;
  readonly happened: (event: PageEvent) => void;
}

type AnyAnswer = Answers[PartName];

const SCHEMAS: { readonly [Name in PartName]: z.ZodMiniType<Answers[Name]> } = {
  attention: notificationsSchema,
  story: notificationSchema,
  notifications: notificationsSchema,
  recent: activitySchema,
  known: knownSchema,
  activity: activitySchema,
  series: seriesSchema,
  cameras: camerasSchema,
  accuracy: accuracySchema,
};

/** Parts that never wait for the others. Of the others, so many are asked about at a time: a browser opens six connections. */
const ALERTS: ReadonlySet<PartName> = new Set(['attention', 'notifications', 'story']);
const MOST_OTHERS = 3;

/** An open question about one part, or the wait for the next one. */
interface Turn {
  readonly controller: AbortController;
  readonly question: Question;
  timer?: ReturnType<typeof setTimeout>;
}

/** Asks the service about each part of the page at its own pace: nothing waits for a part that is slow. */
export class Polling {
  readonly #page: PolledPage;
  readonly #connection: Connection;
  readonly #turns = new Map<PartName, Turn>();
  readonly #others = pLimit(MOST_OTHERS);

  constructor(connection: Connection, page: PolledPage) {
    this.#page = page;
    this.#connection = connection;
  }

  /** Asks about everything at once, and from then on by itself. */
  start(): void {
    for (const [name] of PARTS) this.#ask(name);
  }

  /** Asks at once about the parts that are about something else now. */
  askChanged(): void {
    if (this.#turns.size === 0) return;
    for (const [name] of PARTS) {
      if (this.#askedOf(name)?.question !== this.#turns.get(name)?.question) this.#ask(name);
    }
  }

  /** Asks nothing more until {@link start}. */
  stop(): void {
    for (const [name] of PARTS) this.#end(name);
  }

  /** Does something to a notification, and shows what became of it. @param action `stop`, `acknowledge` */
  async act(id: string, action: string, body: object): Promise<void> {
    const { patience } = PACES.live;
    const question = `${storyQuestion(id)}/${action}`;
    const reply = await ask(this.#connection, notificationSchema, question, { post: body, patience });
    if (reply.kind === 'unauthorized') return this.#lock(reply.keySent);
    if (reply.kind === 'trouble') this.#page.happened({ kind: 'action failed', id, trouble: reply.trouble });
    if (reply.kind === 'answer') {
      this.#page.happened({ kind: 'action done', at: this.#connection.clock.now(), answer: reply.has.answer });
    }
    for (const name of ALERTS) this.#ask(name);
  }

  /** A CSV file of the service; undefined if it gives none now. */
  async file(question: Question): Promise<string | undefined> {
    return askForFile(this.#connection, question, PACES.past.every);
  }

  #askedOf(name: PartName): Asked | undefined {
    return askedOf(this.#page.state(), name, this.#connection.clock.now());
  }

  #end(name: PartName): void {
    const turn = this.#turns.get(name);
    turn?.controller.abort();
    clearTimeout(turn?.timer);
    this.#turns.delete(name);
  }

  #show(name: PartName, part: Part<AnyAnswer> | undefined): void {
    this.#page.happened({ kind: 'part changed', parts: { [name]: part } });
  }

  /** Shows what the part is about now, then asks and shows the answer. An answer to a question that was ended is not shown. */
  #ask(name: PartName): void {
    this.#end(name);
    const asked = this.#askedOf(name);
    const { parts, isHidden } = this.#page.state();
    const before: Part<AnyAnswer> | undefined = parts[name];
    if (asked === undefined) {
      // A hidden tab keeps what it showed.
      if (before !== undefined && !isHidden) this.#show(name, undefined);
      return;
    }
    const { question, subject, pace } = asked;
    const turn: Turn = { controller: new AbortController(), question };
    this.#turns.set(name, turn);
    const part = before?.subject === subject ? before : { subject, answer: undefined, failures: 0 };
    this.#show(name, { ...part, waitsUntil: this.#connection.clock.now() + pace.patience });
    const { signal } = turn.controller;
    const isUrgent = ALERTS.has(name);
    const etag = part.question === question ? part.etag : undefined;
    const send = async (): Promise<Reply<AnyAnswer>> =>
      ask<AnyAnswer>(this.#connection, SCHEMAS[name], question, { signal, etag, patience: pace.patience, isUrgent });
    void (isUrgent ? send() : this.#others(send)).then((reply) => {
      if (!signal.aborted) this.#heard(name, reply, asked, turn);
    });
  }

  #heard(name: PartName, reply: Reply<AnyAnswer>, { question, subject, pace }: Asked, turn: Turn): void {
    if (reply.kind === 'unauthorized') return this.#lock(reply.keySent);
    const now = this.#connection.clock.now();
    const before: Part<AnyAnswer> = this.#page.state().parts[name] ?? { subject, answer: undefined, failures: 0 };
    const part =
      reply.kind === 'trouble'
        ? afterTrouble(before, reply.trouble, now, pace, Math.random())
        : afterAnswer(reply.kind === 'answer' ? { ...before, ...reply.has, question } : before, now, pace);
    this.#show(name, part);
    turn.timer = setTimeout(() => this.#ask(name), (part.nextAt ?? now) - now);
  }

  #lock(keySent: boolean): void {
    this.stop();
    this.#page.happened({ kind: 'unauthorized', keySent });
  }
}
