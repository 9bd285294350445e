import type { NotificationId } from '../../../src/calls/model/ids.ts';
import type { Destination, OutcomeEvent } from '../../../src/calls/model/outcomes.ts';
import type { PhoneRules } from '../../../src/calls/phone.ts';
import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import { Chance } from '../chance.ts';
import type { Travel } from '../life.ts';
import { Story } from '../story.ts';
import type { VirtualTime } from '../virtual-time.ts';
import { Conditions } from './conditions.ts';
import type { Mode } from './modes.ts';
import { WatchedTable } from './watched-table.ts';

/** Spoken in every message. */
export const SERVICE_NAME = 'Test Watch';
/** Two hours before a UTC day ends: late calls of some seeds are of the next day. */
export const BEGINNING = Date.parse('2026-11-21T22:00:00Z');

/** A request of an instance to storage or to the line. */
export interface OutgoingRequest {
  /** From 1, in the order of all requests of all instances. */
  readonly number: number;
  readonly to: 'table' | 'line';
  /** In milliseconds since 1970. */
  readonly at: number;
}

/** A call request as it left the service. */
export interface DialRequest {
  readonly attemptId: string;
  readonly notificationId: NotificationId;
  readonly number: PhoneNumber;
  readonly at: number;
}

/** An outcome that a destination has taken. */
export interface Published extends OutcomeEvent {
  readonly to: Destination;
}

/** The instance that makes this request of all dies of it. */
export interface Death {
  readonly at: number;
  readonly when: NonNullable<Travel['death']>;
}

/** What everything in a world has in common: chance and time, the faults, the table, and what was asked of whom. */
export class Ground {
  readonly mode: Mode;
  readonly rules: PhoneRules;
  readonly chance: Chance;
  readonly story: Story;
  readonly conditions: Conditions;
  readonly table: WatchedTable;
  readonly requests: OutgoingRequest[] = [];
  readonly dialled: DialRequest[] = [];
  /** The events that the destinations have taken, repeats included. */
  readonly published: Published[] = [];
  readonly #time: VirtualTime;
  readonly #death: Death | undefined;

  constructor(seed: string, mode: Mode, time: VirtualTime, isTold: boolean, death?: Death) {
    const now = () => time.now;
    this.mode = mode;
    this.rules = { ...mode, allowedPrefixes: ['+1'], retentionMs: 90 * 86_400_000 };
    this.chance = new Chance(`the world, ${seed}`);
    this.story = new Story(now, isTold);
    this.conditions = new Conditions(mode, this.chance, now);
    this.table = new WatchedTable(now);
    this.#time = time;
    this.#death = death;
  }

  /** In milliseconds since 1970, by a clock that is right. */
  get now(): number {
    return this.#time.now;
  }

  /** Lets time pass. */
  pass(ms: number): Promise<void> {
    return this.#time.pass(ms);
  }

  /** An instance makes a request. @returns whether it dies of it */
  onRequest(to: OutgoingRequest['to']): Travel['death'] {
    const number = this.requests.length + 1;
    this.requests.push({ number, to, at: this.now });
    if (this.#death?.at === number) return this.#death.when;
    const { deathsAtRequests } = this.conditions.faults;
    return this.chance.happens(deathsAtRequests)
      ? this.chance.happens(0.5)
        ? 'carried out'
        : 'not carried out'
      : undefined;
  }
}
