import { randomUUID } from 'node:crypto';

import { randomFrom } from '../../../infra/local/demo/random.ts';
import type { NotificationId } from '../../../src/calls/notification-id.ts';
import type { OutcomeEvent } from '../../../src/calls/outcome-events.ts';
import type { NotificationView, PhoneRules } from '../../../src/calls/phone.ts';
import type { PhoneNumber } from '../../../src/calls/phone-number.ts';
import { NotificationStore } from '../../../src/calls/store/notification-store.ts';
import { CALLS_FORMAT } from '../../../src/calls/store/rows.ts';
import { viewOf } from '../../../src/calls/view.ts';
import type { StoredRow } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { Chance } from '../chance.ts';
import type { Travel } from '../life.ts';
import { Story } from '../story.ts';
import { inVirtualTime, type VirtualTime } from '../virtual-time.ts';
import { Conditions } from './conditions.ts';
import { Instances } from './instances.ts';
import type { Mode } from './modes.ts';
import { type FateOf, TelephoneNetwork } from './network.ts';
import { idOf, Senders, type SentRequest } from './senders.ts';
import { type Commit, WatchedTable } from './watched-table.ts';

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

/** How a world differs from what its mode says. */
export interface WorldOptions {
  /** What the callee does this time; by the mode's probabilities if it is not given. */
  readonly fateOf?: FateOf;
  /** The instance that makes this request of all dies of it. */
  readonly death?: { readonly at: number; readonly when: NonNullable<Travel['death']> };
  /** Whether anybody wants to read the story. */
  readonly isTold?: boolean;
}

/**
 * Several instances of the service, a telephone network and a topic, in virtual time. What happens is decided by the seed.
 *
 * @example
 * await inWorld('seed 7', mode, {}, async (world) => {
 *   world.senders.send(request, 'key');
 *   await world.pass(60_000);
 * });
 */
export class World {
  readonly mode: Mode;
  readonly rules: PhoneRules;
  readonly story: Story;
  readonly chance: Chance;
  readonly conditions: Conditions;
  readonly table: WatchedTable;
  readonly network: TelephoneNetwork;
  readonly instances = new Instances(this);
  readonly senders = new Senders(this);
  /** The events that the topic has taken, repeats included. */
  readonly published: OutcomeEvent[] = [];
  readonly requests: OutgoingRequest[] = [];
  readonly dialled: DialRequest[] = [];
  /** The commit by which a notification was first seen to be stopped, or somebody in its waves to have confirmed. */
  readonly closings = new Map<NotificationId, Commit>();
  readonly #time: VirtualTime;
  readonly #store: NotificationStore;
  readonly #death: WorldOptions['death'];

  constructor(seed: string, mode: Mode, { fateOf, death, isTold = false }: WorldOptions, time: VirtualTime) {
    const now = () => time.now;
    const chance = new Chance(`the world, ${seed}`);
    this.mode = mode;
    this.rules = { ...mode, allowedPrefixes: ['+1'], retentionMs: 90 * 86_400_000 };
    this.chance = chance;
    this.#time = time;
    this.#death = death;
    this.story = new Story(now, isTold);
    this.conditions = new Conditions(mode, chance, now);
    this.table = new WatchedTable(now);
    this.network = new TelephoneNetwork(this, fateOf ?? (() => chance.byProbability(mode.fates) ?? 'listens'));
    const parts = { ...this.rules, table: this.faultlessTable, isPublishing: false, newId: randomUUID };
    this.#store = new NotificationStore(parts);
    this.table.watch = (commit, rowKeys) => this.#watch(commit, rowKeys);
  }

  /** In milliseconds since 1970, by a clock that is right. */
  get now(): number {
    return this.#time.now;
  }

  /** All rows about calls. */
  get rows(): readonly StoredRow[] {
    return this.table.partitions().flatMap((partition) => this.table.rows(partition));
  }

  /** The table as a process reaches it that has no faults. */
  get faultlessTable(): Table {
    return new Table(this.table, { format: CALLS_FORMAT });
  }

  /** Lets time pass. */
  pass(ms: number): Promise<void> {
    return this.#time.pass(ms);
  }

  /** A notification as the table has it, whatever instances could read now. */
  async view(id: NotificationId): Promise<NotificationView | undefined> {
    const known = await this.#store.load(id);
    return known && viewOf(known, this.now);
  }

  /** What became of a request, as the table has it. */
  async viewOf(sent: SentRequest): Promise<NotificationView | undefined> {
    const id = idOf(sent);
    return id === undefined ? undefined : this.view(id);
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

  /** Only those that may be closed are looked at: it takes time. */
  async #watch(commit: Commit, rowKeys: readonly string[]): Promise<void> {
    for (const { request, stop, ...sent } of this.senders.sent) {
      const id = idOf(sent);
      const isOpen = id !== undefined && !this.closings.has(id) && rowKeys.some((key) => key.includes(id));
      // The first confirmation stops the rest of waves only.
      if (!isOpen || (request.waveMs === undefined && stop === undefined)) continue;
      const view = await this.view(id);
      const isConfirmed =
        request.waveMs !== undefined && view?.recipients.some(({ status }) => status === 'confirmed') === true;
      if (view?.status === 'stopped' || isConfirmed) this.closings.set(id, commit);
    }
  }
}

/** Plays in a world that begins two hours before a UTC day ends. */
export const inWorld = <Result>(
  seed: string,
  mode: Mode,
  options: WorldOptions,
  play: (world: World) => Promise<Result>,
): Promise<Result> =>
  inVirtualTime(BEGINNING, randomFrom(`the service, ${seed}`), options.isTold === true, (time) => {
    const world = new World(seed, mode, options, time);
    world.instances.start(mode.instances);
    return play(world);
  });
