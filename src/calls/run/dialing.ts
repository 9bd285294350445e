import pLimit from 'p-limit';
import { sleepBy } from '../model/clock.ts';
import type { NotificationId } from '../model/ids.ts';
import { next } from '../rules/queue.ts';
import { logFailure, logOverdue } from './call-log.ts';
import type { Context, Notifications, Taken } from './notifications.ts';
import type { Telling } from './telling.ts';
import { isLive } from '../state/attempt.ts';
import { queueOf } from '../state/lines.ts';
import { checkAtOfNotification, type NotificationCase, settlesAtOf } from '../state/notification.ts';
import { actionsOf, type NotificationEvent, termsOf } from '../state/step.ts';
import { type Committed, type LiveCase, SetAside } from '../store/store.ts';
import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';

/** Pause after trouble with storage. */
const RETRY_MS = 5_000;
/** The process of the last commit runs first: the others run this much later. */
const OTHERS_AFTER_MS = [2_000, 5_000] as const;
const CHECKED_AT_A_TIME = 16;
const CONFLICT_PAUSE_MS = 50;
/** After claims for this number of notifications the process reads again: a fire may have come. */
const CLAIMS_A_RUN = 3;

/**
 * The loop for claims: reads the live notifications, checks the overdue ones, and claims lines while the queue names a recipient. Five
 * triggers start it: a request, the end of a call, the earliest time that this process knows, each minute, and the timer function.
 */
export class Dialing {
  readonly #context: Context;
  readonly #notifications: Notifications;
  readonly #telling: Telling;
  #running: Promise<void> | undefined;
  #isAgain = false;
  #isEnded = false;
  /** When this process runs next, by the reason; in milliseconds since 1970. */
  readonly #planned = new Map<string, number>();
  #armedFor = Infinity;
  #cancel = (): void => undefined;

  constructor(context: Context, notifications: Notifications, telling: Telling) {
    this.#context = context;
    this.#notifications = notifications;
    this.#telling = telling;
  }

  /** Runs at once, or again after the current run. Never throws. */
  async run(log: Log): Promise<void> {
    this.#isAgain = true;
    this.#running ??= this.#runUntilDone(log);
    return this.#running;
  }

  /** Plans the next check of a notification, and runs at once if a line or a recipient has become free. */
  note(committed: Committed): void {
    this.#plan(committed.stored.notification.id, this.#checkAt(committed.stored));
    if (movesQueue(committed)) this.#plan('now', this.#context.clock.now());
  }

  /** After trouble with storage. */
  noteTrouble(): void {
    this.#plan('trouble', this.#context.clock.now() + RETRY_MS);
  }

