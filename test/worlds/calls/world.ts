import { randomUUID } from 'node:crypto';

import { randomFrom } from '../../../infra/cli/demo/random.ts';
import type { NotificationId } from '../../../src/calls/model/ids.ts';
import type { PhoneLine } from '../../../src/calls/model/phone-line.ts';
import type { NotificationBody } from '../../../src/calls/phone.ts';
import { NotificationStore } from '../../../src/calls/store/notification-store.ts';
import { CALLS_FORMAT } from '../../../src/calls/store/rows.ts';
import { bodyOf } from '../../../src/calls/state/view.ts';
import type { StoredRow } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import type { Life } from '../life.ts';
import { inVirtualTime, type VirtualTime } from '../virtual-time.ts';
import { deliverTo } from './deliveries.ts';
import { BEGINNING, type Death, Ground } from './ground.ts';
import { Instances } from './instances.ts';
import type { Mode } from './modes.ts';
import { type FateOf, TelephoneNetwork } from './network.ts';
import { idOf, Senders, type SentRequest } from './senders.ts';
import { UnreliableLine } from './unreliable-line.ts';

/** How a world differs from what its mode says. */
export interface WorldOptions {
  readonly death?: Death;
  /** Whether anybody wants to read the story. */
  readonly isTold?: boolean;
}

/** Several instances of the service and its senders, whatever the provider, in virtual time. What happens is decided by the seed. */
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

  /** A notification as the table has it, whatever instances could read now. */
  async view(id: NotificationId): Promise<NotificationBody | undefined> {
    const known = await this.#store.load(id);
    return known && bodyOf(known, this.now);
  }

  /** What became of a request, as the table has it. */
  async viewOf(sent: SentRequest): Promise<NotificationBody | undefined> {
    const id = idOf(sent);
    return id === undefined ? undefined : this.view(id);
  }

  /** What has reached too few, as the table has it. */
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
  /** @param fateOf what the callee does this time; by the mode's probabilities if it is not given */
  constructor(seed: string, mode: Mode, options: WorldOptions, time: VirtualTime, fateOf: FateOf | undefined) {
    super(seed, mode, options, time);
    const byChance = () => this.chance.byProbability(mode.fates) ?? 'listens';
    this.network = new TelephoneNetwork(
      this,
      fateOf ?? byChance,
      deliverTo(() => this.instances, this),
    );
  }

  protected override lineOf(life: Life): PhoneLine {
    return new UnreliableLine(this, this.network, life);
  }
}

/** Plays in a world that begins two hours before a UTC day ends. */
export const inWorld = <Result>(
  seed: string,
  mode: Mode,
  { fateOf, ...options }: WorldOptions & { readonly fateOf?: FateOf | undefined },
  play: (world: World) => Promise<Result>,
): Promise<Result> =>
  inVirtualTime(BEGINNING, randomFrom(`the service, ${seed}`), options.isTold === true, (time) => {
    const world = new World(seed, mode, options, time, fateOf);
    world.instances.start(mode.instances);
    return play(world);
  });
