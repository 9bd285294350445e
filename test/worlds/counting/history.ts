import { setTimeout as sleep } from 'node:timers/promises';

import { randomFrom } from '../../../infra/cli/demo/random.ts';
import { type Day, dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { DAYS_PARTITION } from '../../../src/analytics/rows/keys.ts';
import type { PlainMessage, Question } from '../../analytics/oracle.ts';
import { Chance } from '../chance.ts';
import { Life } from '../life.ts';
import { Story } from '../story.ts';
import { FAIR, UnreliableTable, type Weather } from '../unreliable-table.ts';
import { inVirtualTime, type VirtualTime } from '../virtual-time.ts';
import { type Activity, drawActivity } from './activity.ts';
import { type Answer, told } from './counts.ts';
import { damageSome } from './damage.ts';
import { BEGINNING, drawForm, type Form, OLD_DAY, TODAY } from './form.ts';
import { Instance, isDamage, isUnavailable, REFUSED_AS_CLOSED, type Rewritten } from './instance.ts';
import { type Asked, Truth } from './truth.ts';
import { WatchedTable } from './watched-table.ts';

/** What playing a seed came to. */
export interface Played {
  /** Empty if everything held. */
  readonly broken: readonly string[];
  readonly story: string;
  readonly seen: Seen;
}

/** Counts of the played events. They show that the world is not empty. */
const NOTHING = {
  requests: 0,
  answers: 0,
  /** Answers whose events changed before they came, and answers that have too many possible values to be checked. */
  contended: 0,
  undecided: 0,
  deaths: 0,
  stripes: 0,
  closedDays: 0,
  /** Days that were rewritten, after damage too, and rewrites that came too late: the closing was announced. */
  rewrites: 0,
  mended: 0,
  refusals: 0,
  /** Closed days with seconds that had overflowed, and tables that were made anew. */
  overflowed: 0,
  anew: 0,
};
export type Seen = typeof NOTHING;

/** The sum of several seeds. */
export const sumOfSeen = (all: readonly Readonly<Seen>[]): Seen => {
  const sum = { ...NOTHING };
  // oxlint-disable-next-line no-unsafe-type-assertion -- these are its keys
  for (const name of Object.keys(NOTHING) as (keyof Seen)[])
    sum[name] = all.reduce((total, seen) => total + seen[name], 0);
  return sum;
};

const DAY_US = 86_400_000_000n;
const MINUTE_US = 60_000_000n;
const LONGEST_MS = 36 * 3_600_000;
/** The clock of an instance that closes days is right, as far as it must be. */
const RIGHT_CLOCK_MS = 290_000;
const WRONG_CLOCK_MS = 6 * 3_600_000;
const TRIES = 4;
const ROUNDS = 60;
/** A suspended rewrite loses its hold. Later rounds are not suspended: otherwise two operators may take the day over from each other forever. */
const SUSPENDED_ROUNDS = 8;
/** By then the hold of a stopped rewrite has expired by every clock. */
const HOLD_EXPIRED_MS = 40 * 60_000;
/** How often the command that rewrites a day tries a read. */
const READ_TRIES = 10;
/** The share of commits that the witness checks at once. */
const WITNESSED = 0.1;

/** Plays one seed. @param isTold whether its story is wanted */
export const play = (seed: number, isTold = false): Promise<Played> =>
  inVirtualTime(BEGINNING, randomFrom(`the service, ${seed}`), isTold, (time) => {
    const chance = new Chance(`the world, ${seed}`);
    const form = drawForm(chance);
    const story = new Story(() => time.now, isTold);
    return new History(chance, time, story, form).play();
  });

const dayFrom = (start: bigint): Day => dayOf(instantFrom(start));

/** One history: instances that record, read and close, their senders and readers, and the storage that they share. */
class History {
  readonly #chance: Chance;
  readonly #time: VirtualTime;
  readonly #story: Story;
  readonly #form: Form;
  readonly #activity: Activity;
  readonly #days: readonly bigint[];
  readonly #truth = new Truth();
  readonly #table: WatchedTable;
  /** How storage behaves now. */
  readonly #conditions: { weather: Weather; isOutage: boolean };
  readonly #broken: string[] = [];
  /** Reads without any delay, so that nothing happens between its question and the answer. */
  readonly #witness: Instance;
  readonly #writers: Instance[] = [];
  readonly #readers: Instance[] = [];
  #isClosed = false;
  #isClosing = false;
  #isDamaged = false;
  /** How often rows were damaged or put right, or the table was made anew. */
  #damages = 0;
  #processes = 0;
  /** The round of the operator that last began a rewrite. */
  #rounds = 0;
  /** How many are still sending messages. */
  #sending = 0;
  #isCalm = false;
  readonly #seen = sumOfSeen([]);

  constructor(chance: Chance, time: VirtualTime, story: Story, form: Form) {
    this.#chance = chance;
    this.#time = time;
    this.#story = story;
    this.#form = form;
    this.#days = form.closes ? [OLD_DAY, TODAY] : chance.happens(0.2) ? [TODAY, TODAY + DAY_US] : [TODAY];
    this.#activity = drawActivity(chance, { ...form, days: this.#days });
    this.#table = new WatchedTable(this.#truth, () => time.now);
    this.#conditions = { weather: form.weather, isOutage: false };
    this.#witness = new Instance({
      life: new Life('witness', 0),
      connection: this.#table,
      shardsOfNewDays: 1,
      tell: () => undefined,
    });
    this.#truth.onCommit = () => {
      if (chance.happens(WITNESSED)) void this.#witnessNow();
    };
    story.tell(() => JSON.stringify(form));
  }

  async play(): Promise<Played> {
    const { instances, closes, rewrites, outages } = this.#form;
    for (let count = 0; count < instances; count += 1) this.#spawn(this.#writers, this.#form.writersLatencyMs);
    for (let count = 0; count < 2; count += 1) this.#spawn(this.#readers, this.#form.readersLatencyMs);
    const { crowds } = this.#activity;
    const using = Promise.all([
      ...crowds.map(async (messages) => this.#record(this.#any(this.#writers), messages)),
      ...Array.from({ length: this.#form.senders }, async (_, sender) => {
        this.#sending += 1;
        await this.#send(sender);
        this.#sending -= 1;
      }),
      ...Array.from({ length: this.#form.askers }, async () => this.#askSome()),
      ...(closes ? [this.#close()] : []),
      ...(rewrites > 0 ? [this.#damageAndRewrite()] : []),
      ...Array.from({ length: outages }, async () => this.#outage()),
    ]);
    await this.#through(using, 'somebody waits for ever');
    this.#isCalm = true;
    this.#conditions.weather = FAIR;
    this.#conditions.isOutage = false;
    this.#story.tell(() => 'calm');
    if (this.#broken.length === 0) await this.#through(this.#settle(), 'it does not settle');
    this.#seen.contended = this.#truth.contended;
    this.#seen.undecided = this.#truth.undecided;
    return { broken: [...this.#truth.broken, ...this.#broken], story: this.#story.text, seen: this.#seen };
  }

  /** Lets time pass until something is done. */
  async #through(doing: Promise<unknown>, otherwise: string): Promise<void> {
    const caught = doing.catch((error: unknown) => this.#break(() => `the world itself failed: ${textOf(error)}`));
    if (!(await this.#time.passUntil(caught, LONGEST_MS))) this.#break(() => otherwise);
  }

  #break(what: () => string): void {
    const line = what();
    this.#broken.push(line);
    this.#story.tell(() => `BROKEN: ${line}`);
  }

  // Processes

  #spawn(among: Instance[], latencyMs: number, clocksOffMs = this.#form.clocksOffMs, readTries?: number): Instance {
    this.#processes += 1;
    const chance = this.#chance;
    // The request to storage that it dies of.
    const fatal = !this.#isCalm && chance.happens(this.#form.mortality) ? Math.ceil(60 * chance.next() ** 2) : Infinity;
    const { hasOwnShards, shards } = this.#form;
    const life = new Life(`#${this.#processes}`, chance.between(-clocksOffMs, clocksOffMs));
    let requests = 0;
    const connection = new UnreliableTable({
      table: this.#table,
      life,
      conditions: () => this.#conditions,
      chance,
      latencyMs,
      onRequest: (request) => {
        this.#seen.requests += 1;
        requests += 1;
        this.#story.tell(() => `${life.name}   ${request()}`);
        if (requests !== fatal) return undefined;
        return chance.happens(0.5) ? 'carried out' : 'not carried out';
      },
    });
    const { suspensions, suspendedMs } = this.#form;
    const isSpared = (): boolean => readTries !== undefined && this.#rounds > SUSPENDED_ROUNDS;
    const instance = new Instance({
      life,
      connection,
      shardsOfNewDays: hasOwnShards ? chance.wholeBetween(1, 3) : shards,
      readTries,
      suspendedMs: () =>
        !this.#isCalm && !isSpared() && chance.happens(suspensions) ? chance.between(100, suspendedMs) : 0,
      tell: (line) => this.#story.tell(() => `${life.name} ${line()}`),
    });
    among.push(instance);
    this.#story.tell(() => `${life.name} starts`);
    void life.ended.then(async () => {
      this.#seen.deaths += 1;
      this.#story.tell(() => `${life.name} dies`);
      await sleep(chance.between(5, 500));
      among.splice(among.indexOf(instance), 1);
      this.#spawn(among, latencyMs, clocksOffMs, readTries);
    });
    return instance;
  }

  #any(among: readonly Instance[]): Instance {
    const instance = this.#chance.anyOf(among);
    if (instance === undefined) throw new Error('there is no instance');
    return instance;
  }

  /** The answer of an instance; undefined if it dies, or if storage keeps it from answering. */
  async #of<Value>(
    instance: Instance,
    ask: (instance: Instance) => Promise<Value>,
    what: string,
  ): Promise<Value | undefined> {
    const { life } = instance;
    const damages = this.#damages;
    try {
      return await life.do(async () => ask(instance));
    } catch (error) {
      if (isUnavailable(error) && !this.#isCalm) {
        this.#story.tell(() => `${life.name} ${what}: ${textOf(error)}`);
      } else if (!isDamage(error) || !this.#isDamagedSince(damages)) {
        this.#break(() => `${life.name} ${what}: ${textOf(error)}`);
      }
      return undefined;
    }
  }

  /** Whether rows were damaged since, or are. Then answers have no promise. */
  #isDamagedSince(damages: number): boolean {
    return this.#isDamaged || this.#damages !== damages;
  }

  // Recording

  async #send(sender: number): Promise<void> {
    const { requestsOfEach, messagesOfEach, pauseMs } = this.#form;
    for (let left = requestsOfEach; left > 0; left -= 1) {
      await sleep(this.#chance.between(0, pauseMs));
      const messages = Array.from({ length: this.#chance.wholeBetween(1, messagesOfEach) }, this.#activity.draw);
      for (let tries = 1; tries <= TRIES; tries += 1) {
        const own = this.#form.hasOwnInstances ? this.#writers[sender % this.#writers.length] : undefined;
        if (await this.#record(own ?? this.#any(this.#writers), messages)) break;
        await sleep(this.#chance.between(1, 300));
      }
    }
  }

  /** @returns whether the messages are acknowledged */
  async #record(instance: Instance, messages: readonly PlainMessage[]): Promise<boolean> {
    for (const message of messages) this.#truth.send(message);
    const { name } = instance.life;
    this.#story.tell(() => `${name} gets ${messages.map(messageText).join(' + ')}`);
    const damages = this.#damages;
    const outcomes = await this.#of(instance, (one) => one.outcomes(messages), 'does not record');
    if (outcomes === undefined) return false;
    this.#story.tell(() => `${name} answers ${outcomes.join(', ')}`);
    for (const [index, message] of messages.entries()) {
      const outcome = outcomes[index];
      const day = dayFrom(message.ts);
      if (outcome === 'recorded' || outcome === 'unchanged' || outcome === 'superseded') {
        if (!this.#truth.has(message)) this.#break(() => `${messageText(message)} is lost: acknowledged by ${name}`);
      } else if (outcome === REFUSED_AS_CLOSED) {
        if (!this.#isClosing || message.ts >= TODAY) this.#break(() => `${day} is open, and ${name} says it is closed`);
      } else if (!this.#isDamagedSince(damages)) {
        this.#break(() => `${messageText(message)}: ${outcome ?? 'no outcome'}`);
      }
    }
    return true;
  }

  // Asking

  async #askSome(): Promise<void> {
    for (let left = this.#form.questionsOfEach; left > 0 && this.#sending > 0; left -= 1) {
      await sleep(this.#chance.between(0, this.#form.questionsPauseMs));
      await this.#ask(this.#any(this.#chance.happens(0.3) ? this.#writers : this.#readers));
    }
  }

  async #ask(instance: Instance): Promise<void> {
    const chance = this.#chance;
    const question = this.#activity.ask(chance);
    const kind = chance.byProbability([
      [0.6, 'range'],
      [0.15, 'series'],
      [0.15, 'cameras'],
      [0.08, 'accuracy'],
      [0.02, 'audit'],
    ]);
    const day = dayFrom(chance.anyOf(this.#days) ?? TODAY);
    if (kind === 'series') await this.#askSeries(instance, question);
    else if (kind === 'cameras') await this.#askCameras(instance, day);
    else if (kind === 'accuracy')
      await this.#askAccuracy(instance, day, chance.happens(0.5) ? question.cameraId : undefined);
    else if (kind === 'audit') await this.#audit(instance, day);
    else await this.#askRange(instance, question);
  }

  async #askRange(instance: Instance, question: Question): Promise<void> {
    const check = this.#checking(instance);
    const answer = await this.#of(instance, (one) => one.range(question), 'does not answer');
    if (answer !== undefined) check(question, answer);
  }

  async #askSeries(instance: Instance, question: Question): Promise<void> {
    const length = question.end - question.start;
    const step =
      length > 40n * 60n * MINUTE_US
        ? this.#chance.oneOf(['day', '6_hours'] as const)
        : length > 120n * MINUTE_US
          ? this.#chance.oneOf(['hour', '3_hours', '30_minutes'] as const)
          : this.#chance.oneOf(['minute', '5_minutes', '10_minutes'] as const);
    const check = this.#checking(instance);
    const steps = await this.#of(instance, (one) => one.series(question, step), 'does not answer');
    for (const { question: ofStep, counts, cameras } of steps ?? []) check(ofStep, { counts, cameras });
  }

  async #askCameras(instance: Instance, day: Day): Promise<void> {
    const start = BigInt(Date.parse(day)) * 1_000n;
    const check = this.#checking(instance);
    const activities = await this.#of(instance, (one) => one.cameras(day), 'does not answer');
    if (activities === undefined) return;
    for (const cameraId of new Set([...this.#activity.cameras, ...activities.keys()])) {
      const counts = activities.get(cameraId) ?? new Map<string, number>();
      check({ start, end: start + DAY_US - 1n, cameraId }, { counts, cameras: counts.has('events') ? 1 : 0 });
    }
  }

  /** A check of answers to a question that begins now. */
  #checking({ life }: Instance, asked?: Asked): (question: Question, answer: Answer) => void {
    const [since, damages] = [this.#truth.now, this.#damages];
    return (question, answer) => {
      if (this.#isDamagedSince(damages)) return;
      this.#seen.answers += 1;
      if (this.#truth.allows(question, answer, since, asked)) return;
      const right = this.#truth.answer(question, asked);
      this.#break(() => `${life.name} answers ${questionText(question)} with ${told(answer)}; it is ${told(right)}`);
    };
  }

  /** A reader that asks now sees the last commit. */
  async #witnessNow(): Promise<void> {
    if (!this.#isDamaged) await this.#askRange(this.#witness, this.#activity.ask(this.#chance));
  }

  async #audit(instance: Instance, day: Day): Promise<void> {
    const damages = this.#damages;
    const lines = await this.#of(instance, (one) => one.audit(day), 'does not audit');
    if (lines === undefined || this.#isDamagedSince(damages)) return;
    this.#seen.answers += 1;
    for (const line of lines) this.#break(() => `${instance.life.name} audits ${day}: ${line}`);
  }

  async #askAccuracy(instance: Instance, day: Day, cameraId?: string): Promise<void> {
    const start = BigInt(Date.parse(day)) * 1_000n;
    const check = this.#checking(instance, 'accuracy');
    const counts = await this.#of(instance, (one) => one.accuracy(day, cameraId), 'does not answer');
    if (counts === undefined) return;
    check({ start, end: start + DAY_US - 1n, cameraId }, { counts, cameras: undefined });
  }

  // Closing and outages

  async #close(): Promise<void> {
    await sleep(this.#chance.between(0, 2 * this.#form.pauseMs + 2_000));
    for (let round = 1; round <= ROUNDS && !this.#isClosed; round += 1) {
      // Instances with wrong clocks do nothing.
      const others = this.#chance.happens(0.3) ? this.#writers : [this.#any(this.#writers)];
      const isWrong = this.#chance.happens(0.2);
      const closer = this.#spawn([], this.#form.writersLatencyMs, isWrong ? WRONG_CLOCK_MS : RIGHT_CLOCK_MS);
      this.#isClosing = true;
      await Promise.all(
        [closer, ...others].map(async (instance) => {
          this.#story.tell(() => `${instance.life.name} closes days`);
          await this.#of(instance, (one) => one.closeDays(), 'does not close');
          this.#isClosed ||= this.#table.isForgotten(dayFrom(OLD_DAY));
        }),
      );
      await sleep(this.#chance.oneOf([1_000, 600_000, 3_600_000]));
    }
    this.#seen.closedDays = Number(this.#isClosed);
    this.#seen.overflowed = Number(this.#isClosed && this.#form.overflows);
  }

  /** Rows are damaged, or the row of the day is lost. Then several operators rewrite the day, each until it succeeds. */
  async #damageAndRewrite(): Promise<void> {
    const { closes, damages, pauseMs, rewrites } = this.#form;
    await sleep(this.#chance.between(0, 10 * pauseMs + 300));
    // Amid recording, or afterwards.
    if (this.#chance.happens(0.4)) while (this.#sending > 0) await sleep(50);
    const day = dayFrom(this.#chance.anyOf(closes ? [OLD_DAY] : this.#days) ?? TODAY);
    const isDamaged = damages && (await this.#damage(day));
    await sleep(this.#chance.oneOf([0, 50, 400]));
    const rewritten = await Promise.all(Array.from({ length: rewrites }, async () => this.#rewrite(day)));
    if (!isDamaged) return;
    this.#damages += 1;
    // Of a day that closed with its damage nothing is promised.
    if (rewritten.includes('closes') && !rewritten.includes('done')) return;
    this.#isDamaged = false;
    this.#seen.mended += 1;
    await this.#witnessNow();
  }

  /** @returns whether something was damaged */
  async #damage(day: Day): Promise<boolean> {
    const partitions = this.#table.partitionsThatCount(day);
    if (partitions.length === 0 || this.#table.isHeld(day)) return false;
    this.#isDamaged = true;
    this.#damages += 1;
    const isLost = this.#chance.happens(0.4);
    if (isLost) await this.#table.tamper(DAYS_PARTITION, [{ kind: 'delete', rowKey: day }]);
    const lines = isLost ? ['its row is lost'] : await damageSome(this.#table, partitions, this.#chance);
    this.#story.tell(() => `damage to ${day}: ${lines.join('; ')}`);
    return true;
  }

  async #rewrite(day: Day): Promise<Rewritten | undefined> {
    for (let round = 1; round <= ROUNDS; round += 1) {
      this.#rounds = round;
      const operator = this.#spawn([], this.#form.writersLatencyMs, RIGHT_CLOCK_MS, READ_TRIES);
      const shards = this.#chance.happens(0.5) ? this.#chance.wholeBetween(1, 3) : undefined;
      this.#story.tell(() => `${operator.life.name} rewrites ${day}`);
      const rewritten = await this.#of(operator, (one) => one.rewrite(day, shards), 'does not rewrite');
      this.#story.tell(() => `${operator.life.name} rewrote ${day}: ${rewritten}`);
      if (rewritten === 'closes') this.#seen.refusals += 1;
      if (rewritten === 'done') this.#seen.rewrites += 1;
      if (rewritten !== undefined && rewritten !== 'again') return rewritten;
      await sleep(this.#chance.oneOf([10, 1_000, 100_000]));
    }
    this.#break(() => `${day} cannot be rewritten`);
    return undefined;
  }

  /** The table is deleted while everything runs. After the time that the README says to wait, all is sent again, to any instance. */
  async #makeAnew(): Promise<void> {
    this.#story.tell(() => 'the table is deleted');
    this.#table.drop();
    this.#truth.forgetCommits();
    this.#damages += 1;
    this.#isDamaged = this.#isClosed = this.#isClosing = false;
    await sleep(60_000);
    await this.#record(this.#any(this.#writers), this.#activity.sent);
    this.#seen.anew = 1;
  }

  async #outage(): Promise<void> {
    await sleep(this.#chance.between(0, 10 * this.#form.pauseMs + 200));
    this.#story.tell(() => 'an outage begins');
    this.#conditions.isOutage = true;
    await sleep(this.#chance.oneOf([100, 3_000, 30_000]));
    this.#conditions.isOutage = this.#isCalm && this.#conditions.isOutage;
    this.#story.tell(() => 'the outage is over');
  }

  // The end

  /** Without faults, all messages are sent again, and then every answer is right. */
  async #settle(): Promise<void> {
    if (this.#form.isMadeAnew) await this.#makeAnew();
    if (this.#form.rewrites > 0) await sleep(HOLD_EXPIRED_MS);
    const fresh = this.#spawn([], 2);
    const { sent } = this.#activity;
    const isRecorded = await this.#record(fresh, sent);
    if (!isRecorded && !this.#isDamaged) this.#break(() => 'what was sent again was not taken');
    if (this.#form.rewrites > 0 && this.#chance.happens(0.3)) await this.#rewrite(dayFrom(TODAY));
    if (this.#truth.events.some(({ ts }) => ts < TODAY) && !this.#isClosed) {
      await this.#close();
      if (!this.#isClosed && !this.#isDamaged) this.#break(() => 'the old day is not closed');
    }
    for (const start of this.#days) {
      if (this.#chance.happens(0.1)) await this.#audit(fresh, dayFrom(start));
      await this.#askAccuracy(fresh, dayFrom(start));
      await this.#askCameras(fresh, dayFrom(start));
      await this.#askRange(fresh, { start, end: start + DAY_US - 1n });
    }
    for (let left = this.#form.overflows ? 16 : 4; left > 0; left -= 1) {
      const question = this.#activity.ask(this.#chance);
      await this.#askRange(fresh, question);
      if (left === 1 && this.#chance.happens(0.5)) await this.#askSeries(fresh, question);
      if (left <= 2)
        await this.#askRange(this.#any(this.#chance.happens(0.5) ? this.#writers : this.#readers), question);
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
