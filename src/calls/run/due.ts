import pLimit from 'p-limit';
import { LRUCache } from 'lru-cache';
import { type Clock, sleepBy } from '../model/clock.ts';
import type { NotificationId } from '../model/ids.ts';
import type { WaitingCode } from '../model/notification-request.ts';
import { heldNow, next, waitsFor } from '../rules/queue.ts';
import { logFailure, logOverdue, logSilence } from './call-log.ts';
import type { Cases, Committed, Context, Done } from './cases.ts';
import type { Driver } from './driver.ts';
import { type OpenAttempt, openCallsOf, type QueuedRecipient, queueOf, whoOf } from '../state/lines.ts';
import { checkAtOfNotification, hasRung, isUrgentNotification, type NotificationCase } from '../state/notification.ts';
import { limitsOf, termsOf } from '../state/step.ts';
import {
  isUnreadable,
  type NotificationStore,
  type Snapshot,
  type StoredCase,
  type StoredLines,
} from '../store/notification-store.ts';
import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';

/** An urgent notification for which no phone has rung by then is an error. */
const RINGS_WITHIN_MS = 120_000;
/** A check that is later than this is an error. */
const LATE_MS = 120_000;
/** Pause after a look that storage did not answer. */
const RETRY_MS = 5_000;
/** Everything that is kept is looked at when a process starts, and so often. */
const WHOLE_EVERY_MS = 24 * 3_600_000;
/** The log says so often that somebody looks. */
const TOLD_EVERY_MS = 300_000;
const CHECKED_AT_A_TIME = 16;
const CONFLICT_PAUSE_MS = 50;
/** Claims follow one another so closely that no event of the same notification could be written by another instance. Then all look again. */
const CLAIMS_A_LOOK = 3;
const MOST_TOLD = 1_000;

/**
 * Finds what is due and does it: checks calls of which nothing was heard, opens waves, and dials whoever is next. A look is one query.
 * Looks are started by requests, by the ends of calls, by the earliest time that this process knows, every minute, and by the timer function.
 */
export class DueWork {
  readonly #context: Context;
  readonly #cases: Cases;
  readonly #driver: Driver;
  readonly #wake: Wake;
  readonly #underWay = new Set<Promise<void>>();
  /** Errors that this process has told. */
  readonly #told = new LRUCache<string, true>({ max: MOST_TOLD });
  #looking: Promise<void> | undefined;
  #isAgain = false;
  #wholeAt = -Infinity;
  #toldAt = -Infinity;
  #isEnded = false;

  constructor(context: Context, cases: Cases, driver: Driver) {
    this.#context = context;
    this.#cases = cases;
    this.#driver = driver;
    this.#wake = new Wake(context.clock, () => void this.look(context.log));
  }

