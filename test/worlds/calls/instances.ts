import { createPhone, type Phone, type PhoneParts } from '../../../src/calls/phone.ts';
import type { Log, LogFields } from '../../../src/log.ts';
import type { Chance } from '../chance.ts';
import { Life } from '../life.ts';
import type { Story } from '../story.ts';
import { runIn } from '../virtual-time.ts';

/** A log line of any instance. */
export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly event: string;
  readonly fields: LogFields;
  /** In milliseconds since 1970, by a clock that is right. */
  readonly at: number;
}

/** A process of the service. */
export interface Instance {
  readonly life: Life;
  readonly phone: Phone;
  readonly log: Log;
}

/** What instances need. */
export interface InstancesParts {
  readonly chance: Chance;
  readonly story: Story;
  readonly now: () => number;
  readonly rules: PhoneParts['rules'];
  readonly serviceName: string;
  /** What an instance reaches storage, the network and the topic by. */
  readonly connect: (life: Life) => Pick<PhoneParts, 'table' | 'line' | 'topic' | 'bodyOf'>;
}

/** Clocks differ by up to twice this. */
const CLOCK_AHEAD_MS = 1_000;
// How often the timer function runs.
const SWEEP_MS = 30_000;

/** The instances of the service. Some die, and others take their place. */
export class Instances {
  readonly #parts: InstancesParts;
  readonly #all: Instance[] = [];
  #isEnded = false;
  #timer: NodeJS.Timeout | undefined;
  /** What all instances logged, in that order. */
  readonly logs: LogLine[] = [];

  constructor(parts: InstancesParts) {
    this.#parts = parts;
  }

  get living(): readonly Instance[] {
    return this.#all.filter(({ life }) => !life.isOver);
  }

  /** Any living instance; undefined if all are dead. */
  any(): Instance | undefined {
    return this.#parts.chance.anyOf(this.living);
  }

  /** Starts so many instances, and their timer function. */
  start(count: number): void {
    for (let started = 0; started < count; started += 1) this.#spawn();
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS);
  }

  /** Ends all instances, and starts none any more. */
  end(): void {
    this.#isEnded = true;
    clearInterval(this.#timer);
    for (const { life } of this.living) life.end();
  }

  /** Another instance takes the place of each that ends. */
  #spawn(): void {
    if (this.#isEnded) return;
    const { chance, story, rules, serviceName, connect } = this.#parts;
    const life = new Life(`#${this.#all.length + 1}`, chance.between(-CLOCK_AHEAD_MS, CLOCK_AHEAD_MS));
    const log = this.#logOf(life);
    const phone = runIn(life, () => createPhone({ ...connect(life), serviceName, log, rules }));
    this.#all.push({ life, phone, log });
    story.tell(() => `${life.name} starts`);
    void life.ended.then(() => {
      story.tell(() => `${life.name} dies`);
      setTimeout(() => this.#spawn(), chance.between(10, 5_000));
    });
  }

  // One instance gets the timer; that several get it at the same time must do no harm.
  #sweep(): void {
    const chosen = this.#parts.chance.happens(0.3) ? this.living : [this.any()];
    for (const instance of chosen) {
      if (instance !== undefined) runIn(instance.life, () => void instance.phone.runDue(instance.log));
    }
  }

  #logOf(life: Life): Log {
    const { story, now } = this.#parts;
    const at =
      (level: LogLine['level']): Log['info'] =>
      (event, fields = {}) => {
        if (life.isOver) return;
        this.logs.push({ level, event, fields, at: now() });
        story.tell(() => `${life.name} ${level} ${event} ${JSON.stringify(fields)}`);
      };
    return { info: at('info'), warn: at('warn'), error: at('error') };
  }
}
