import { randomUUID } from 'node:crypto';

import { randomFrom } from '../../../infra/cli/demo/random.ts';
import { ALERT_TYPES } from '../../../src/calls/model/alert-types.ts';
import type { CallEvent, PhoneLine } from '../../../src/calls/model/phone-line.ts';
import type { NotificationBody } from '../../../src/calls/phone.ts';
import { NotificationStore } from '../../../src/calls/store/notification-store.ts';
import { CALLS_FORMAT } from '../../../src/calls/store/rows.ts';
import { bodyOf } from '../../../src/calls/state/view.ts';
import type { StoredRow } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import type { Life } from '../life.ts';
import { inVirtualTime, type VirtualTime } from '../virtual-time.ts';
import { BEGINNING, type Death, Ground } from './ground.ts';
import { Instances } from './instances.ts';
import type { Mode } from './modes.ts';
import { type FateOf, type NetworkCall, TelephoneNetwork } from './network.ts';
import { idOf, Senders, type SentRequest } from './senders.ts';
import { UnreliableLine } from './unreliable-line.ts';

/** How a world differs from what its mode says. */
export interface WorldOptions {
  readonly death?: Death | undefined;
  /** Whether the story is written: that takes time. */
  readonly isTold?: boolean;
  /** What callees do; by the mode's probabilities if it is not given. */
  readonly fateOf?: FateOf | undefined;
}

/** Several instances of the service and its senders, with any provider, in virtual time. What happens is decided by the seed. */
export abstract class ServiceWorld extends Ground {
  readonly instances: Instances;
  readonly senders: Senders;
  readonly #store: NotificationStore;

  constructor(seed: string, mode: Mode, { death, isTold = false }: WorldOptions, time: VirtualTime) {
    super(seed, mode, time, isTold, death);
    this.instances = new Instances(this, (life) => this.lineOf(life));
    this.senders = new Senders(this, this.instances);
    this.#store = new NotificationStore(this.faultlessTable, randomUUID, () => undefined);
  }

  /** The provider as one process reaches it. */
  protected abstract lineOf(life: Life): PhoneLine;

  /** All rows about calls. */
  get rows(): readonly StoredRow[] {
    return this.table.partitions().flatMap((partition) => this.table.rows(partition));
  }

  /** The table as a process reaches it that has no faults. */
  get faultlessTable(): Table {
    return new Table(this.table, { format: CALLS_FORMAT });
  }

  /** The notification of a request, as the table has it, also during an outage. */
  async viewOf(sent: SentRequest): Promise<NotificationBody | undefined> {
    const id = idOf(sent);
    const known = id && (await this.#store.load(id));
    return known && bodyOf(known, this.now);
  }

  /** The notifications that have reached too few, as the table has them. */
  async needingAttention(): Promise<readonly NotificationBody[]> {
    return (await this.#store.needingAttention(this.now)).map((known) => bodyOf(known, this.now));
  }
}

/**
 * A world whose provider reports events and speaks on request, on a telephone network that is played here.
 *
 * @example
 * await inWorld('seed 7', mode, {}, async (world) => {
 *   world.senders.send(request, 'key');
 *   await world.pass(60_000);
 * });
 */
export class World extends ServiceWorld {
  readonly network: TelephoneNetwork;

  constructor(seed: string, mode: Mode, options: WorldOptions, time: VirtualTime) {
    super(seed, mode, options, time);
    const { fateOf = () => this.chance.byProbability(mode.fates) ?? 'listens' } = options;
    this.network = new TelephoneNetwork(this, fateOf, (call, event, how) => this.#post(call, event, how));
  }

  protected override lineOf(life: Life): PhoneLine {
    return new UnreliableLine(this, this.network, life);
  }

  /** Events get lost, come twice, and come late, by the conditions. */
  #post(call: NetworkCall, event: CallEvent, how: 'at once' | undefined): void {
    if (how === 'at once') {
      this.#deliver(call, event);
      return;
    }
    const { chance } = this;
    const { eventLoss, eventRepeat, eventDelay } = this.conditions.faults;
    const delayMs = () => (chance.happens(eventDelay) ? chance.between(500, 12_000) : chance.between(1, 60));
    if (chance.happens(eventLoss)) this.story.tell(() => `${event.kind} of ${event.callId} gets lost`);
    else setTimeout(() => this.#deliver(call, event), delayMs());
    if (chance.happens(eventRepeat)) setTimeout(() => this.#deliver(call, event), delayMs() + chance.between(0, 3_000));
  }

  /** Brings an event to any instance. If the instance dies before it has answered, another instance gets the event. */
  #deliver(call: NetworkCall, event: CallEvent): void {
    const instance = this.instances.any();
    const again = () => setTimeout(() => this.#deliver(call, event), DELIVERED_AGAIN_MS);
    if (instance === undefined) {
      if (!this.instances.isEnded) again();
      return;
    }
    const { life, phone, log } = instance;
    this.story.tell(() => `${life.name} gets ${event.kind} of ${event.callId}`);
    const alertType = call.request?.alertType ?? ALERT_TYPES[0];
    void life
      .do(async () => phone.handle([event], alertType, log))
      .then((isStored) => {
        const key = event.key && call.keys[event.key.sequence - 1];
        if (isStored === undefined) again();
        else if (isStored && key !== undefined) key.takenAt ??= this.now;
      });
  }
}

const DELIVERED_AGAIN_MS = 1_000;

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
