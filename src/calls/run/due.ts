import pLimit from 'p-limit';
import { LRUCache } from 'lru-cache';
import { type Clock, sleepBy } from '../model/clock.ts';
import type { NotificationId } from '../model/ids.ts';
import { heldNow, next, waitsFor } from '../rules/queue.ts';
import { logFailure, logOverdue, logSilence } from './call-log.ts';
import type { Cases, Committed, Context, Done } from './cases.ts';
import type { Driver } from './driver.ts';
import { checkAtOfNotification, hasRung, isUrgentNotification, type NotificationCase } from '../state/notification.ts';
import { type OpenAttempt, openCallsOf, type QueuedRecipient, queueOf, termsOf, whoOf } from '../state/step.ts';
import { bodyOf, type NotificationBody } from '../state/view.ts';
import { isUnreadable, type Snapshot, type StoredCase, type StoredLines } from '../store/notification-store.ts';
import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';

/** If no phone rings for an urgent notification within this time, an operator is told. */
const RINGS_WITHIN_MS = 120_000;
/** If a check is later than this, an operator is told. */
const LATE_MS = 120_000;
/** Pause after a check that storage did not answer. */
const RETRY_MS = 5_000;
/** How often a check covers the whole retention. A process also starts with such a check. */
export const WHOLE_EVERY_MS = 24 * 3_600_000;
/** How often the log confirms that this process looks. */
const TOLD_EVERY_MS = 300_000;
const CHECKED_AT_A_TIME = 16;
const CONFLICT_PAUSE_MS = 50;
/** After this number of claims the process looks again: between two claims, no other instance can write to the same notification. */
const CLAIMS_A_LOOK = 3;
const MOST_TOLD = 1_000;

/**
 * Finds due work and does it: checks overdue calls, opens waves, and dials the next recipients. A check is one query. Five triggers start
 * one: a request, the end of a call, the earliest time that this process knows, each minute, and the timer function.
 */
export class DueWork {
  readonly #context: Context;
  readonly #cases: Cases;
  readonly #driver: Driver;
  readonly #wake: Wake;
  readonly #underWay = new Set<Promise<void>>();
  /** Alerts that this process has logged. */
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

  /** Looks at once, or after the current look. Never throws. */
  async look(log: Log): Promise<void> {
    this.#isAgain = true;
    this.#looking ??= this.#lookUntilDone(log).finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** Notes the next check of a committed notification, and looks at once if the queue may move on. */
  note({ stored, movesQueue }: Committed): void {
    this.#wake.set(stored.notification.id, this.#timeOf(stored));
    if (movesQueue) this.#wake.set('now', this.#context.clock.now());
  }

  /** Fulfils when all requests to the line are answered. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Starts no more looks; fulfils when all requests are answered. */
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
    const open = this.#cases.openCalls(snapshot);
    const changed = await pLimit(CHECKED_AT_A_TIME).map(overdue, async (known) =>
      this.#checkOne(known, open, snapshot, log),
    );
    if (changed.includes(true)) {
      // The queue needs a fresh look.
      this.#isAgain = true;
      return true;
    }
    for (const known of snapshot.live) this.#wake.set(known.notification.id, this.#timeOf(known));
    return this.#dialAll(snapshot, open, log);
  }

  #checkAt(known: NotificationCase): number | undefined {
    return checkAtOfNotification(known, termsOf(known, this.#context.policy));
  }

  /** When this process must look again for a notification: for a check, or because no phone has rung. */
  #timeOf(known: NotificationCase): number | undefined {
    const checkAt = this.#checkAt(known);
    const isSilent = this.#isSilent(known, this.#context.clock.now()) && !this.#told.has(silenceOf(known));
    return isSilent ? Math.min(checkAt ?? Infinity, known.notification.createdAt + RINGS_WITHIN_MS) : checkAt;
  }