  /** Runs no more: nothing is claimed from now on. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#cancel();
    await this.#running;
  }

  /** Plans a run at a time. Undefined: this reason needs no run. */
  #plan(why: string, at: number | undefined): void {
    if (at === undefined) this.#planned.delete(why);
    else this.#planned.set(why, at);
    const { clock, log } = this.#context;
    const earliest = this.#isEnded ? Infinity : Math.min(...this.#planned.values());
    if (earliest === this.#armedFor) return;
    this.#cancel();
    this.#armedFor = earliest;
    if (earliest === Infinity) return;
    this.#cancel = clock.after(Math.max(0, earliest - clock.now()), () => {
      this.#armedFor = Infinity;
      // These plans are due: the run makes new ones.
      for (const [name, time] of this.#planned) if (time <= earliest) this.#planned.delete(name);
      void this.run(log);
    });
  }

  async #runUntilDone(log: Log): Promise<void> {
    try {
      while (this.#isAgain && !this.#isEnded) {
        this.#isAgain = false;
        try {
          await this.#runOnce(log);
        } catch (error) {
          logFailure('due work unreachable', error, {}, log);
          this.noteTrouble();
        }
      }
    } finally {
      // No `await` may come between the last test and this line: a request to run would be lost.
      this.#running = undefined;
    }
  }

  async #runOnce(log: Log): Promise<void> {
    const { store, clock } = this.#context;
    const { live, lines } = await store.readLive();
    const now = clock.now();
    const own = live.filter((one) => this.#isUsable(one, now));
    this.#telling.tell(own, lines, now, log);
    const overdue = own.filter((one) => (this.#checkAt(one) ?? Infinity) <= now);
    await pLimit(CHECKED_AT_A_TIME).map(overdue, async (one) => this.#check(one, log));
    await this.#claimAll(own, log);
    for (const one of own) if ((settlesAtOf(one) ?? Infinity) <= now) await this.#settle(one);
    for (const one of own) this.#plan(one.notification.id, this.#timeOf(this.#current(one)));
  }

  /** A notification that cannot be decided about must not stop the others. */
  #isUsable(live: LiveCase, now: number): boolean {
    const { id } = live.notification;
    if (this.#notifications.isSetAside(id)) return false;
    try {
      this.#checkAt(live);
      settlesAtOf(live);
      next(queueOf(live), [], {}, this.#context.policy.rules, now);
      return true;
    } catch (error) {
      this.#notifications.setAside(id, error);
      return false;
    }
  }

  /** When this process checks a notification: at its time if it made the last commit; others a little later, if that process has died. */
  #timeOf(live: LiveCase): number | undefined {
    const { clock, random, store } = this.#context;
    const at = this.#checkAt(live);
    const [least, most] = OTHERS_AFTER_MS;
    if (at === undefined) return undefined;
    // A check that stays due must not cause a busy loop.
    if (at <= clock.now()) return clock.now() + least;
    return store.isOwn(live) ? at : at + least + random() * (most - least);
  }

  /** The latest version of a notification that this process knows. */
  #current(live: LiveCase): LiveCase {
    return this.#context.store.recall(live.notification.id) ?? live;
  }

  /** When a notification needs this loop next: for a check, or because no phone has rung. */
  #checkAt(live: NotificationCase): number | undefined {
    const checkAt = checkAtOfNotification(live, termsOf(live, this.#context.policy));
    const silentAt = this.#telling.silentAt(live, this.#context.clock.now());
    return silentAt === undefined ? checkAt : Math.min(checkAt ?? Infinity, silentAt);
  }

  async #check({ notification: { id } }: LiveCase, log: Log): Promise<void> {
    const taken = await this.#take(id, { kind: 'check' }, log);
    if (taken?.isNews === true) logOverdue(taken.stored, actionsOf(taken.stored, taken.stored.commit), log);
  }

  /** @returns undefined if the notification is set aside: the others continue */
  async #take(id: NotificationId, event: NotificationEvent, log: Log): Promise<Taken | undefined> {
    try {
      return await this.#notifications.take(id, event, log);
    } catch (error) {
      if (error instanceof SetAside) return undefined;
      throw error;
    }
  }

  /** After its last call and some minutes, a notification is settled: its numbers are masked. */
  async #settle(live: LiveCase): Promise<void> {
    try {
      await this.#context.store.settle(live);
    } catch (error) {
      if (error instanceof StorageTrouble) throw error;
      // Another instance was first.
      if (!(error instanceof WriteConflict)) this.#notifications.setAside(live.notification.id, error);
    }
  }

  /** Claims lines while the queue names a recipient: one transaction for the recipients of one notification whose turn it is. */
  async #claimAll(live: readonly LiveCase[], log: Log): Promise<void> {
    const { store, policy, clock, random } = this.#context;
    for (let claims = 0; !this.#isEnded; claims += 1) {
      const lines = store.recallLines()?.lines;
      if (lines === undefined || claims === CLAIMS_A_RUN) break;
      const usable = live.filter(({ notification: { id } }) => !this.#notifications.isSetAside(id));
      const queue = usable.flatMap((one) => queueOf(this.#current(one)));
      const decided = next(queue, lines.slots, lines, policy.rules, clock.now());
      if (decided.kind === 'wait') return this.#plan('queue', decided.until);
      const { notificationId: id } = decided.who;
      const others = queue.filter(({ notificationId }) => notificationId !== id);
      const taken = await this.#take(id, { kind: 'claim', others }, log);
      if (taken?.isNews === true) continue;
      // Another process was faster.
      await sleepBy(clock, random() * CONFLICT_PAUSE_MS);
      break;
    }
    this.#isAgain = true;
  }
}

/** Whether a call has ended, a recipient waits again, or a pause is over. */
const movesQueue = ({ before, stored, lines }: Committed): boolean =>
  (lines !== undefined && lines.read.lines.pauseUntil !== undefined && lines.after.pauseUntil === undefined) ||
  stored.recipients.some((recipient, index) => {
    const was = before?.recipients[index];
    if (recipient === was || was === undefined) return false;
    const liveNow = recipient.attempts.filter(isLive).length;
    const liveThen = was.attempts.filter(isLive).length;
    return liveNow < liveThen || (recipient.state === 'waiting' && was.state !== 'waiting');
  });
