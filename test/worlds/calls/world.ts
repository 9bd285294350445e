import { randomFrom } from '../../../infra/cli/demo/random.ts';
import { ALERT_TYPES, type AlertTypeName, alertTypeOf, isUrgent } from '../../../src/calls/model/alert-types.ts';
import type { CallEvent, PhoneProvider } from '../../../src/calls/model/phone-provider.ts';
import type { NotificationId } from '../../../src/calls/model/ids.ts';
import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import type { NotificationBody, NotificationRequest } from '../../../src/calls/phone.ts';
import { Store } from '../../../src/calls/store/store.ts';
import { CALLS_FORMAT } from '../../../src/calls/store/rows.ts';
import { bodyOf } from '../../../src/calls/state/view.ts';
import type { StoredRow } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import type { Life } from '../life.ts';
import { inVirtualTime, type VirtualTime } from '../virtual-time.ts';
import { BEGINNING, type Death, type DialRequest, Ground } from './ground.ts';
import { Instances } from './instances.ts';
import type { Mode } from './modes.ts';
import { type FateOf, type NetworkCall, TelephoneNetwork } from './network.ts';
import { idOf, people, Senders, type SentRequest, wavesOf } from './senders.ts';
import { UnreliableProvider } from './unreliable-provider.ts';

/** How a world differs from what its mode says. */
export interface WorldOptions {
  readonly death?: Death | undefined;
  /** Whether the log of the world is written: that takes time. */
  readonly isLogged?: boolean;
  /** The behavior of callees; by the mode's probabilities if it is not given. */
  readonly fateOf?: FateOf | undefined;
}

/** A call of the service that got a line. */
export interface Called extends Pick<DialRequest, 'attemptId' | 'number' | 'isUrgent'> {
  /** It counts as an attempt: the callee was the reason if it failed. */
  readonly isAttempt: boolean;
}

/** A call, and the others that held a line when it was placed. */
export interface Placed {
  readonly call: Called;
  readonly others: readonly Called[];
}

/** A call that cannot be hung up holds its line for a minute from the first try, and no call holds it longer. Storage tells whole seconds. */
const HELD_WHILE_HANGING_UP_MS = 58_500;
const LONGEST_HELD_MS = 600_000;
/** The instance of the first claim may die before its request: a check repeats the claim after a lease. */
const MAX_ASKED_LATE_MS = 25_000;

/** Until when a call holds its line at most. Times are in milliseconds since 1970. */
export const heldUntil = ({ deathsAtRequests, suspensions }: Mode, placedAt: number, askedAt = Infinity): number => {
  const claimedAt = askedAt - (deathsAtRequests + suspensions > 0 ? MAX_ASKED_LATE_MS : 0);
  return Math.min(claimedAt + HELD_WHILE_HANGING_UP_MS, placedAt + LONGEST_HELD_MS);
};

/** Several instances of the service and its senders, with any provider, in virtual time. The seed decides the events. */
export abstract class ServiceWorld extends Ground {
  readonly instances: Instances;
  readonly senders: Senders;
  /** The notification whose row cannot be written, or cannot be read. */
  poisoned: NotificationId | undefined;
  readonly #store: Store;

  constructor(seed: string, mode: Mode, { death, isLogged = false }: WorldOptions, time: VirtualTime) {
    super(seed, mode, time, isLogged, death);
    this.instances = new Instances(this, (life) => this.providerOf(life));
    this.senders = new Senders(this, this.instances);
    this.#store = new Store(this.faultlessTable, [], () => undefined);
  }

  /** Each call of the service that got a line, and the calls that held a line at that time. */
  abstract get placed(): readonly Placed[];

  /** Whether all calls have ended, even the calls of other systems. */
  abstract get hasNoOpenCall(): boolean;

  /** The provider as one process reaches it. */
  protected abstract providerOf(life: Life): PhoneProvider;

  /** All rows about calls. */
  get rows(): readonly StoredRow[] {
    return this.table.partitions().flatMap((partition) => this.table.rows(partition));
  }

  /** The table as a process reaches it that has no faults. */
  get faultlessTable(): Table {
    return new Table(this.table, { format: CALLS_FORMAT, isAnyFormat: true });
  }