  #isSilent(known: NotificationCase, now: number): boolean {
    const { notification } = known;
    const isOver = notification.completedAt !== undefined || notification.stoppedAt !== undefined;
    return isUrgentNotification(notification) && !isOver && !hasRung(known, now);
  }

  /** Checks an overdue notification. @returns whether it changed */
  async #checkOne(known: StoredCase, open: readonly OpenAttempt[], snapshot: Snapshot, log: Log): Promise<boolean> {
    const { id } = known.notification;
    const now = this.#context.clock.now();
    const holders = heldNow(open, now);
    const mayResend = (index: number): boolean =>
      !holders.some(({ who, number }) => who !== whoOf(id, index) && number === known.recipients[index]?.number);
    // A retry of a call request is a claim, and depends on the snapshot.
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

  /** Dials the next recipients. @returns whether it dialed anyone */
  async #dialAll(snapshot: Snapshot, openNow: readonly OpenAttempt[], log: Log): Promise<boolean> {
    const { policy, clock } = this.#context;
    let shared: StoredLines = snapshot;
    let queue = snapshot.live.flatMap(queueOf);
    let open = openNow;
    let isDialed = false;
    for (let claims = 0; !this.#isEnded; claims += 1) {
      if (claims === CLAIMS_A_LOOK) {
        this.#isAgain = true;
        return true;
      }
      const decided = next(queue, open, shared.lines.queue, policy.rules, clock.now());
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

  /** Carries out commands in the background: a request that hangs must not delay other recipients. */
  #start(done: Done, log: Log): void {
    if (done.commands.length === 0) return;
    const doing = this.#driver.carryOut(done, log).finally(() => this.#underWay.delete(doing));
    this.#underWay.add(doing);
  }

  /** Logs late checks and silent fires, and from time to time that this process looks. */
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

  /** A notification, with the reasons of recipients that wait. Without storage, the reasons are rough. */
  async describe(known: NotificationCase): Promise<NotificationBody> {
    const { store, clock } = this.#context;
    const now = clock.now();
    const due = queueOf(known).filter(({ dueAt }) => dueAt <= now);
    if (due.length === 0) return bodyOf(known, now);
    try {
      const snapshot = await store.look(now);
      const open = this.#cases.openCalls(snapshot);
      return bodyOf(known, now, new Map(due.map((one) => [one.index, waitsFor(one, open, snapshot.lines.queue, now)])));
    } catch (error) {
      if (error instanceof StorageTrouble) return bodyOf(known, now);
      throw error;
    }
  }
}

const silenceOf = ({ notification }: NotificationCase): `silent ${NotificationId}` => `silent ${notification.id}`;

/** Pause after a check that changed nothing: work that stays due must not cause a busy loop. */
const PAUSE_MS = 2_000;

/** One timer for the earliest of several times, each of which has a name. Times are in milliseconds since 1970. */
class Wake {
  readonly #clock: Clock;
  readonly #ring: () => void;
  readonly #times = new Map<string, number>();
  #cancel: (() => void) | undefined;
  #armedFor = Infinity;
  #isEnded = false;

  /** @param ring called at the earliest time; its work must end with {@link rearm} */
  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Sets the time of a name; undefined: no time. */
  set(name: string, at: number | undefined): void {
    if (at === undefined) this.#times.delete(name);
    else this.#times.set(name, at);
    if (at !== undefined && at < this.#armedFor) this.#arm();
  }

  /** The work of a ring is done. @param isFruitful whether it changed anything */
  rearm(isFruitful: boolean): void {
    const now = this.#clock.now();
    for (const [name, at] of isFruitful ? [] : this.#times) if (at <= now) this.#times.set(name, now + PAUSE_MS);
    this.#arm();
  }

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
      // The work that the ring starts sets the times anew.
      const rung = this.#clock.now();
      for (const [name, at] of this.#times) if (at <= rung) this.#times.delete(name);
      this.#ring();
    });
  }
}
