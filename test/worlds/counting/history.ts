import { setTimeout as sleep } from 'node:timers/promises';

import { randomFrom } from '../../../infra/cli/demo/random.ts';
import { type Day, dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { DAY, type PlainMessage, type Question } from '../../analytics/oracle.ts';
import { Chance } from '../chance.ts';
import { Life } from '../life.ts';
import { Story } from '../story.ts';
import { FAIR, UnreliableTable } from '../unreliable-table.ts';
import { inVirtualTime, type VirtualTime } from '../virtual-time.ts';
import { Activity } from './activity.ts';
import { type Answer, told } from './counts.ts';
import { BEGINNING, drawForm, type Form, OLD_DAY, TODAY } from './form.ts';
import { Instance, isUnavailable, REFUSED_AS_CLOSED } from './instance.ts';
import { Truth } from './truth.ts';
import { WatchedTable } from './watched-table.ts';

/** What playing a seed came to. */
export interface Played {
  /** Empty if everything held. */
  readonly broken: readonly string[];
  readonly story: string;
  /** Counts of the played events. They show that the world is not empty. */
  readonly seen: Seen;
}
export type Seen = Readonly<Record<string, number>>;

/** The sum of several seeds. */
export const sumOfSeen = (all: readonly Seen[]): Seen => {
  const names = new Set(all.flatMap((seen) => Object.keys(seen)));
  return Object.fromEntries(
    Array.from(names, (name) => [name, all.reduce((total, seen) => total + (seen[name] ?? 0), 0)]),
  );
};

const LONGEST_MS = 36 * 3_600_000;
/** The clock of an instance that closes days is right, as far as it must be. */
const RIGHT_CLOCK_MS = 290_000;
const WRONG_CLOCK_MS = 6 * 3_600_000;
const TRIES = 4;
const ROUNDS = 60;
/** By then the hold of a stopped rewrite has expired by every clock. */
const HOLD_EXPIRED_MS = 40 * 60_000;

/** Plays one seed. @param isTold whether its story is wanted */
export const play = (seed: number, isTold = false): Promise<Played> =>
  inVirtualTime(BEGINNING, randomFrom(`the service, ${seed}`), isTold, (time) => {
    const chance = new Chance(`the world, ${seed}`);
    const form = drawForm(chance);
    const story = new Story(() => time.now, isTold);
    return new History(chance, time, story, form).play();
  });

const dayFrom = (start: bigint): Day => dayOf(instantFrom(start));

/** One history: instances that record, read, close and rewrite days, their senders and readers, and the storage that they share. */
class History {
  readonly #chance: Chance;
  readonly #time: VirtualTime;
  readonly #story: Story;
  readonly #form: Form;
  readonly #activity: Activity;
  readonly #days: readonly bigint[];
  readonly #truth = new Truth();
  readonly #table: WatchedTable;
  readonly #broken: string[] = [];
  readonly #writers: Instance[] = [];
  readonly #readers: Instance[] = [];
  #isClosed = false;
  #isClosing = false;
  #processes = 0;
  /** How many are still sending messages. */
  #sending: number;
  /** From now on there are no faults. */
  #isCalm = false;
  readonly #seen = { requests: 0, answers: 0, deaths: 0, stripes: 0, closedDays: 0, rewrites: 0, refusedRewrites: 0 };

  constructor(chance: Chance, time: VirtualTime, story: Story, form: Form) {
    this.#chance = chance;
    this.#time = time;
    this.#story = story;
    this.#form = form;
    this.#sending = form.senders;
    this.#days = form.closes ? [OLD_DAY, TODAY] : chance.happens(0.2) ? [TODAY, TODAY + DAY] : [TODAY];
    this.#activity = new Activity(chance, form.frames, this.#days);
    this.#table = new WatchedTable(this.#truth, () => time.now);
    story.tell(() => JSON.stringify(form));
  }

  async play(): Promise<Played> {
    const { instances, senders, askers, closes, rewrites } = this.#form;
    for (let left = instances; left > 0; left -= 1) this.#spawn(this.#writers);
    for (let left = 2; left > 0; left -= 1) this.#spawn(this.#readers, this.#form.readersLatencyMs);
    const using = Promise.all([
      ...Array.from({ length: senders }, async () => this.#send()),
      ...Array.from({ length: askers }, async () => this.#askSome()),
      ...(closes ? [this.#close()] : []),
      ...(rewrites > 0 ? [this.#rewriteSome()] : []),
    ]);
    await this.#through(using, 'somebody waits for ever');
    this.#isCalm = true;
    this.#story.tell(() => 'calm');
    if (this.#broken.length === 0) await this.#through(this.#settle(), 'it does not settle');
    const { broken, contended, undecided } = this.#truth;
    return {
      broken: [...broken, ...this.#broken],
      story: this.#story.text,
      seen: { ...this.#seen, contended, undecided },
    };
  }

  /** Lets time pass until something is done. */
  async #through(doing: Promise<unknown>, otherwise: string): Promise<void> {
    const caught = doing.catch((error: unknown) => this.#break(`the world itself failed: ${textOf(error)}`));
    if (!(await this.#time.passUntil(caught, LONGEST_MS))) this.#break(otherwise);
  }

  #break(line: string): void {
    this.#broken.push(line);
    this.#story.tell(() => `BROKEN: ${line}`);
  }

  // Processes

  /** A process starts; if it dies, another takes its place. */
  #spawn(among: Instance[], latencyMs = this.#form.writersLatencyMs, clocksOffMs = this.#form.clocksOffMs): Instance {
    this.#processes += 1;
    const chance = this.#chance;
    const life = new Life(`#${this.#processes}`, chance.between(-clocksOffMs, clocksOffMs));
    const tell = (line: () => string): void => this.#story.tell(() => `${life.name} ${line()}`);
    // The request to storage that it dies of.
    let fatal = !this.#isCalm && chance.happens(this.#form.mortality) ? Math.ceil(60 * chance.next() ** 2) : Infinity;
    const connection = new UnreliableTable({
      table: this.#table,
      life,
      conditions: () => ({ weather: this.#isCalm ? FAIR : this.#form.weather, isOutage: false }),
      chance,
      latencyMs,
      onRequest: (request) => {
        this.#seen.requests += 1;
        tell(() => `  ${request}`);
        fatal -= 1;
        if (fatal !== 0) return undefined;
        return chance.happens(0.5) ? 'carried out' : 'not carried out';
      },
    });
    const instance = new Instance(life, connection, this.#form.shards(), tell);
    among.push(instance);
    tell(() => 'starts');
    void life.ended.then(async () => {
      this.#seen.deaths += 1;
      tell(() => 'dies');
      await sleep(chance.between(5, 500));
      among.splice(among.indexOf(instance), 1);
      this.#spawn(among, latencyMs, clocksOffMs);
    });
    return instance;
  }

  /** What an instance does; undefined if it dies, or if storage keeps it from it. */
  async #of<Value>({ life }: Instance, what: string, doing: () => Promise<Value>): Promise<Value | undefined> {
    this.#story.tell(() => `${life.name} ${what}`);
    try {
      const value = await life.do(doing);
      this.#story.tell(() => `${life.name} ${what}: done`);
      return value;
    } catch (error) {
      const line = `${life.name} ${what}: ${textOf(error)}`;
      if (isUnavailable(error) && !this.#isCalm) this.#story.tell(() => line);
      else this.#break(line);
      return undefined;
    }
  }

  // Recording

  async #send(): Promise<void> {
    const { requestsOfEach, messagesOfEach, pauseMs } = this.#form;
    for (let left = requestsOfEach; left > 0; left -= 1) {
      await sleep(this.#chance.between(0, pauseMs));
      const length = this.#chance.wholeBetween(1, messagesOfEach);
      const messages = Array.from({ length }, () => this.#activity.message());
      for (
        let tries = 1;
        tries <= TRIES && !(await this.#record(this.#chance.oneOf(this.#writers), messages));
        tries += 1
      ) {
        await sleep(this.#chance.between(1, 300));
      }
    }
    this.#sending -= 1;
  }

  /** @returns whether the messages are acknowledged */
  async #record(instance: Instance, messages: readonly PlainMessage[]): Promise<boolean> {
    for (const message of messages) {
      this.#truth.send(message);
      this.#story.tell(() => `${instance.life.name} gets ${messageText(message)}`);
    }
    const outcomes = await this.#of(instance, 'records', async () => instance.outcomes(messages));
    if (outcomes === undefined) return false;
    for (const [index, message] of messages.entries()) {
      const outcome = outcomes[index] ?? 'nothing';
      const line = `${instance.life.name} answers ${outcome} to ${messageText(message)}`;
      this.#story.tell(() => line);
      const isRight =
        outcome === REFUSED_AS_CLOSED
          ? this.#isClosing && message.ts < TODAY
          : ['recorded', 'unchanged', 'superseded'].includes(outcome) && this.#truth.has(message);
      if (!isRight) this.#break(line);
    }
    return true;
  }

  // Asking

  async #askSome(): Promise<void> {
    const { questionsOfEach, pauseMs } = this.#form;
    for (let left = questionsOfEach; left > 0 && this.#sending > 0; left -= 1) {
      await sleep(this.#chance.between(0, 2 * pauseMs + 50));
      const kind = this.#chance.oneOf(['range', 'range', 'range', 'range', 'series', 'cameras'] as const);
      await this.#ask(this.#chance.oneOf(this.#chance.happens(0.3) ? this.#writers : this.#readers), kind);
    }
  }

  /** Every answer is right at a moment between its question and now. */
  async #ask(
    instance: Instance,
    kind: 'range' | 'series' | 'cameras',
    question = this.#activity.question(),
    day = this.#chance.oneOf(this.#days),
  ): Promise<void> {
    const since = this.#truth.now;
    const answers = await this.#of(
      instance,
      `answers ${questionText(question)}`,
      async (): Promise<readonly (readonly [Question, Answer])[]> => {
        if (kind === 'series') return instance.series(question);
        if (kind === 'cameras') return instance.camerasOf(day, this.#activity.cameras);
        return [[question, await instance.range(question)]];
      },
    );
    for (const [asked, answer] of answers ?? []) {
      this.#seen.answers += 1;
      if (this.#truth.allows(asked, answer, since)) continue;
      const right = told(this.#truth.answer(asked));
      this.#break(`${instance.life.name} answers ${questionText(asked)} with ${told(answer)}; it is ${right}`);
    }
  }

  // Closing and rewriting

  async #close(): Promise<void> {
    await sleep(this.#chance.between(0, 2 * this.#form.pauseMs + 2_000));
    for (let round = 1; round <= ROUNDS && !this.#isClosed; round += 1) {
      // Instances with wrong clocks do nothing.
      const others = this.#chance.happens(0.3) ? this.#writers : [this.#chance.oneOf(this.#writers)];
      const isWrong = this.#chance.happens(0.2);
      const closer = this.#spawn([], undefined, isWrong ? WRONG_CLOCK_MS : RIGHT_CLOCK_MS);
      this.#isClosing = true;
      await Promise.all(
        [closer, ...others].map(async (instance) => {
          await this.#of(instance, 'closes days', async () => instance.closeDays());
          this.#isClosed ||= this.#table.isForgotten(dayFrom(OLD_DAY));
        }),
      );
      await sleep(this.#chance.oneOf([1_000, 600_000, 3_600_000]));
    }
    this.#seen.closedDays = Number(this.#isClosed);
  }

  /** Operators rewrite a day, amid recording or afterwards, each until it succeeds. */
  async #rewriteSome(): Promise<void> {
    await sleep(this.#chance.between(0, 10 * this.#form.pauseMs + 300));
    if (this.#chance.happens(0.4)) while (this.#sending > 0) await sleep(50);
    const day = dayFrom(this.#form.closes ? OLD_DAY : this.#chance.oneOf(this.#days));
    await Promise.all(Array.from({ length: this.#form.rewrites }, async () => this.#rewrite(day)));
  }

  async #rewrite(day: Day): Promise<void> {
    for (let round = 1; round <= ROUNDS; round += 1) {
      const operator = this.#spawn([], undefined, RIGHT_CLOCK_MS);
      const shards = this.#chance.happens(0.5) ? this.#chance.wholeBetween(1, 3) : undefined;
      const rewritten = await this.#of(operator, `rewrites ${day}`, async () => operator.rewrite(day, shards));
      this.#seen.rewrites += Number(rewritten === 'done');
      this.#seen.refusedRewrites += Number(rewritten === 'closes');
      if (rewritten !== undefined && rewritten !== 'again') return;
      await sleep(this.#chance.oneOf([10, 1_000, 100_000]));
    }
    this.#break(`${day} cannot be rewritten`);
  }

  // The end

  /** Without faults, all messages are sent again, and then every answer is right. */
  async #settle(): Promise<void> {
    if (this.#form.rewrites > 0) await sleep(HOLD_EXPIRED_MS);
    const fresh = this.#spawn([]);
    if (!(await this.#record(fresh, this.#activity.sent))) this.#break('what was sent again was not taken');
    if (this.#form.rewrites > 0 && this.#chance.happens(0.3)) await this.#rewrite(dayFrom(TODAY));
    if (this.#activity.sent.some(({ ts }) => ts < TODAY) && !this.#isClosed) {
      await this.#close();
      if (!this.#isClosed) this.#break('the old day is not closed');
    }
    for (const start of this.#days) {
      await this.#ask(fresh, 'cameras', undefined, start);
      await this.#ask(fresh, 'range', { start, end: start + DAY - 1n });
    }
    for (const instance of [fresh, fresh, this.#chance.oneOf(this.#writers), this.#chance.oneOf(this.#readers)]) {
      const question = this.#activity.question();
      await this.#ask(instance, 'range', question);
      if (instance === fresh) await this.#ask(instance, 'series', question);
    }
    for (const partition of this.#table.partitions()) {
      const stripes = this.#table.rows(partition).filter(({ rowKey }) => /^day( \d|$)/.test(rowKey));
      this.#seen.stripes = Math.max(this.#seen.stripes, stripes.length);
    }
  }
}

const textOf = (error: unknown): string =>
  error instanceof Error ? `${error.name} ${error.message} ${error.stack ?? ''}` : String(error);

const timeText = (microseconds: bigint): string =>
  `${new Date(Number(microseconds / 1_000n)).toISOString().slice(0, -1)}${String(microseconds % 1_000n).padStart(3, '0')}`;

const messageText = ({ cameraId, eventId, ts, time, ...facets }: PlainMessage): string =>
  `${eventId} of ${cameraId} at ${timeText(ts)} (${time - ts}) ${JSON.stringify(facets)}`;

const questionText = ({ start, end, cameraId }: Question): string =>
  `${timeText(start)} to ${timeText(end)} of ${cameraId ?? 'all'}`;
