import { setTimeout as sleep } from 'node:timers/promises';

import { randomFrom } from '../../../infra/cli/demo/random.ts';
import { DayHeld } from '../../../src/analytics/errors.ts';
import { type Day, dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { EMPTY_TALLY } from '../../../src/analytics/model/tally.ts';
import { dayOfPartition } from '../../../src/analytics/rows/keys.ts';
import { tallyValues } from '../../../src/analytics/rows/properties.ts';
import { DamagedRow, StorageTrouble, WriteConflict } from '../../../src/storage/errors.ts';
import type { RowWrite } from '../../../src/storage/row.ts';
import { DAY, inWords, type PlainMessage, type Question } from '../../analytics/oracle.ts';
import { MemoryContainer } from '../../storage/memory-container.ts';
import { Chance } from '../chance.ts';
import { Life } from '../life.ts';
import type { Played, PlaySeed } from '../seeds.ts';
import { FAIR, UnreliableTable } from '../unreliable-table.ts';
import { inVirtualTime, type VirtualTime } from '../virtual-time.ts';
import { WorldLog } from '../world-log.ts';
import { Activity } from './activity.ts';
import { type Action, BEGINNING, drawForm, type Form, MAX_LATE_MS, OLD_DAY, TODAY } from './form.ts';
import { type Answered, Instance, REFUSED_AS_CLOSED } from './instance.ts';
import { messageFrom, messageText, questionText, textOf, timeText } from './lines.ts';
import { reachedContainer } from './reached-container.ts';
import { MINUTE, Truth } from './truth.ts';
import { WatchedTable } from './watched-table.ts';

/** The result of playing a history. */
interface PlayedHistory extends Played {
  /** Counts of the played events. They show that the world is not empty. */
  readonly seen: Readonly<Record<string, number>>;
}

const HOUR_MS = 3_600_000;
const LONGEST_MS = 14 * 24 * HOUR_MS;
/** How often something is tried that succeeds in the end. */
const ROUNDS = 60;
const TRIES = 4;
/** In days. */
const RETENTIONS = [1, 1, 1, 1, 30] as const;
/** How long a run of a timer works at most, in milliseconds. */
const RUNS_MS = [100, 1_000, 1_200_000] as const;

/** A question to an instance. */
type Kind = 'range' | 'series' | 'cameras' | 'accuracy' | 'last seen';
const KINDS: readonly Kind[] = ['range', 'range', 'range', 'range', 'series', 'cameras', 'accuracy', 'last seen'];

/** Plays the history of a seed. */
export const play: PlaySeed<PlayedHistory> = (seed, isLogged) =>
  inVirtualTime(BEGINNING, randomFrom(`the service, ${seed}`), isLogged, (time) =>
    new History(new Chance(`the world, ${seed}`), time, isLogged).play(),
  );

const dayFrom = (start: bigint): Day => dayOf(instantFrom(start));

/**
 * One history: instances of the service and the storage that they share, and what users, operators and timers do, in bursts. Processes die and are
 * suspended, and storage has faults. Afterwards it is calm: all messages are sent again, and every answer must be right.
 */
class History {
  readonly #chance: Chance;
  readonly #time: VirtualTime;
  readonly #worldLog: WorldLog;
  readonly #form: Form;
  readonly #activity: Activity;
  readonly #truth = new Truth();
  readonly #table: WatchedTable;
  readonly #container = new MemoryContainer();
  readonly #instances: Instance[] = [];
  readonly #broken: string[] = [];
  /** The partitions whose counters were damaged. */
  readonly #damaged = new Set<string>();
  /** The moment at which a day was rebuilt after damage; Infinity: it is damaged. */
  readonly #rightSince = new Map<Day, number>();
  /** After how many requests a process dies or is suspended. */
  readonly #fates = new WeakMap<Life, { readonly isDeath: boolean; requests: number }>();
  #processes = 0;
  /** From now on there are no faults. */
  #isCalm = false;
  readonly #seen = {
    requests: 0,
    answers: 0,
    deaths: 0,
    suspensions: 0,
    stripes: 0,
    held: 0,
    damages: 0,
    rebuilds: 0,
    refusedRebuilds: 0,
    opened: 0,
    audits: 0,
    exports: 0,
    restored: 0,
    closedDays: 0,
  };

  constructor(chance: Chance, time: VirtualTime, isLogged: boolean) {
    this.#chance = chance;
    this.#time = time;
    this.#worldLog = new WorldLog(() => time.now, isLogged);
    this.#form = drawForm(chance);
    this.#activity = new Activity(chance, this.#form.frames, this.#form.days);
    this.#table = new WatchedTable(
      this.#truth,
      () => time.now,
      async (partition) => this.#damage(partition),
    );
  }

  async play(): Promise<PlayedHistory> {
    this.#worldLog.add(() =>
      JSON.stringify(this.#form, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
    );
    for (let left = this.#form.instances; left > 0; left -= 1) void this.#serve();
    await this.#through(this.#bursts(), 'somebody waits for ever');
    this.#isCalm = true;
    this.#worldLog.add(() => 'calm');
    if (this.#broken.length === 0) await this.#through(this.#settle(), 'it does not settle');
    const { broken, seen } = this.#truth;
    return { broken: [...broken, ...this.#broken], log: this.#worldLog.text, seen: { ...this.#seen, ...seen } };
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

  /** An instance of the service; if it dies, another takes its place. */
  async #serve(): Promise<never> {
    for (;;) {
      const instance = this.#start();
      this.#instances.push(instance);
      await instance.life.ended;
      this.#instances.splice(this.#instances.indexOf(instance), 1);
      await sleep(this.#chance.between(5, 500));
    }
  }

  /** A process starts: an instance, an operator's command or a timer's worker. */
  #start(): Instance {
    const [chance, seen, form] = [this.#chance, this.#seen, this.#form];
    this.#processes += 1;
    const life = new Life(`#${this.#processes}`, chance.between(-form.clocksOffMs, form.clocksOffMs));
    const note = (line: () => string): void => this.#worldLog.add(() => `${life.name} ${line()}`);
    const latencyMs = chance.oneOf(form.latenciesMs);
    const suspend = (): void => {
      seen.suspensions += 1;
      note(() => 'is suspended');
      life.suspend(chance.between(form.suspendedMs / 4, form.suspendedMs));
    };
    const connection = new UnreliableTable({
      table: this.#table,
      life,
      conditions: () => ({ weather: this.#isCalm ? FAIR : form.weather, isOutage: false }),
      chance,
      latencyMs,
      onRequest: (request) => {
        note(() => `  ${request}`);
        seen.requests += 1;
        const fate = this.#fates.get(life);
        if (fate === undefined) return undefined;
        fate.requests -= 1;
        if (fate.requests > 0) return undefined;
        this.#fates.delete(life);
        if (fate.isDeath) return chance.happens(0.5) ? 'carried out' : 'not carried out';
        setTimeout(suspend, chance.between(0, 2 * latencyMs));
        return undefined;
      },
    });
    const container = reachedContainer(this.#container, async (request, carryOut) => {
      note(() => `  ${request}`);
      return life.request({ thereMs: chance.between(1, 20), backMs: chance.between(1, 20) }, carryOut);
    });
    note(() => 'starts');
    void life.ended.then(() => {
      seen.deaths += 1;
      note(() => 'dies');
    });
    return new Instance(life, connection, { shards: form.shards, container, note });
  }

  /** Any instance that runs; all may have died a moment ago. */
  async #any(): Promise<Instance> {
    while (this.#instances.length === 0) await sleep(10);
    return this.#chance.oneOf(this.#instances);
  }

  /**
   * The action of a process; undefined if it dies, or if storage or the seal of a day prevents the action.
   *
   * @param days the days that it is about
   */
  async #do<Value>(
    { life }: Instance,
    what: string,
    days: readonly Day[],
    doing: () => Promise<Value>,
  ): Promise<Value | undefined> {
    const [since, chance, { mortality, suspension }] = [this.#truth.now, this.#chance, this.#form];
    const isDeath = chance.byProbability([
      [mortality, true],
      [suspension, false],
    ]);
    if (isDeath !== undefined && !this.#isCalm) {
      this.#fates.set(life, { isDeath, requests: Math.ceil(chance.oneOf([4, 20]) * chance.next()) });
    }
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
    const { weather, suspension } = this.#form;
    if (error instanceof DayHeld) {
      this.#seen.held += 1;
      return days.some((day) => this.#table.wasHeld(day));
    }
    if (error instanceof DamagedRow) return days.some((day) => this.#isDoubtful(day, since));
    const isOfStorage = error instanceof StorageTrouble || error instanceof WriteConflict;
    return isOfStorage && !this.#isCalm && (suspension > 0 || Object.keys(weather).some((fault) => fault !== 'slow'));
  }

  /** Whether counters of a day are damaged, or were at that moment. */
  #isDoubtful(day: Day, since: number): boolean {
    return since < (this.#rightSince.get(day) ?? 0);
  }

  // Actions

  async #bursts(): Promise<void> {
    const { bursts, users, gapsMs } = this.#form;
    const using: Promise<void>[] = [];
    for (let left = bursts; left > 0; left -= 1) {
      const isFirst = left === bursts;
      const actions = isFirst ? (['record'] as const) : this.#chance.shuffled(this.#form.actions).slice(0, 3);
      for (let count = 0; count < users; count += 1) using.push(this.#use(actions));
      await sleep(this.#chance.oneOf(gapsMs));
    }
    await Promise.all(using);
  }

  async #use(among: readonly Action[]): Promise<void> {
    const actions: Readonly<Record<Action, () => Promise<void>>> = {
      record: async () => this.#send(),
      ask: async () =>
        this.#ask(this.#chance.happens(0.3) ? this.#start() : await this.#any(), this.#chance.oneOf(KINDS)),
      export: async () => this.#export(this.#start(), this.#chance.oneOf(this.#form.days)),
      audit: async () => this.#audit(this.#start(), this.#anyDay()),
      rebuild: async () => this.#rebuild(this.#anyDay()),
      'back up': async () => this.#backUp(),
      close: async () => this.#close(this.#chance.oneOf(RETENTIONS)),
      restore: async () => this.#restore(),
    };
    for (let left = this.#form.actionsOfEach; left > 0; left -= 1) {
      await sleep(this.#chance.between(0, this.#form.pauseMs));
      await actions[this.#chance.oneOf(among)]();
    }
  }

  #anyDay(): Day {
    return dayFrom(this.#chance.oneOf(this.#form.days));
  }

  /** A sender sends messages, and sends them again until they are acknowledged. */
  async #send(): Promise<void> {
    const length = this.#chance.wholeBetween(1, this.#form.messagesOfEach);
    const messages = Array.from({ length }, () => this.#activity.message());
    for (let tries = 1; tries <= TRIES && !(await this.#record(await this.#any(), messages)); tries += 1) {
      await sleep(this.#chance.between(1, 300));
    }
  }

  /** @returns whether the messages are acknowledged */
  async #record(instance: Instance, messages: readonly PlainMessage[]): Promise<boolean> {
    for (const message of messages) {
      this.#truth.send(message);
      this.#worldLog.add(() => `${instance.life.name} gets ${messageText(message)}`);
    }
    const days = messages.map(({ ts }) => dayFrom(ts));
    const outcomes = await this.#do(instance, 'records', days, async () => instance.outcomes(messages));
    for (const [index, outcome] of outcomes?.entries() ?? []) {
      const message = messages[index];
      if (message === undefined) continue;
      const line = `${instance.life.name} answers ${outcome} to ${messageText(message)}`;
      this.#worldLog.add(() => line);
      const isRight =
        outcome === REFUSED_AS_CLOSED
          ? this.#table.isClosed(dayFrom(message.ts))
          : ['recorded', 'unchanged', 'superseded'].includes(outcome) && this.#truth.has(message);
      if (!isRight) this.#break(line);
    }
    return outcomes !== undefined;
  }

  /** Every answer is right at a moment between its question and now. A day that is rebuilt has no answer. */
  async #ask(
    instance: Instance,
    kind: Kind,
    question = this.#activity.question(),
    day = this.#chance.oneOf(this.#form.days),
  ): Promise<void> {
    const since = this.#truth.now;
    const ofDay = { start: day, end: day + DAY - 1n };
    const asked: Question = {
      range: question,
      series: question,
      cameras: ofDay,
      accuracy: { ...ofDay, cameraId: question.cameraId },
      'last seen': { ...ofDay, start: day - DAY },
    }[kind];
    const what = `answers ${kind} of ${questionText(asked)}`;
    const days = this.#form.days.filter((start) => start <= asked.end && start + DAY > asked.start).map(dayFrom);
    const wrong = (line: string): void => {
      if (!days.some((own) => this.#isDoubtful(own, since))) this.#break(`${instance.life.name} ${what}: ${line}`);
    };
    const isHeld = (): boolean =>
      asked.cameraId === undefined && days.some((own) => this.#table.isHeldSince(own, since));
    if (kind === 'last seen') {
      const seen = await this.#do(instance, what, days, async () => instance.lastSeen(asked));
      if (seen === undefined) return;
      if (isHeld()) wrong('it is rebuilt');
      for (const cameraId of new Set([...this.#activity.cameras, ...seen.keys()])) {
        const minute = seen.get(cameraId);
        if (this.#truth.allowsLastSeen({ ...asked, cameraId }, minute, since)) continue;
        wrong(`${cameraId} ${minute === undefined ? 'never' : timeText(minute)}`);
      }
      return;
    }
    const answers = await this.#do(instance, what, days, async (): Promise<readonly Answered[]> => {
      if (kind === 'series') return instance.series(asked);
      if (kind === 'cameras') return instance.camerasOf(asked, this.#activity.cameras);
      if (kind === 'accuracy') return instance.accuracyOf(asked);
      return [await instance.activity(asked)];
    });
    if (answers === undefined) return;
    if (isHeld()) wrong('it is rebuilt');
    if ((kind === 'range' || kind === 'series') && !this.#isPeriodOf(answers, asked)) {
      wrong(answers.map(([period]) => questionText(period)).join(', '));
    }
    const measure = kind === 'accuracy' ? 'accuracy' : 'counts';
    for (const [answered, answer] of answers) {
      this.#seen.answers += 1;
      if (this.#truth.allows(answered, answer, since, measure)) continue;
      const right = inWords(this.#truth.answer(answered, measure));
      wrong(`of ${questionText(answered)} ${inWords(answer)}; it is ${right}`);
    }
  }

  /** Answers cover the period of their question; in a closed day its ends are at whole minutes. */
  #isPeriodOf(answers: readonly Answered[], { start, end }: Question): boolean {
    const periods = answers.map(([period]) => period);
    const fits = (asked: bigint, answered: bigint | undefined, whole: bigint): boolean =>
      answered === asked || (answered === whole && this.#table.isClosed(dayFrom(asked)));
    return (
      fits(start, periods[0]?.start, start - (start % MINUTE)) &&
      fits(end, periods.at(-1)?.end, end - (end % MINUTE) + MINUTE - 1n) &&
      periods.every((period, index) => index === 0 || periods[index - 1]?.end === period.start - 1n)
    );
  }

  /** An export has every event of the day as of some moment since it began, or says that the day is closed. */
  async #export(operator: Instance, start: bigint): Promise<void> {
    const [day, since] = [dayFrom(start), this.#truth.now];
    const lines = await this.#do(operator, `exports ${day}`, [], async () => operator.exportDay(day));
    if (lines === undefined) return;
    this.#seen.exports += 1;
    const isRight =
      lines === 'closed'
        ? this.#table.isClosed(day)
        : this.#truth.allowsEvents({ start, end: start + DAY - 1n }, lines.map(messageFrom), since);
    if (!isRight) this.#break(`${operator.life.name} exports ${day}: ${String(lines)}`);
  }

  /** An audit of a day that is still finds no difference. If a rebuild has left the day sealed, the operator then opens it. */
  async #audit(operator: Instance, day: Day): Promise<void> {
    const since = this.#truth.now;
    const report = await this.#do(operator, `audits ${day}`, [day], async () => operator.audit(day));
    if (report?.isStill !== true) return;
    this.#seen.audits += 1;
    if (report.sealed === 'rebuilding') {
      if (report.differences.count > 0) return;
      this.#seen.opened += (await this.#do(operator, `opens ${day}`, [day], async () => operator.open(day))) ?? 0;
    } else if (report.differences.count > 0 && !this.#isDoubtful(day, since)) {
      this.#break(`${operator.life.name} audits ${day}: ${JSON.stringify(report.differences)}`);
    }
  }

  /** An operator rebuilds a day, until it succeeds. */
  async #rebuild(day: Day): Promise<void> {
    for (let round = 1; round <= ROUNDS; round += 1) {
      const operator = this.#start();
      const rebuilt = await this.#do(operator, `rebuilds ${day}`, [day], async () => operator.rebuild(day));
      if (rebuilt === 'done') {
        this.#seen.rebuilds += 1;
        if (this.#rightSince.has(day))
          this.#rightSince.set(day, Math.min(this.#truth.now, this.#rightSince.get(day) ?? 0));
        return;
      }
      this.#seen.refusedRebuilds += Number(rebuilt !== undefined);
      if (rebuilt !== undefined && /is closed|no events/.test(rebuilt.message)) return;
      await sleep(this.#chance.oneOf([10, 1_000, 100_000]));
      if (this.#chance.happens(0.3)) await this.#audit(this.#start(), day);
    }
    this.#break(`${day} cannot be rebuilt`);
  }

  /** Changes and deletes counter rows of a shard when its first rebuild begins. Until its end the service refuses questions about the day. */
  async #damage(partition: string): Promise<void> {
    if (!this.#form.damages || this.#damaged.has(partition)) return;
    this.#damaged.add(partition);
    const damages = this.#table.rows(partition).flatMap(({ rowKey }): readonly RowWrite[] => {
      if (rowKey.startsWith('event|') || this.#chance.happens(0.5)) return [];
      if (!rowKey.startsWith('day|')) return [{ kind: 'delete', rowKey }];
      return [
        { kind: 'merge', rowKey, etag: '*', properties: tallyValues({ ...EMPTY_TALLY, events: 7 }, EMPTY_TALLY) },
      ];
    });
    if (damages.length === 0) return;
    this.#rightSince.set(dayOfPartition(partition), Infinity);
    this.#seen.damages += 1;
    this.#worldLog.add(() => `damage of ${damages.map(({ rowKey }) => rowKey).join(', ')}`);
    await this.#table.transact(partition, damages);
  }

  async #backUp(): Promise<void> {
    const [worker, runMs] = [await this.#any(), this.#chance.oneOf(RUNS_MS)];
    if (this.#form.backsUp) await this.#do(worker, 'backs days up', [], async () => worker.backUpDays(runMs));
  }

  async #close(retention: number): Promise<void> {
    const [worker, runMs] = [
      this.#chance.happens(0.5) ? this.#start() : await this.#any(),
      this.#chance.oneOf(RUNS_MS),
    ];
    const what = `closes days after ${retention}`;
    await this.#do(worker, what, [], async () => worker.closeDays(retention, this.#form.backsUp, runMs));
  }

  /** An operator sends the backups to the running app, as `npm run send -- --backup`. */
  async #restore(): Promise<void> {
    for (const message of this.#backedUp()) {
      this.#seen.restored += 1;
      await this.#record(await this.#any(), [message]);
    }
  }

  /** The messages in all backups. */
  #backedUp(): readonly PlainMessage[] {
    return this.#container.names().flatMap((name) => this.#container.linesOf(name).map(messageFrom));
  }

  // The end

  /** Without faults, all messages are sent again, and then every answer is right. It stays right after the last late transaction, and when days close. */
  async #settle(): Promise<void> {
    while (this.#instances.some(({ life }) => life.isSuspended)) await sleep(60_000);
    await this.#reopen();
    const fresh = this.#start();
    if (!(await this.#record(fresh, this.#activity.sent))) this.#break('what was sent again was not taken');
    await this.#askAll(fresh);
    if (this.#form.weather.mostLateMs !== undefined) {
      await sleep(MAX_LATE_MS);
      await this.#reopen();
      await this.#askAll(this.#start());
    }
    const old = dayFrom(OLD_DAY);
    if (this.#activity.sent.some(({ ts }) => ts < TODAY)) {
      for (let round = 1; round <= ROUNDS && !this.#table.isForgotten(old); round += 1) {
        await this.#close(1);
        await sleep(HOUR_MS);
      }
      if (!this.#table.isForgotten(old)) this.#break('the old day is not closed');
      this.#seen.closedDays += 1;
      await this.#askAll(fresh);
      const backedUp = this.#backedUp().filter(({ ts }) => ts < TODAY);
      const isBackedUp = this.#truth.allowsEvents({ start: OLD_DAY, end: TODAY - 1n }, backedUp, this.#truth.now);
      if (this.#form.backsUp && !isBackedUp) this.#break(`the backups have ${backedUp.map(messageText).join('\n')}`);
    }
    for (const instance of this.#instances) await this.#ask(instance, 'range');
    for (const partition of this.#table.partitions()) {
      const stripes = this.#table
        .rows(partition)
        .flatMap(({ rowKey }) => /^hour\|\d\d\|(\d\d)$/.exec(rowKey)?.[1] ?? []);
      this.#seen.stripes = Math.max(this.#seen.stripes, new Set(stripes).size);
    }
  }

  /** A rebuild that died, or came late, left a day sealed: it is run again. */
  async #reopen(): Promise<void> {
    for (const day of this.#form.days.map(dayFrom)) {
      const isHeld = this.#table.partitionsOf(day).some((own) => this.#table.sealOf(own) === 'rebuilding');
      if (isHeld || this.#rightSince.get(day) === Infinity) await this.#rebuild(day);
    }
  }

  async #askAll(instance: Instance): Promise<void> {
    for (const start of this.#form.days) {
      const day = { start, end: start + DAY - 1n };
      for (const kind of ['cameras', 'accuracy', 'last seen', 'range'] as const) {
        await this.#ask(instance, kind, day, start);
      }
      await this.#export(instance, start);
      if (this.#chance.happens(0.1)) await this.#audit(instance, dayFrom(start));
    }
    for (const kind of ['range', 'series'] as const) await this.#ask(instance, kind);
  }
}
