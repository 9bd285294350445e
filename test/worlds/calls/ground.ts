import { isUrgent } from '../../../src/calls/model/alert-types.ts';
import type { AttemptRef, CallId, NotificationId } from '../../../src/calls/model/ids.ts';
import type { Destination, OutcomeEvent } from '../../../src/calls/model/outcomes.ts';
import type { CallRequest } from '../../../src/calls/model/phone-provider.ts';
import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import type { PhoneRules } from '../../../src/calls/phone.ts';
import { CALLS, LINES_KEY } from '../../../src/calls/store/rows.ts';
import { Chance } from '../chance.ts';
import type { Life, Travel } from '../life.ts';
import { WorldLog } from '../world-log.ts';
import { FAIR, type TableConditions } from '../unreliable-table.ts';
import { runIn, type VirtualTime } from '../virtual-time.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { CALM, type Mode } from './modes.ts';

/** Spoken in every message. */
export const SERVICE_NAME = 'Test Watch';
/** Two hours before a UTC day ends: late calls of some seeds are of the next day. */
export const BEGINNING = Date.parse('2026-11-21T22:00:00Z');

/** The current faults: first the faults of the mode, and none after `calmDown`. */
export class Conditions {
  readonly #now: () => number;
  /** When our credential is wrong, and when storage cannot be used: from, and until. */
  readonly #setUpFaults: (readonly [number, number])[];
  readonly #outages: (readonly [number, number])[];
  /** Storage refuses to write the row of this notification. */
  refusedRow: NotificationId | undefined;
  #faults: Mode;

  /** @param now in milliseconds since 1970 */
  constructor(mode: Mode, chance: Chance, now: () => number) {
    this.#now = now;
    this.#faults = mode;
    const spans = (count: number, leastMs: number, mostMs: number) =>
      Array.from({ length: count }, () => {
        const from = now() + chance.between(0, 300_000);
        return [from, from + chance.between(leastMs, mostMs)] as const;
      });
    this.#outages = spans(mode.outages, 500, 40_000);
    this.#setUpFaults = spans(mode.setUpFaults, 5_000, 240_000);
  }

  get faults(): Mode {
    return this.#faults;
  }

  get table(): TableConditions {
    const { tableFaults, mostLateMs } = this.#faults;
    const [lost, other] = [tableFaults / 6, tableFaults / 3];
    const weather = { ...FAIR, lostRequest: lost, lostAnswer: lost, hung: other, refused: other, mostLateMs };
    const isRefused = (rowKey: string): boolean => this.refusedRow !== undefined && rowKey.endsWith(this.refusedRow);
    return { weather, isOutage: this.isOutage, isRefused };
  }

  /** Whether storage cannot be used now. */
  get isOutage(): boolean {
    return this.#isIn(this.#outages);
  }

  get isSetUpWrong(): boolean {
    return this.#isIn(this.#setUpFaults);
  }

  /** Our credential is wrong for this time from now on. */
  breakSetUp(ms: number): void {
    this.#setUpFaults.push([this.#now(), this.#now() + ms]);
  }

  /** Storage cannot be used for this time from now on. */
  stopTable(ms: number): void {
    this.#outages.push([this.#now(), this.#now() + ms]);
  }

  /** Ends all faults. */
  calmDown(): void {
    this.#outages.length = 0;
    this.#setUpFaults.length = 0;
    this.refusedRow = undefined;
    this.#faults = { ...this.#faults, ...CALM };
  }

  #isIn(spans: readonly (readonly [number, number])[]): boolean {
    const now = this.#now();
    return spans.some(([from, until]) => now >= from && now < until);
  }
}

/** A request of an instance to storage or to the provider. */
interface OutgoingRequest {
  readonly to: 'table' | 'provider';
  /** In milliseconds since 1970. */
  readonly at: number;
}

/** A call request as it left the service. */
export interface DialRequest extends AttemptRef {
  readonly number: PhoneNumber;
  readonly isUrgent: boolean;
  readonly at: number;
  /** Whether the claim of its attempt was stored by then. */
  readonly isStored: boolean;
}

/** An outcome that a destination has taken. */
export interface Published extends OutcomeEvent {
  readonly to: Destination;
}

const NOTIFICATION_IDS = /[0-9a-f]{12}-[0-9a-f]{20}/g;
const ACTS_WITHIN_MS = 5_000;
/** A process is suspended while its request is under way, or a little later. */
const MOST_UNDER_WAY_MS = 60;

