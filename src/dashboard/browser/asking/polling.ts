import pLimit from 'p-limit';

import { type Answers, notificationSchema, type PartName, SCHEMAS } from '../model/answers.ts';
import { type PageState, PARTS, withParts } from '../model/page-state.ts';
import { type Asked, askedOf, type Question, alertQuestion } from '../model/questions.ts';
import { afterAnswer, afterTrouble, isPhoneOff, type Part, PACES, type Trouble } from '../model/refresh.ts';
import { keptKey } from './kept.ts';
import { ask, askForFile, type Connection, type Reply } from './service-client.ts';

type AnyAnswer = Answers[PartName];

/** These never wait for other parts. */
const ALERTS: ReadonlySet<PartName> = new Set(['attention', 'notifications', 'opened']);

/** Open questions of the other parts: a browser opens six connections. */
const MOST_OTHERS = 3;

/** The answer of the service to a request without a key, or with a wrong key. */
const unauthorized: Trouble = { kind: 'refused', status: 401, detail: 'It asks for a key.' };

/** An open question of a part, or the wait for its next question. */
interface Turn {
  readonly controller: AbortController;
  readonly question: Question;
  timer?: ReturnType<typeof setTimeout>;
}

/** Polls each part of the page at its own pace: a slow part delays no other part. */
export class Polling {
  readonly #connection: Connection;
  readonly #state: () => PageState;
  readonly #change: (state: PageState) => void;
  readonly #turns = new Map<PartName, Turn>();
  readonly #others = pLimit(MOST_OTHERS);
  /** The last key that the service accepted: a wrong key that a reader types never replaces it. */
  #acceptedKey = keptKey.get();

  constructor(connection: Connection, state: () => PageState, change: (state: PageState) => void) {
    this.#connection = connection;
    this.#state = state;
    this.#change = change;
  }

  /** Polls all parts at once, and after that each at its pace. */
  start(): void {
    for (const [name] of PARTS) this.#ask(name);
  }

  /** Polls at once the parts whose question has changed. */
  askChanged(): void {
    if (this.#turns.size === 0) return;
    for (const [name] of PARTS) {
      if (this.#askedOf(name)?.question !== this.#turns.get(name)?.question) this.#ask(name);
    }
  }

  stop(): void {
    for (const [name] of PARTS) this.#end(name);
  }

  /** The reader takes the key away. */
  forgetKey(): void {
    this.stop();
    this.#acceptedKey = undefined;
    keptKey.set(undefined);
  }

  /** Acts on a notification, or without an action only reads it. @returns why that failed; undefined if it did not */
  async act(id: string, action?: 'stop' | 'acknowledge', post?: object): Promise<Trouble | undefined> {
    const { patience } = PACES.live;
    const question = alertQuestion(id) + (action === undefined ? '' : `/${action}`);
    const reply = await ask(this.#connection, notificationSchema, question, { post, patience });
    if (reply.kind === 'answer') {
      this.#accepted(reply.key);
      this.#change({ ...this.#state(), acted: { at: this.#connection.clock.now(), answer: reply.has.answer } });
    }
    if (reply.kind === 'unauthorized') this.#lock(reply.key);
    for (const name of ALERTS) this.#ask(name);
    return reply.kind === 'trouble' ? reply.trouble : reply.kind === 'unauthorized' ? unauthorized : undefined;
  }

  async file(question: Question): Promise<string | undefined> {
    return askForFile(this.#connection, question, PACES.past.every);
  }

  #askedOf(name: PartName): Asked | undefined {
    return askedOf(this.#state(), name, this.#connection.clock.now());
  }

  #end(name: PartName): void {
    const turn = this.#turns.get(name);
    turn?.controller.abort();
    clearTimeout(turn?.timer);
    this.#turns.delete(name);
  }

  #show(name: PartName, part: Part<AnyAnswer> | undefined): void {
    this.#change(withParts(this.#state(), { [name]: part }));
  }

  /** Shows the new subject of the part, then asks and shows the answer. The answer to an aborted question is not shown. */
  #ask(name: PartName): void {
    this.#end(name);
    const asked = this.#askedOf(name);
    const { parts, isHidden, locked } = this.#state();
    const before: Part<AnyAnswer> | undefined = parts[name];
    if (asked === undefined) {
      // A hidden tab keeps its parts; so does a page whose key is refused. The open alert is in other answers.
      if (before !== undefined && !isHidden && locked === undefined) this.#show(name, undefined);
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
    if (reply.kind === 'unauthorized') this.#lock(reply.key);
    const now = this.#connection.clock.now();
    const before: Part<AnyAnswer> = this.#state().parts[name] ?? { subject, answer: undefined, failures: 0 };
    if (reply.kind === 'unauthorized') {
      // One refusal must not end the alerts: it may be a deployment, or a key that is being replaced.
      if (!ALERTS.has(name)) return;
      const { every } = PACES.locked;
      this.#show(name, { ...before, waitsUntil: undefined, trouble: unauthorized, nextAt: now + every });
      turn.timer = setTimeout(() => this.#ask(name), every);
      return;
    }
    const part =
      reply.kind === 'trouble'
        ? afterTrouble(before, reply.trouble, now, pace, Math.random())
        : afterAnswer(reply.kind === 'answer' ? { ...before, ...reply.has, question } : before, now, pace);
    this.#show(name, part);
    turn.timer = setTimeout(() => this.#ask(name), (part.nextAt ?? now) - now);
    if (reply.kind !== 'trouble' || isPhoneOff(reply.trouble)) this.#accepted(reply.key);
    // A service without fire has another order of the cameras; an open alert may be in a list now.
    if (name === 'activity' || name === 'notifications') this.askChanged();
  }

  /** The service accepted a key, or needs none: the page polls everything again. */
  #accepted(key: string | undefined): void {
    if (key !== keptKey.get()) return;
    this.#acceptedKey = key;
    if (this.#state().locked === undefined) return;
    this.#change({ ...this.#state(), locked: undefined });
    this.start();
  }

  /** The parts keep the answers that an earlier key brought. The page asks for the alerts again, with the last accepted key. */
  #lock(key: string | undefined): void {
    // The answer to an earlier key says nothing about the new one.
    if (key !== keptKey.get()) return;
    keptKey.set(this.#acceptedKey);
    for (const [name] of PARTS) if (!ALERTS.has(name)) this.#end(name);
    this.#change({
      ...this.#state(),
      keyHeld: this.#acceptedKey !== undefined,
      locked: { refused: key !== undefined },
    });
  }
}
