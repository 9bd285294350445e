import { createPhone, type Phone, type PhoneParts } from '../../../src/calls/phone.ts';
import type { Log, LogFields } from '../../../src/log.ts';
import { Life } from './life.ts';
import type { Mode } from './modes.ts';
import type { Chance } from './random.ts';
import type { Story } from './story.ts';

/** A log line of any instance. */
export interface LogLine {
  readonly event: string;
  readonly fields: LogFields;
}

/** A process of the service. */
export interface Instance {
  /** From 1, in the order in which they started. */
  readonly number: number;
  readonly life: Life;
  readonly phone: Phone;
  readonly log: Log;
}

/** What an instance reaches storage and the network by. */
export type Connect = (life: Life) => Pick<PhoneParts, 'rows' | 'line'>;

const RETENTION_MS = 90 * 86_400_000;
// How often the timer function runs.
const SWEEP_MS = 30_000;
const DEATHS_WITHIN_MS = 200_000;

/** The instances of the service. Some die, and others take their place. */
export class Instances {
  readonly #all: Instance[] = [];
  readonly #mode: Mode;
  readonly #chance: Chance;
  readonly #story: Story;
  readonly #connect: Connect;
  /** What all instances logged, in that order. */
  readonly logs: LogLine[] = [];

  constructor(mode: Mode, chance: Chance, story: Story, connect: Connect) {
    this.#mode = mode;
    this.#chance = chance;
    this.#story = story;
    this.#connect = connect;
  }

  get living(): readonly Instance[] {
    return this.#all.filter(({ life }) => !life.isOver);
  }

  /** Any living instance; undefined where all are dead. */
  any(): Instance | undefined {
    return this.#chance.anyOf(this.living);
  }

  /** Starts the instances, their timer function and what ends some of them. */
  start(): void {
    const { instances, deaths } = this.#mode;
    for (let count = 0; count < instances; count += 1) this.#spawn();
    for (let count = 0; count < deaths; count += 1) {
      setTimeout(() => this.#killOne(), this.#chance.between(0, DEATHS_WITHIN_MS));
    }
    setInterval(() => this.#sweep(), SWEEP_MS);
  }

  #spawn(): void {
    const { attempts, retryMs, deadlineMs, callsPerDay } = this.#mode;
    const life = new Life();
    const number = this.#all.length + 1;
    const log = this.#logOf(number, life);
    const phone = createPhone({
      ...this.#connect(life),
      serviceName: 'Test Watch',
      log,
      rules: { attempts, retryMs, deadlineMs, callsPerDay, allowedPrefixes: ['+1'], retentionMs: RETENTION_MS },
    });
    this.#all.push({ number, life, phone, log });
    this.#story.tell(`#${number} starts`);
  }

  #killOne(): void {
    const victim = this.any();
    if (victim === undefined) return;
    this.#story.tell(`#${victim.number} dies`);
    victim.life.end();
    setTimeout(() => this.#spawn(), this.#chance.between(10, 5_000));
  }

  // One instance gets the timer; that several get it at the same time must do no harm.
  #sweep(): void {
    const chosen = this.#chance.happens(0.3) ? this.living : [this.any()];
    for (const instance of chosen) void instance?.phone.dueWork.run(instance.log);
  }

  #logOf(number: number, life: Life): Log {
    const at =
      (level: string): Log['info'] =>
      (event, fields = {}) => {
        if (life.isOver) return;
        this.logs.push({ event, fields });
        this.#story.tell(`#${number} ${level} ${event} ${JSON.stringify(fields)}`);
      };
    return { info: at('info'), warn: at('warn'), error: at('error') };
  }
}