/** The instance that makes this request of all dies of it. */
export interface Death {
  readonly at: number;
  readonly when: NonNullable<Travel['death']>;
}

/** The common parts of a world: chance and time, the faults, the table, and all requests of the instances. */
export class Ground {
  readonly mode: Mode;
  readonly rules: PhoneRules;
  readonly chance: Chance;
  readonly worldLog: WorldLog;
  readonly conditions: Conditions;
  /** The table that all processes share. */
  readonly table: MemoryTable;
  /** All requests of all instances, in that order. */
  readonly requests: OutgoingRequest[] = [];
  readonly dialled: DialRequest[] = [];
  /** The actions of processes that came too long after their decision. */
  readonly lateActs: { readonly what: string; readonly callId: CallId | undefined }[] = [];
  /** The attempts that took a slot, in that order. */
  readonly claims = new Set<string>();
  readonly #closingSince = new Map<Life, number>();
  readonly #wroteAt = new Map<string, number>();
  /** The events that the destinations have taken, repeats included. */
  readonly published: Published[] = [];
  readonly #time: VirtualTime;
  readonly #death: Death | undefined;

  constructor(seed: string, mode: Mode, time: VirtualTime, isLogged: boolean, death?: Death) {
    const now = () => time.now;
    this.mode = mode;
    this.rules = { ...mode, allowedPrefixes: ['+1'], retentionMs: 90 * 86_400_000 };
    this.chance = new Chance(`the world, ${seed}`);
    this.worldLog = new WorldLog(now, isLogged);
    this.conditions = new Conditions(mode, this.chance, now);
    this.table = new MemoryTable(now);
    const transact = this.table.transact.bind(this.table);
    this.table.transact = async (...asked) => {
      const etags = await transact(...asked);
      const lines = asked[1].find(({ rowKey }) => rowKey === LINES_KEY);
      for (const [, attempt = ''] of JSON.stringify(lines ?? '').matchAll(/attempt\\":\\"([^\\]+)/g))
        this.claims.add(attempt);
      return etags;
    };
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

  /** A process is told to end: after that it dials no recipient. */
  noteClosing(life: Life): void {
    this.#closingSince.set(life, this.now);
  }

  /** A process writes rows of notifications: notes when it last did so for each. */
  noteWrite(request: string, life: Life): void {
    for (const [id] of request.matchAll(NOTIFICATION_IDS)) this.#wroteAt.set(`${life.name} ${id}`, this.now);
  }

  /** A process is about to act for an attempt. It acts soon after its commit, or not at all. */
  noteAct(what: string, { notificationId }: AttemptRef, life: Life, callId?: CallId): void {
    const lateMs = this.now - (this.#wroteAt.get(`${life.name} ${notificationId}`) ?? -Infinity);
    if (lateMs > ACTS_WITHIN_MS) this.lateActs.push({ callId, what: `${what} ${lateMs} ms after its commit` });
  }

  /** A request for a call leaves the service. */
  noteDial({ attempt, number, alertType }: CallRequest, life: Life): void {
    this.noteAct(`${number} was dialed`, attempt, life);
    const closingMs = this.now - (this.#closingSince.get(life) ?? Infinity);
    if (closingMs > ACTS_WITHIN_MS)
      this.lateActs.push({
        callId: undefined,
        what: `${number} was dialed ${closingMs} ms after the process should end`,
      });
    const isStored = JSON.stringify(this.table.rows(CALLS)).includes(attempt.attemptId);
    this.dialled.push({ ...attempt, number, isUrgent: isUrgent(alertType.name), at: this.now, isStored });
  }

  /** An instance makes a request, and is perhaps suspended before or after it. @returns whether it dies of it */
  onRequest(to: OutgoingRequest['to'], life: Life): Travel['death'] {
    const { chance, conditions } = this;
    if (this.requests.push({ to, at: this.now }) === this.#death?.at) return this.#death.when;
    const { suspensions } = conditions.faults;
    if (suspensions > 0 && chance.happens(suspensions)) {
      const suspend = (): void => {
        const ms = chance.between(1_000, 90_000);
        this.worldLog.add(() => `${life.name} is suspended for ${Math.round(ms)} ms`);
        life.suspend(ms);
      };
      if (chance.happens(0.5)) suspend();
      else runIn(undefined, () => setTimeout(suspend, chance.between(1, MOST_UNDER_WAY_MS)));
    }
    if (!chance.happens(conditions.faults.deathsAtRequests)) return undefined;
    return chance.happens(0.5) ? 'carried out' : 'not carried out';
  }
}