  /** Looks at once, in this process once at a time; a look that is under way is followed by another. Never throws. */
  async look(log: Log): Promise<void> {
    this.#isAgain = true;
    this.#looking ??= this.#lookUntilDone(log).finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** A notification was committed: its next check, and whether the queue may move on. */
  note({ stored, movesQueue }: Committed): void {
    this.#wake.set(stored.notification.id, this.#timeOf(stored));
    if (movesQueue) this.#wake.now();
  }

  /** Fulfils when nothing is under way. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Starts no more looks; fulfils when nothing is under way. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#wake.end();
    await this.#looking;
    await this.settled();
  }

  async #lookUntilDone(log: Log): Promise<void> {
    let isFruitful = false;
    while (this.#isAgain && !this.#isEnded) {
      this.#isAgain = false;
      try {
        isFruitful = (await this.#lookOnce(log)) || isFruitful;
      } catch (error) {
        logFailure('due work unreachable', error, {}, log);
        this.#wake.set('retry', this.#context.clock.now() + RETRY_MS);
      }
    }
    this.#wake.rearm(isFruitful);
  }

  /** @returns whether anything was done */
  async #lookOnce(log: Log): Promise<boolean> {
    const { store, clock } = this.#context;
    const now = clock.now();
    const isWhole = now - this.#wholeAt >= WHOLE_EVERY_MS;
    const snapshot = await store.look(now, isWhole);
    if (isWhole) this.#wholeAt = now;
    this.#cases.learn(snapshot);
    this.#tell(snapshot, now, log);
    const overdue = snapshot.live.filter((known) => (this.#checkAt(known) ?? Infinity) <= now);
    const isChanged = await this.#check(overdue, snapshot, log);
    // The queue is decided from what is stored now.
    if (isChanged) this.#isAgain = true;
    else for (const known of snapshot.live) this.#wake.set(known.notification.id, this.#timeOf(known));
    return isChanged || this.#dialAll(snapshot, log);
  }

  #checkAt(known: NotificationCase): number | undefined {
    return checkAtOfNotification(known, termsOf(known, this.#context.policy));
  }

  /** When this process must look again for a notification: a check, or a phone that should have rung. */
  #timeOf(known: NotificationCase): number | undefined {
    const checkAt = this.#checkAt(known);
    const ringsBy = this.#isSilent(known, this.#context.clock.now())
      ? known.notification.createdAt + RINGS_WITHIN_MS
      : undefined;
    if (ringsBy === undefined || this.#told.has(silenceOf(known))) return checkAt;
    return Math.min(checkAt ?? Infinity, ringsBy);
  }

  #isSilent(known: NotificationCase, now: number): boolean {
    const { notification } = known;
    const isOver = notification.completedAt !== undefined || notification.stoppedAt !== undefined;
    return isUrgentNotification(notification) && !isOver && !hasRung(known, now);
  }

  /** Checks overdue notifications. @returns whether anything changed */
  async #check(overdue: readonly StoredCase[], snapshot: Snapshot, log: Log): Promise<boolean> {
    const open = this.#cases.openCalls(snapshot);
    const results = await pLimit(CHECKED_AT_A_TIME).map(overdue, async (known) =>
      this.#checkOne(known, open, snapshot, log),
    );
    return results.some(Boolean);
  }

  async #checkOne(known: StoredCase, open: readonly OpenAttempt[], snapshot: Snapshot, log: Log): Promise<boolean> {
    const { id } = known.notification;
    const now = this.#context.clock.now();
    const holders = heldNow(open, now);
    const mayResend = (index: number): boolean =>
      !holders.some(({ who, number }) => who !== whoOf(id, index) && number === known.recipients[index]?.number);
    // A call request that is sent again is a claim: it is decided from what was read.
    const isClaim = known.recipients.some(({ attempts }) => attempts.some(({ state }) => state === 'claimed'));
    try {
      const done = await this.#cases.take(id, { kind: 'look', mayResend }, log, isClaim ? snapshot : undefined);
      if (done === undefined) return false;
      logOverdue(done.stored, done.commands, log);
      this.#start(done, log);
      return done.isChanged;
    } catch (error) {
      if (error instanceof WriteConflict) return true;
      if (!isUnreadable(error)) throw error;
      return false;
    }
  }

  /** Dials recipients as long as it is somebody's turn. @returns whether anybody was dialed */
  async #dialAll(snapshot: Snapshot, log: Log): Promise<boolean> {
    const { policy, clock } = this.#context;
    let shared: StoredLines = snapshot;
    let queue = snapshot.live.flatMap(queueOf);
    let open = this.#cases.openCalls(snapshot);
    let isDialed = false;
    for (let claims = 0; !this.#isEnded; claims += 1) {
      if (claims === CLAIMS_A_LOOK) {
        this.#isAgain = true;
        return true;
      }
      const decided = next(queue, open, shared.lines.queue, limitsOf(policy), clock.now());
      if (decided.kind === 'wait') {
        this.#wake.set('queue', decided.until);
        return isDialed;
      }
      const { who } = decided;
      const done = await this.#claim(who, open, shared, log);
      if (done === 'conflict') return true;
      queue = queue.filter((one) => one !== who);
      if (done === undefined) continue;
      shared = done.shared ?? shared;
      const own = openCallsOf(done.stored, termsOf(done.stored, policy));
      open = [...open.filter((call) => call.notificationId !== who.notificationId), ...own];
      isDialed ||= done.commands.length > 0;
      this.#start(done, log);
    }
    return isDialed;
  }

  async #claim(
    { notificationId: id, index }: QueuedRecipient,
    open: readonly OpenAttempt[],
    from: StoredLines,
    log: Log,
  ): Promise<Done | 'conflict' | undefined> {
    const { clock, random, newId } = this.#context;
    const now = clock.now();
    const openThen = heldNow(open, now).length;
    try {
      const done = await this.#cases.take(id, { kind: 'claim', index, attemptId: newId(), openThen }, log, from);
      if (done?.isOverDayLimit === true)
        log.error('day limit reached', { notification_id: id, recipient_index: index });
      return done;
    } catch (error) {
      if (isUnreadable(error)) return undefined;
      if (!(error instanceof WriteConflict)) throw error;
      await sleepBy(clock, random() * CONFLICT_PAUSE_MS);
      this.#isAgain = true;
      return 'conflict';
    }
  }

  /** Does what a commit asks for, beside the look: a request that hangs delays nobody else. */
  #start(done: Done, log: Log): void {
    if (done.commands.length === 0) return;
    const doing = this.#driver.carryOut(done, log).finally(() => this.#underWay.delete(doing));
    this.#underWay.add(doing);
  }

  /** Tells an operator what is late, and that somebody looks. */
  #tell(snapshot: Snapshot, now: number, log: Log): void {
    if (now - this.#toldAt >= TOLD_EVERY_MS) {
      this.#toldAt = now;
      log.info('calls checked', { notifications: snapshot.live.length });
    }
    for (const known of snapshot.live) {
      const { id, createdAt } = known.notification;
      const lateMs = now - (this.#checkAt(known) ?? now);
      if (lateMs >= LATE_MS && this.#isNews(`late ${id}`)) {
        log.error('call is late', { notification_id: id, seconds: Math.round(lateMs / 1_000) });
      }
      const isSilent = now - createdAt >= RINGS_WITHIN_MS && this.#isSilent(known, now);
      if (isSilent && this.#isNews(silenceOf(known))) logSilence(known, this.#cases.openCalls(snapshot), log);
    }
  }

  #isNews(name: string): boolean {
    if (this.#told.has(name)) return false;
    this.#told.set(name, true);
    return true;
  }
}