  /** The notification of a request in the table, even during an outage. */
  async viewOf(sent: SentRequest): Promise<NotificationBody | undefined> {
    const id = idOf(sent);
    const stored = id && (await this.#store.find(id));
    return stored && bodyOf(stored, this.now);
  }

  /** The notification of a request; fails if the service refused the request. */
  async bodyOf(sent: SentRequest): Promise<NotificationBody> {
    const body = await this.viewOf(sent);
    if (body === undefined) throw new Error(`not taken: ${JSON.stringify(sent.answers)}`);
    return body;
  }

  /** The status of each recipient, in the order of the request. */
  async statuses(sent: SentRequest): Promise<readonly string[]> {
    return (await this.bodyOf(sent)).recipients.map(({ status }) => status);
  }

  /** The outcomes of each recipient's attempts. */
  async outcomes(sent: SentRequest): Promise<readonly (readonly unknown[])[]> {
    return (await this.bodyOf(sent)).recipients.map(({ attempts }) => attempts.map(({ outcome }) => outcome));
  }

  /** Sends a request under its own key. */
  send(
    alertType: AlertTypeName,
    numbers: readonly PhoneNumber[],
    more: Partial<NotificationRequest> = {},
  ): SentRequest {
    const request = { alertType: alertTypeOf(alertType), waves: wavesOf(numbers), ...more };
    return this.senders.send(request, `key ${this.senders.sent.length}`);
  }

  /** A fire is confirmed. */
  fire(numbers = people(1), more?: Partial<NotificationRequest>): SentRequest {
    return this.send('ConfirmedFire', numbers, more);
  }

  /** An alert that is not urgent. */
  anomaly(numbers = people(1)): SentRequest {
    return this.send('Anomaly', numbers);
  }

  /** From now on, the row of a notification cannot be written until it is calm, or can never be read again. */
  async poison(sent: SentRequest, how: 'write' | 'read'): Promise<void> {
    const id = idOf(sent);
    if (id === undefined) return;
    this.poisoned = id;
    this.worldLog.add(() => `${sent.key} can no longer be ${how === 'write' ? 'written' : 'read'}`);
    if (how === 'write') this.conditions.refusedRow = id;
    for (const { partitionKey, rowKey, etag, properties } of how === 'read' ? this.rows : []) {
      if (!rowKey.endsWith(id)) continue;
      const texts = Object.keys(properties).filter(
        (name) => name !== 'timestamp' && typeof properties[name] === 'string',
      );
      const damaged = Object.fromEntries(texts.map((name) => [name, '{']));
      await this.table.transact(partitionKey, [{ kind: 'merge', rowKey, etag, properties: damaged }]);
    }
  }

  /** The log lines of all instances about an event. */
  logged(event: string) {
    return this.instances.logs.filter((line) => line.event === event);
  }

  /** How many requests to storage were made so far. */
  get tableRequests(): number {
    return this.requests.filter(({ to }) => to === 'table').length;
  }

  /** Lets time pass in small steps, until a condition is true. */
  async until(isSo: () => boolean | Promise<boolean>, mostMs = 120_000, stepMs = 20): Promise<void> {
    for (const from = this.now; !(await isSo());) {
      if (this.now - from > mostMs) throw new Error(`not so within ${mostMs} ms`);
      await this.pass(stepMs);
    }
  }
}

/**
 * A world whose provider reports events and speaks on request, on a telephone network that is played here.
 *
 * @example
 * await inWorld(World, 'seed 7', mode, {}, async (world) => {
 *   world.fire();
 *   await world.pass(60_000);
 * });
 */
export class World extends ServiceWorld {
  readonly network: TelephoneNetwork;

