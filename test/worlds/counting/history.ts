import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

import { z } from 'zod';

import { randomFrom } from '../../../infra/cli/demo/random.ts';
import { DayHeld } from '../../../src/analytics/errors.ts';
import { type Day, dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom, parseInstant } from '../../../src/analytics/model/instant.ts';
import { dayOfPartition } from '../../../src/analytics/rows/keys.ts';
import { EMPTY_TALLY } from '../../../src/analytics/model/tally.ts';
import { tallyValues } from '../../../src/analytics/rows/properties.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
import type { RowWrite } from '../../../src/storage/row.ts';
import { DAY, type PlainMessage, type Question } from '../../analytics/oracle.ts';
import { MemoryContainer } from '../../storage/memory-container.ts';
import { Chance } from '../chance.ts';
import { Life } from '../life.ts';
import type { Played, PlaySeed } from '../seeds.ts';
import { WorldLog } from '../world-log.ts';
import { FAIR, UnreliableTable } from '../unreliable-table.ts';
import { inVirtualTime, type VirtualTime } from '../virtual-time.ts';
import { Activity } from './activity.ts';
import { inWords } from './counts.ts';
import { BEGINNING, drawForm, type Form, MAX_LATE_MS, OLD_DAY, TODAY } from './form.ts';
import { type Answered, Instance, isUnavailable, REFUSED_AS_CLOSED } from './instance.ts';
import { reachedContainer } from './reached-container.ts';
import { type Measure, MINUTE, Truth } from './truth.ts';
import { WatchedTable } from './watched-table.ts';

type Seen = Readonly<Record<string, number>>;

/** The result of playing a history. */
interface PlayedHistory extends Played {
  /** Counts of the played events. They show that the world is not empty. */
  readonly seen: Seen;
}

/** The sum of several seeds. */
export const sumOfSeen = (all: readonly Seen[]): Seen => {
  const names = new Set(all.flatMap((seen) => Object.keys(seen)));
  return Object.fromEntries(
    Array.from(names, (name) => [name, all.reduce((total, seen) => total + (seen[name] ?? 0), 0)]),
  );
};

const LONGEST_MS = 72 * 3_600_000;
/** Days are closed by the clock of storage. */
const WRONG_CLOCK_MS = 72 * 3_600_000;
const TRIES = 4;
const ROUNDS = 60;
/** The days of a question when cameras were last seen. */
const DAYS_SEEN = 2;
/** In days; undefined: the setting is removed. */
const RETENTIONS = [1, 1, 1, 1, 2, 30, undefined] as const;

/** Plays the history of a seed. */
export const play: PlaySeed<PlayedHistory> = (seed, isLogged) =>
  inVirtualTime(BEGINNING, randomFrom(`the service, ${seed}`), isLogged, (time) => {
    const chance = new Chance(`the world, ${seed}`);
    const form = drawForm(chance);
    const worldLog = new WorldLog(() => time.now, isLogged);
    return new History(chance, time, worldLog, form).play();
  });

const startOfMinute = (time: bigint): bigint => time - (time % MINUTE);
const dayFrom = (start: bigint): Day => dayOf(instantFrom(start));

/** A question to an instance. */
type Kind = 'range' | 'series' | 'cameras' | 'accuracy' | 'last seen';
const KINDS: readonly Kind[] = ['range', 'range', 'range', 'range', 'series', 'cameras', 'accuracy', 'last seen'];

