import pLimit from 'p-limit';
import { sleepBy } from '../model/clock.ts';
import type { NotificationId } from '../model/ids.ts';
import { next } from '../rules/queue.ts';
import { logFailure, logOverdue } from './call-log.ts';
import type { Context, Notifications, Taken } from './notifications.ts';
import { OperatorAlerts } from './operator-alerts.ts';
import { lineFreeAt, type QueuedRecipient, queueOf } from '../state/lines.ts';
import { checkAtOfNotification, settlesAtOf } from '../state/notification.ts';
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

/** The parts of a notification by which this loop decides. Times are in milliseconds since 1970. */
interface Outlook {
  readonly live: LiveCase;
  readonly queue: readonly QueuedRecipient[];
  readonly checkAt: number | undefined;
  readonly settlesAt: number | undefined;
}

/**
 * The loop for claims: reads the live notifications, checks the overdue ones, and claims lines while the queue names a recipient. Five
 * triggers start it: a request, the end of a call, the earliest time that this process knows, each minute, and the timer function.
 */
export class Dialing {
  readonly #context: Context;
  readonly #notifications: Notifications;
  readonly #alerts = new OperatorAlerts();
  /** The outlook of each version of a row: a run reads all rows, and most have not changed since the last run. */
  readonly #outlooks = new WeakMap<LiveCase, Outlook>();
  #running: Promise<void> | undefined;
  /** A run must follow the current run, or begin. */
  #isRequested = false;
  #isEnded = false;
  /** When this process runs next, by the reason; in milliseconds since 1970. */
  readonly #planned = new Map<string, number>();
  /** The time of the current timer. */
  #armedFor = Infinity;
  #cancel = (): void => undefined;

  constructor(context: Context, notifications: Notifications) {
    this.#context = context;
    this.#notifications = notifications;
  }

  /** Runs at once, or again after the current run. Never throws. */
  async run(log: Log): Promise<void> {
    this.#isRequested = true;
    this.#running ??= this.#runUntilDone(log);
    return this.#running;
  }

  /** Plans the next check of a notification, and a run when a line is free. */
  planAfter({ stored, lines }: Committed): void {
    this.#plan(stored.notification.id, this.#nextCheckAt(stored));
    if (lines !== undefined) this.#plan('line', lineFreeAt(lines.read.lines, lines.after, this.#context.clock.now()));
  }

  /** After trouble with storage. */
  planAfterTrouble(): void {
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
      while (this.#isRequested && !this.#isEnded) {
        this.#isRequested = false;
        try {
          await this.#runOnce(log);
        } catch (error) {
          logFailure('due work unreachable', error, {}, log);
          this.planAfterTrouble();
        }
      }
    } finally {
      // No `await` may come between the last test and this line: a request to run would be lost.
      this.#running = undefined;
    }
  }

  async #runOnce(log: Log): Promise<void> {
    const { store, clock } = this.#context;
    const { live: cases, lines } = await store.readLive();
    const now = clock.now();
    const outlooks = cases.flatMap((live) => this.#outlookOf(live) ?? []);
    this.#alerts.raise(outlooks, lines, now, log);
    const overdue = cases.filter((live) => (this.#nextCheckAt(live) ?? Infinity) <= now);
    await pLimit(CHECKED_AT_A_TIME).map(overdue, async (live) => this.#check(live, log));
    await this.#claimAll(cases, log);
    for (const { live, settlesAt = Infinity } of outlooks) if (settlesAt <= now) await this.#settle(live);
    for (const live of cases) this.#plan(live.notification.id, this.#runAt(this.#current(live)));
  }

  /** @returns undefined for a notification that cannot be decided about: it must not stop the others */
  #outlookOf(live: LiveCase): Outlook | undefined {
    const { id } = live.notification;
    if (this.#notifications.isSetAside(id)) return undefined;
    const remembered = this.#outlooks.get(live);
    if (remembered !== undefined) return remembered;
    try {
      const checkAt = checkAtOfNotification(live, termsOf(live, this.#context.policy));
      const outlook = { live, queue: queueOf(live), checkAt, settlesAt: settlesAtOf(live) };
      this.#outlooks.set(live, outlook);
      return outlook;
    } catch (error) {
      this.#notifications.setAside(id, error);
      return undefined;
    }
  }

  /** When a notification needs this loop next: for a check, or because no phone has rung. */
  #nextCheckAt(live: LiveCase): number | undefined {
    const outlook = this.#outlookOf(live);
    if (outlook === undefined) return undefined;
    const silentAt = this.#alerts.silentAt(live, this.#context.clock.now());
    return silentAt === undefined ? outlook.checkAt : Math.min(outlook.checkAt ?? Infinity, silentAt);
  }

  /** When this process runs for a notification: at its time if it made the last commit; others a little later, if that process has died. */
  #runAt(live: LiveCase): number | undefined {
    const { clock, random, store } = this.#context;
    const at = this.#nextCheckAt(live);
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
  async #claimAll(cases: readonly LiveCase[], log: Log): Promise<void> {
    const { store, policy, clock, random } = this.#context;
    for (let claims = 0; claims < CLAIMS_A_RUN && !this.#isEnded; claims += 1) {
      const { lines } = await store.lines();
      const queue = cases.flatMap((live) => this.#outlookOf(this.#current(live))?.queue ?? []);
      const decided = next(queue, lines.slots, lines, policy.rules, clock.now());
      if (decided.kind === 'wait') return this.#plan('queue', decided.until);
      const { notificationId: id } = decided.recipient;
      const others = queue.filter(({ notificationId }) => notificationId !== id);
      const taken = await this.#take(id, { kind: 'claim', others }, log);
      if (taken?.isNews === true) continue;
      // Another process was faster.
      await sleepBy(clock, random() * CONFLICT_PAUSE_MS);
      break;
    }
    // Recipients may still be in turn: the next run reads again.
    this.#isRequested = true;
  }
}