  constructor(seed: string, mode: Mode, options: WorldOptions, time: VirtualTime) {
    super(seed, mode, options, time);
    const { fateOf = () => this.chance.byProbability(mode.fates) ?? 'listens' } = options;
    this.network = new TelephoneNetwork(this, fateOf, (call, event) => this.#post(call, event));
  }

  /** The calls to a number that had a line. */
  callsTo(number: PhoneNumber | undefined): readonly NetworkCall[] {
    return this.network.calls.filter(({ request, fate }) => request?.number === number && fate !== 'turned away');
  }

  override get hasNoOpenCall(): boolean {
    return this.network.calls.every(({ state }) => state === 'ended');
  }

  override get placed(): readonly Placed[] {
    const stored = JSON.stringify(this.rows);
    // If events get lost, and the answer with its id, the service cannot know of a call.
    const isUnknown = (id: string) => this.mode.eventLoss > 0 && !new RegExp(`\\b${id}\\b`).test(stored);
    const calls = this.network.calls.flatMap(({ id, request, fate, placedAt, endedAt = Infinity, hangUpAskedAt }) => {
      if (request === undefined || fate === 'turned away' || isUnknown(id)) return [];
      const until = Math.min(endedAt, heldUntil(this.mode, placedAt, hangUpAskedAt));
      const { number, alertType, attempt } = request;
      const isAttempt = fate !== 'no line' && fate !== 'set-up';
      return { ...attempt, number, isUrgent: isUrgent(alertType.name), isAttempt, placedAt, until };
    });
    return calls.map((call, index) => ({
      call,
      others: calls.slice(0, index).filter(({ until }) => call.placedAt < until),
    }));
  }

  /** When a number rang first, in milliseconds from the beginning. */
  rangAt(number: PhoneNumber | undefined): number {
    return Math.min(...this.callsTo(number).map(({ placedAt }) => placedAt)) - BEGINNING;
  }

  /** The calls that are ringing or answered. */
  get openCalls(): readonly NetworkCall[] {
    return this.network.calls.filter(({ state, request }) => state !== 'ended' && request !== undefined);
  }

  /** Waits for the first call of the world. */
  async firstCall(): Promise<NetworkCall> {
    await this.until(() => this.network.calls.length > 0);
    const [call] = this.network.calls;
    if (call === undefined) throw new Error('nobody is called');
    return call;
  }

  protected override providerOf(life: Life): PhoneProvider {
    return new UnreliableProvider(this, this.network, life);
  }

  /** Events get lost, come twice, and come late, by the conditions. */
  #post(call: NetworkCall, event: CallEvent): void {
    const { chance } = this;
    const { eventLoss, eventRepeat, eventDelay } = this.conditions.faults;
    const delayMs = () => (chance.happens(eventDelay) ? chance.between(500, 12_000) : chance.between(1, 60));
    if (chance.happens(eventLoss)) this.worldLog.add(() => `${event.kind} of ${event.callId} gets lost`);
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
    this.worldLog.add(() => `${life.name} gets ${event.kind} of ${event.callId}`);
    if (event.kind === 'disconnected') call.endToldAt ??= this.now;
    const alertType = call.request?.alertType ?? ALERT_TYPES[0];
    let isAnswered = false;
    if (life.isSuspended) setTimeout(() => !isAnswered && this.#deliver(call, event), GIVEN_UP_AFTER_MS);
    void life
      .do(async () => phone.handle([event], alertType, log))
      .then((isStored) => {
        isAnswered = true;
        const key = event.key && call.keys[event.key.sequence - 1];
        if (isStored === undefined) again();
        else if (isStored && key !== undefined) key.takenAt ??= this.now;
      });
  }
}

const DELIVERED_AGAIN_MS = 1_000;
/** An event that gets no answer is sent to another instance. The first may still handle it. */
const GIVEN_UP_AFTER_MS = 10_000;

/** Plays in a world of a kind, which begins two hours before a UTC day ends. */
export const inWorld = <Own extends ServiceWorld, Result>(
  Kind: new (seed: string, mode: Mode, options: WorldOptions, time: VirtualTime) => Own,
  seed: string,
  mode: Mode,
  options: WorldOptions,
  play: (world: Own) => Promise<Result>,
): Promise<Result> =>
  inVirtualTime(BEGINNING, randomFrom(`the service, ${seed}`), options.isLogged === true, (time) => {
    const world = new Kind(seed, mode, options, time);
    world.instances.start(mode.instances);
    return play(world);
  });