/** One history: instances that record, read, close and rebuild days, their senders and readers, and the storage that they share. */
class History {
  readonly #chance: Chance;
  readonly #time: VirtualTime;
  readonly #worldLog: WorldLog;
  readonly #form: Form;
  readonly #activity: Activity;
  readonly #days: readonly bigint[];
  readonly #truth = new Truth();
  readonly #table: WatchedTable;
  readonly #container = new MemoryContainer();
  readonly #broken: string[] = [];
  readonly #writers: Instance[] = [];
  readonly #readers: Instance[] = [];
  /** The days whose counters are damaged, until they are rebuilt. */
  readonly #damaged = new Set<Day>();
  #processes = 0;
  /** How many are still sending messages. */
  #sending: number;
  /** From now on there are no faults. */
  #isCalm = false;
  readonly #seen = {
    requests: 0,
    answers: 0,
    deaths: 0,
    stripes: 0,
    closedDays: 0,
    rebuilds: 0,
    refusedRebuilds: 0,
    held: 0,
    damages: 0,
    restored: 0,
    exports: 0,
  };

  constructor(chance: Chance, time: VirtualTime, worldLog: WorldLog, form: Form) {
    this.#chance = chance;
    this.#time = time;
    this.#worldLog = worldLog;
    this.#form = form;
    this.#sending = form.senders;
    this.#days = form.closes ? [OLD_DAY, TODAY] : chance.happens(0.2) ? [TODAY, TODAY + DAY] : [TODAY];
    this.#activity = new Activity(chance, form.frames, this.#days);
    this.#table = new WatchedTable(
      this.#truth,
      () => time.now,
      async (partition) => this.#damage(partition),
    );
    worldLog.add(() => JSON.stringify(form));
  }

  async play(): Promise<PlayedHistory> {
    const { instances, senders, askers, closes, rebuilds, restores, exports } = this.#form;
    for (let left = instances; left > 0; left -= 1) this.#spawn(this.#writers);
    for (let left = 2; left > 0; left -= 1) this.#spawn(this.#readers, this.#form.readersLatencyMs);
    const using = Promise.all([
      ...Array.from({ length: senders }, async () => this.#send()),
      ...Array.from({ length: askers }, async () => this.#askSome()),
      ...(closes ? [this.#close()] : []),
      ...(rebuilds > 0 ? [this.#rebuildSome()] : []),
      ...Array.from({ length: closes ? restores : 0 }, async () => this.#restore()),
      ...(exports ? [this.#exportSome()] : []),
    ]);
    await this.#through(using, 'somebody waits for ever');
    this.#isCalm = true;
    this.#worldLog.add(() => 'calm');
    if (this.#broken.length === 0) await this.#through(this.#settle(), 'it does not settle');
    const { broken, contended, undecided } = this.#truth;
    return {
      broken: [...broken, ...this.#broken],
      log: this.#worldLog.text,
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
    this.#worldLog.add(() => `BROKEN: ${line}`);
  }

  // Processes

  /** A process starts; if it dies, another takes its place. */
  #spawn(among: Instance[], latencyMs = this.#form.writersLatencyMs, clocksOffMs = this.#form.clocksOffMs): Instance {
    this.#processes += 1;
    const chance = this.#chance;
    const life = new Life(`#${this.#processes}`, chance.between(-clocksOffMs, clocksOffMs));
    const note = (line: () => string): void => this.#worldLog.add(() => `${life.name} ${line()}`);
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
        note(() => `  ${request}`);
        fatal -= 1;
        if (fatal !== 0) return undefined;
        return chance.happens(0.5) ? 'carried out' : 'not carried out';
      },
    });
    const container = reachedContainer(this.#container, async (request, carryOut) => {
      note(() => `  ${request}`);
      return life.request({ thereMs: chance.between(1, 20), backMs: chance.between(1, 20) }, carryOut);
    });
    const instance = new Instance(life, connection, { shards: this.#form.shards, container, note });
    among.push(instance);
    note(() => 'starts');
    void life.ended.then(async () => {
      this.#seen.deaths += 1;
      note(() => 'dies');
      await sleep(chance.between(5, 500));
      among.splice(among.indexOf(instance), 1);
      this.#spawn(among, latencyMs, clocksOffMs);
    });
    return instance;
  }

  /** Any instance that runs; all may have died a moment ago. */
  async #anyOf(among: readonly Instance[]): Promise<Instance> {
    while (among.length === 0) await sleep(10);
    return this.#chance.oneOf(among);
  }

  /**
   * The action of an instance; undefined if it dies, or if storage or the seal of a day prevents the action.
   *
   * @param days the days that it is about
   */
  async #of<Value>(
    { life }: Instance,
    what: string,
    days: readonly Day[],
    doing: () => Promise<Value>,
  ): Promise<Value | undefined> {
    const since = this.#truth.now;
    this.#worldLog.add(() => `${life.name} ${what}`);
    try {
      const value = await life.do(doing);
      this.#worldLog.add(() => `${life.name} ${what}: done`);
      return value;
    } catch (error) {
      const line = `${life.name} ${what}: ${textOf(error)}`;
      if (this.#isAllowed(error, days, since)) this.#worldLog.add(() => line);
      else this.#break(line);
      return undefined;
    }
  }

  /** Storage fails until it is calm; a day is held while it is rebuilt, and its counters may be damaged until then. */
  #isAllowed(error: unknown, days: readonly Day[], since: number): boolean {
    if (isUnavailable(error)) return !this.#isCalm;
    const ofDays = days.map((day) => this.#table.facts(day));
    if (error instanceof DayHeld) {
      this.#seen.held += 1;
      return ofDays.some(({ wasSealed }) => wasSealed.has('rebuilding'));
    }
    return error instanceof DamagedRow && days.some((day) => this.#isDoubtful(day, since));
  }

  /** Whether counters of a day are damaged, or were at that time. */
  #isDoubtful(day: Day, since: number): boolean {
    return this.#damaged.has(day) || (this.#form.damages && since < this.#table.facts(day).rebuiltAt);
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
        tries <= TRIES && !(await this.#record(await this.#anyOf(this.#writers), messages));
        tries += 1
      ) {
        await sleep(this.#chance.between(1, 300));
      }
    }
    this.#sending -= 1;
  }

  /** @returns whether the messages are acknowledged */
  async #record(instance: Instance, messages: readonly PlainMessage[], isRestored = false): Promise<boolean> {
    for (const message of messages) {
      // Messages of a backup were sent before.
      if (!isRestored) this.#truth.send(message);
      this.#worldLog.add(() => `${instance.life.name} gets ${messageText(message)}`);
    }
    const days = messages.map(({ ts }) => dayFrom(ts));
    const outcomes = await this.#of(instance, 'records', days, async () => instance.outcomes(messages));
    if (outcomes === undefined) return false;
    for (const [index, message] of messages.entries()) {
      const outcome = outcomes[index] ?? 'nothing';
      const line = `${instance.life.name} answers ${outcome} to ${messageText(message)}`;
      this.#worldLog.add(() => line);
      const isRight =
        outcome === REFUSED_AS_CLOSED
          ? this.#table.isClosed(dayFrom(message.ts))
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
      const kind = this.#chance.oneOf(KINDS);
      await this.#ask(await this.#anyOf(this.#chance.happens(0.3) ? this.#writers : this.#readers), kind);
    }
  }

  /** Every answer is right at a moment between its question and now. */
  async #ask(
    instance: Instance,
    kind: Kind,
    question = this.#activity.question(),
    day = this.#chance.oneOf(this.#days),
  ): Promise<void> {
    const since = this.#truth.now;
    const ofDay = { start: day, end: day + DAY - 1n, cameraId: question.cameraId };
    const ofDays = { ...ofDay, start: day - BigInt(DAYS_SEEN - 1) * DAY };
    const asked = { range: question, series: question, cameras: ofDay, accuracy: ofDay, 'last seen': ofDays }[kind];
    const days = this.#days.filter((start) => start <= asked.end && start + DAY > asked.start).map(dayFrom);
    const what = `answers ${kind} of ${questionText(asked)}`;
    if (kind === 'last seen') {
      const seen = await this.#of(instance, what, days, async () => instance.lastSeen(day, DAYS_SEEN));
      this.#seen.answers += Number(seen !== undefined);
      for (const cameraId of seen === undefined ? [] : new Set([...this.#activity.cameras, ...seen.keys()])) {
        const minute = seen?.get(cameraId);
        if (this.#truth.allowsLastSeen({ ...ofDays, cameraId }, minute, since)) continue;
        if (!days.some((own) => this.#isDoubtful(own, since)))
          this.#break(
            `${instance.life.name} ${what}: ${cameraId} at ${minute === undefined ? 'no time' : timeText(minute)}`,
          );
      }
      return;
    }
    const measure: Measure = kind === 'accuracy' ? 'accuracy' : 'counts';
    const answers = await this.#of(instance, what, days, async (): Promise<readonly Answered[]> => {
      if (kind === 'series') return instance.series(question);
      if (kind === 'cameras') return instance.camerasOf(day, this.#activity.cameras);
      if (kind === 'accuracy') return [[ofDay, await instance.accuracyOf(ofDay)]];
      return [await instance.activity(question)];
    });
    if (answers === undefined) return;
    if (kind === 'range' || kind === 'series') this.#checkPeriod(question, answers, what);
    for (const [answered, answer] of answers) {
      this.#seen.answers += 1;
      if (this.#truth.allows(answered, answer, since, measure)) continue;
      if (days.some((own) => this.#isDoubtful(own, since))) continue;
      const right = inWords(this.#truth.answer(answered, measure));
      this.#break(`${instance.life.name} ${what}: of ${questionText(answered)} ${inWords(answer)}; it is ${right}`);
    }
  }

  /** An answer covers the period of its question; in a closed day its ends are at whole minutes. */
  #checkPeriod({ start, end }: Question, answers: readonly Answered[], what: string): void {
    const fits = (asked: bigint, answered: bigint | undefined, whole: bigint): boolean =>
      answered === asked || (answered === whole && this.#table.isClosed(dayFrom(asked)));
    const [first, last] = [answers[0]?.[0], answers.at(-1)?.[0]];
    const isWhole = answers.every(
      ([period], index) => index === 0 || answers[index - 1]?.[0].end === period.start - 1n,
    );
    if (
      !isWhole ||
      !fits(start, first?.start, startOfMinute(start)) ||
      !fits(end, last?.end, startOfMinute(end) + MINUTE - 1n)
    ) {
      this.#break(`${what}: ${answers.map(([period]) => questionText(period)).join(', ')}`);
    }
  }

  // Closing, backups and rebuilding

  async #close(): Promise<void> {
    await sleep(this.#chance.between(0, 2 * this.#form.pauseMs + 2_000));
    for (let round = 1; round <= ROUNDS && !this.#table.isForgotten(dayFrom(OLD_DAY)); round += 1) {
      const others = this.#chance.happens(0.3) ? this.#writers : [await this.#anyOf(this.#writers)];
      const retention = this.#isCalm ? 1 : this.#chance.anyOf(RETENTIONS);
      const runMs = this.#chance.oneOf([100, 1_000, 1_200_000]);
      const closersClockOffMs = this.#chance.happens(0.3) ? WRONG_CLOCK_MS : undefined;
      await Promise.all(
        [this.#spawn([], undefined, closersClockOffMs), ...others].map(async (instance, index) => {
          if (index === 0 && this.#form.exports) await this.#export(instance, OLD_DAY);
          if (this.#form.backsUp && this.#chance.happens(0.3)) {
            await this.#of(instance, 'backs days up', [], async () => instance.backUpDays(runMs));
          }
          if (retention === undefined) return;
          const what = `closes days after ${retention}`;
          await this.#of(instance, what, [], async () => instance.closeDays(retention, this.#form.backsUp, runMs));
        }),
      );
      await sleep(this.#chance.oneOf([1_000, 600_000, 3_600_000]));
    }
    this.#seen.closedDays = Number(this.#table.isForgotten(dayFrom(OLD_DAY)));
  }

  /** An operator sends the backups to the running app, as `npm run send -- --backup`. */
  async #restore(): Promise<void> {
    let messages: readonly PlainMessage[] = [];
    for (let hours = 0; hours < 8 && messages.length === 0; hours += 1) {
      await sleep(this.#chance.between(0, 4 * this.#form.pauseMs + 3_600_000));
      messages = this.#backedUp();
    }
    for (const message of messages) {
      this.#seen.restored += 1;
      await this.#record(await this.#anyOf(this.#writers), [message], true);
    }
  }

  /** Operators export days while messages are sent. */
  async #exportSome(): Promise<void> {
    while (this.#sending > 0) {
      await this.#export(this.#spawn([]), this.#chance.oneOf(this.#days));
      await sleep(this.#chance.between(20, 4 * this.#form.pauseMs + 300));
    }
  }

  /** An export has every event of the day as of some moment since it began, or says that the day is closed. */
  async #export(operator: Instance, start: bigint): Promise<void> {
    const [day, since] = [dayFrom(start), this.#truth.now];
    const lines = await this.#of(operator, `exports ${day}`, [], async () => operator.exportDay(day));
    if (lines === undefined) return;
    this.#seen.exports += 1;
    const isRight =
      lines === 'closed'
        ? this.#table.isClosed(day)
        : this.#truth.allowsEvents({ start, end: start + DAY - 1n }, lines.map(messageFrom), since);
    if (!isRight) this.#break(`${operator.life.name} exports ${day}: ${String(lines)}`);
  }

  /** Operators rebuild a day, amid recording or afterwards, each until it succeeds. */
  async #rebuildSome(): Promise<void> {
    await sleep(this.#chance.between(0, 10 * this.#form.pauseMs + 300));
    if (this.#chance.happens(0.4)) while (this.#sending > 0) await sleep(50);
    const day = dayFrom(this.#form.closes ? OLD_DAY : this.#chance.oneOf(this.#days));
    await Promise.all(Array.from({ length: this.#form.rebuilds }, async () => this.#rebuild(day)));
  }

  async #rebuild(day: Day): Promise<void> {
    for (let round = 1; round <= ROUNDS; round += 1) {
      const operator = this.#spawn([]);
      const rebuilt = await this.#of(operator, `rebuilds ${day}`, [day], async () => operator.rebuild(day));
      this.#seen.rebuilds += Number(rebuilt === 'done');
      this.#seen.refusedRebuilds += Number(rebuilt === 'closed');
      if (rebuilt !== undefined && rebuilt !== 'again') return;
      await sleep(this.#chance.oneOf([10, 1_000, 100_000]));
    }
    this.#break(`${day} cannot be rebuilt`);
  }

  /** Changes and deletes counter rows of a day when its rebuild begins. Until its end the service refuses questions about the day. */
  async #damage(partition: string): Promise<void> {
    if (!this.#form.damages) return;
    const damages = this.#table.rows(partition).flatMap(({ rowKey }): readonly RowWrite[] => {
      if (rowKey.startsWith('event|') || this.#chance.happens(0.5)) return [];
      if (!rowKey.startsWith('day|')) return [{ kind: 'delete', rowKey }];
      return [
        { kind: 'merge', rowKey, etag: '*', properties: tallyValues({ ...EMPTY_TALLY, events: 7 }, EMPTY_TALLY) },
      ];
    });
    if (damages.length === 0) return;
    this.#damaged.add(dayOfPartition(partition));
    this.#seen.damages += 1;
    this.#worldLog.add(() => `damage of ${damages.map(({ rowKey }) => rowKey).join(', ')}`);
    await this.#table.transact(partition, damages);
  }

  // The end

  /** Without faults, all messages are sent again, and then every answer is right. It stays right after the last late transaction. */
  async #settle(): Promise<void> {
    await this.#reopen();
    const fresh = this.#spawn([]);
    if (!(await this.#record(fresh, this.#activity.sent))) this.#break('what was sent again was not taken');
    await this.#askAll(fresh);
    if (this.#form.weather.mostLateMs !== undefined) {
      await sleep(MAX_LATE_MS);
      await this.#reopen();
      await this.#askAll(this.#spawn([]));
    }
    if (this.#activity.sent.some(({ ts }) => ts < TODAY) && !this.#table.isForgotten(dayFrom(OLD_DAY))) {
      await this.#close();
      if (this.#table.isForgotten(dayFrom(OLD_DAY))) await this.#askAll(fresh);
      else this.#break('the old day is not closed');
    }
    if (this.#table.isClosed(dayFrom(OLD_DAY)) && this.#form.backsUp) this.#checkBackup();
    for (const among of [this.#writers, this.#readers]) {
      await this.#ask(await this.#anyOf(among), 'range');
    }
    for (const partition of this.#table.partitions()) {
      const stripes = new Set(
        this.#table.rows(partition).flatMap(({ rowKey }) => /^hour\|\d\d\|(\d\d)$/.exec(rowKey)?.[1] ?? []),
      );
      this.#seen.stripes = Math.max(this.#seen.stripes, stripes.size);
    }
  }

  /** A rebuild that died, or came late, left a day sealed: it is run again. */
  async #reopen(): Promise<void> {
    for (const day of this.#days.map(dayFrom)) {
      const isSealed = this.#table.partitionsOf(day).some((own) => this.#table.sealOf(own) === 'rebuilding');
      if (isSealed) await this.#rebuild(day);
      this.#damaged.delete(day);
    }
  }

  async #askAll(instance: Instance): Promise<void> {
    for (const start of this.#days) {
      for (const kind of ['cameras', 'accuracy', 'last seen'] as const)
        await this.#ask(instance, kind, undefined, start);
      await this.#ask(instance, 'range', { start, end: start + DAY - 1n });
      await this.#export(instance, start);
    }
    for (const kind of ['range', 'series'] as const) await this.#ask(instance, kind);
    for (const day of this.#chance.happens(0.1) ? this.#days.map(dayFrom) : []) {
      const report = await this.#of(instance, `audits ${day}`, [], async () => instance.audit(day));
      if (report?.differences.count !== 0)
        this.#break(`the audit of ${day} finds ${JSON.stringify(report?.differences)}`);
    }
  }

  /** The messages in all backups. */
  #backedUp(): readonly PlainMessage[] {
    return this.#container.names().flatMap((name) => this.#container.linesOf(name).map(messageFrom));
  }

  /** Every deleted event is in a backup. */
  #checkBackup(): void {
    const messages = this.#backedUp();
    for (const { cameraId, eventId, ts, state } of this.#truth.events) {
      if (ts >= TODAY) continue;
      const own = messages.filter((one) => one.cameraId === cameraId && one.eventId === eventId && one.ts === ts);
      for (const [facet, known] of Object.entries(state)) {
        const isBackedUp = own.some(
          (one) => one.time === known.time && isDeepStrictEqual(Reflect.get(one, facet), known.value),
        );
        if (!isBackedUp) this.#break(`the backup lacks ${facet} of ${eventId} of ${cameraId}`);
      }
      if (own.length === 0) this.#break(`the backup lacks ${eventId} of ${cameraId}`);
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

/** A message in the form of a backup. */
const messageFrom = (line: string): PlainMessage => {
  const { time, data } = storedMessage.parse(JSON.parse(line));
  const { event_id: eventId, camera_id: cameraId, ts_utc, detections, reviewed, annotations, removed } = data;
  return {
    eventId,
    cameraId,
    ts: microseconds(ts_utc),
    time: microseconds(time),
    ...(detections && { detections }),
    ...(reviewed !== undefined && { reviewed }),
    ...(annotations && { annotations }),
    ...(removed !== undefined && { removed }),
  };
};

const microseconds = (text: string): bigint => parseInstant(text) ?? -1n;
const counts = z.record(z.string(), z.number());
const storedMessage = z.object({
  time: z.string(),
  data: z.object({
    event_id: z.string(),
    camera_id: z.string(),
    ts_utc: z.string(),
    detections: counts.optional(),
    reviewed: z.boolean().optional(),
    annotations: counts.optional(),
    removed: z.boolean().optional(),
  }),
});
