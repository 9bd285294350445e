import type { Destination, OutcomeTopic } from '../../../src/calls/model/outcomes.ts';
import type { PhoneProvider } from '../../../src/calls/model/phone-provider.ts';
import { createPhone, type Phone } from '../../../src/calls/phone.ts';
import { CALLS_FORMAT } from '../../../src/calls/store/rows.ts';
import type { Log, LogFields } from '../../../src/log.ts';
import { Table } from '../../../src/storage/table.ts';
import { Life } from '../life.ts';
import { UnreliableTable } from '../unreliable-table.ts';
import { runIn } from '../virtual-time.ts';
import { type Ground, SERVICE_NAME } from './ground.ts';

/** A log line of any instance. `at`: in milliseconds since 1970, by a clock that is right. */
interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly event: string;
  readonly fields: LogFields;
  readonly at: number;
}

/** A process of the service. */
export interface Instance {
  readonly life: Life;
  readonly phone: Phone;
  readonly log: Log;
}

/** How often the timer function runs. */
const SWEEP_MS = 30_000;

/** The instances of the service. Some die, and others take their place. */
export class Instances {
  readonly #ground: Ground;
  readonly #providerOf: (life: Life) => PhoneProvider;
  readonly #all: Instance[] = [];
  /** No further instance starts. */
  isEnded = false;
  #timer: NodeJS.Timeout | undefined;
  /** The log lines of all instances, in that order. */
  readonly logs: LogLine[] = [];

  /** @param providerOf the provider as one process reaches it */
  constructor(ground: Ground, providerOf: (life: Life) => PhoneProvider) {
    this.#ground = ground;
    this.#providerOf = providerOf;
  }

  get living(): readonly Instance[] {
    return this.#all.filter(({ life }) => !life.isOver);
  }

  /** Any living instance; undefined if all are dead. */
  any(): Instance | undefined {
    return this.#ground.chance.anyOf(this.living);
  }

  /** Starts this number of instances, and their timer function. */
  start(count: number): void {
    this.isEnded = false;
    for (let started = 0; started < count; started += 1) this.#spawn();
    if (this.#ground.mode.timerNeverRuns !== true) this.#timer = setInterval(() => this.#sweep(), SWEEP_MS);
  }

  /** Ends all instances. No other takes their place. */
  end(): void {
    this.isEnded = true;
    clearInterval(this.#timer);
    for (const { life } of this.living) life.end();
  }

  /** An instance is told to end, as by a deployment: it answers what it has begun, and dies. */
  close({ life, phone }: Instance): void {
    this.#ground.worldLog.add(() => `${life.name} is told to end`);
    const end = async (): Promise<void> => {
      this.#ground.noteClosing(life);
      await phone.end();
    };
    void life.do(end).then(() => life.end());
  }

  /** Another instance takes the place of each that ends. */
  #spawn(): void {
    if (this.isEnded) return;
    const { chance, worldLog, rules, mode, conditions, table } = this.#ground;
    const life = new Life(`#${this.#all.length + 1}`, chance.between(-mode.clocksMs, mode.clocksMs));
    const log = this.#logOf(life);
    const unreliable = new UnreliableTable({
      table,
      life,
      chance,
      conditions: () => conditions.table,
      latencyMs: mode.tableLatencyMs,
      onRequest: (request) => {
        if (request.startsWith('transact')) this.#ground.noteWrite(request, life);
        return this.#ground.onRequest('table', life);
      },
    });
    const parts = {
      provider: this.#providerOf(life),
      table: new Table(unreliable, { format: CALLS_FORMAT, isAnyFormat: true }),
      ...Object.fromEntries(mode.destinations.map((to) => [to, this.#destinationOf(to, life)])),
    };
    const phone = runIn(life, () => createPhone({ ...parts, serviceName: SERVICE_NAME, log, rules }));
    this.#all.push({ life, phone, log });
    worldLog.add(() => `${life.name} starts`);
    void life.ended.then(() => {
      worldLog.add(() => `${life.name} dies`);
      setTimeout(() => this.#spawn(), chance.between(10, 5_000));
    });
  }

  /** A destination of outcomes as one instance reaches it: a batch, or the answer to it, gets lost. */
  #destinationOf(to: Destination, life: Life): OutcomeTopic {
    const { published, chance, conditions } = this.#ground;
    return {
      publish: (events) => {
        const { topicFaults } = conditions.faults;
        const lost = chance.byProbability([
          [topicFaults / 2, 'request'],
          [topicFaults / 2, 'answer'],
        ]);
        const [thereMs, backMs] = [chance.between(5, 50), chance.between(5, 50)];
        const told = { afterMs: chance.between(5, 9_000), error: new Error('no answer') };
        return life.request({ thereMs, backMs, lost, told }, async () => {
          published.push(...events.map((event) => ({ to, ...event })));
        });
      },
    };
  }

  /** One instance gets the timer. If several get it at the same time, that does no harm. */
  #sweep(): void {
    const some = this.#ground.chance.happens(0.3) ? this.living : [this.any() ?? []].flat();
    for (const { life, phone, log } of some) void life.do(async () => phone.runDue(log));
  }

  #logOf(life: Life): Log {
    const at =
      (level: LogLine['level']): Log['info'] =>
      (event, fields = {}) => {
        if (life.isOver) return;
        this.logs.push({ level, event, fields, at: this.#ground.now });
        this.#ground.worldLog.add(() => `${life.name} ${level} ${event} ${JSON.stringify(fields)}`);
      };
    return { info: at('info'), warn: at('warn'), error: at('error') };
  }
}