const silenceOf = ({ notification }: NotificationCase): `silent ${NotificationId}` => `silent ${notification.id}`;

/** If a look changed nothing, the next one waits so long: what is due all the same must not ring without a pause. */
const PAUSE_MS = 2_000;

/** One timer for the earliest of several times, each of which has a name. Times are in milliseconds since 1970. */
export class Wake {
  readonly #clock: Clock;
  readonly #ring: () => void;
  readonly #times = new Map<string, number>();
  #cancel: (() => void) | undefined;
  #armedFor = Infinity;
  #isEnded = false;

  /** @param ring called at the earliest time; what it does then must end with {@link rearm} */
  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Sets the time of a name; undefined: it has none (any more). */
  set(name: string, at: number | undefined): void {
    if (at === undefined) this.#times.delete(name);
    else this.#times.set(name, at);
    if (at !== undefined && at < this.#armedFor) this.#arm();
  }

  /** Rings as soon as what is under way is done. */
  now(): void {
    this.set('now', this.#clock.now());
  }

  /** What the ring asked for is done. @param isFruitful whether it changed anything */
  rearm(isFruitful: boolean): void {
    const now = this.#clock.now();
    for (const [name, at] of isFruitful ? [] : this.#times) if (at <= now) this.#times.set(name, now + PAUSE_MS);
    this.#arm();
  }

  /** Rings no more. */
  end(): void {
    this.#isEnded = true;
    this.#cancel?.();
  }

  #arm(): void {
    this.#cancel?.();
    if (this.#isEnded || this.#times.size === 0) return;
    const now = this.#clock.now();
    this.#armedFor = Math.min(...this.#times.values());
    this.#cancel = this.#clock.after(Math.max(0, this.#armedFor - now), () => {
      this.#armedFor = Infinity;
      // What is still due is set again by what the ring starts.
      const rung = this.#clock.now();
      for (const [name, at] of this.#times) if (at <= rung) this.#times.delete(name);
      this.#ring();
    });
  }
}

/** Why recipients of a notification wait that could be dialed now, by index, from all that is open now. Empty while storage cannot be used. */
export const whyTheyWait = async (
  known: NotificationCase,
  store: NotificationStore,
  cases: Cases,
  now: number,
): Promise<ReadonlyMap<number, WaitingCode>> => {
  const own = queueOf(known).filter(({ dueAt }) => dueAt <= now);
  if (own.length === 0) return new Map();
  try {
    const snapshot = await store.look(now);
    const open = cases.openCalls(snapshot);
    return new Map(own.map((one) => [one.index, waitsFor(one, open, snapshot.lines.queue, now)]));
  } catch (error) {
    if (error instanceof StorageTrouble) return new Map();
    throw error;
  }
};
