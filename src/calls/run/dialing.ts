import pLimit from 'p-limit';
import { type Clock, sleepBy } from '../model/clock.ts';
import type { NotificationId } from '../model/ids.ts';
import { callsLeft, endOfDay } from '../rules/policy.ts';
import { type Next, next } from '../rules/queue.ts';
import type { Actions } from './actions.ts';
import { logFailure, logOverdue } from './call-log.ts';
import type { Change, Context, Notifications } from './notifications.ts';
import type { Telling } from './telling.ts';
import { isLive, type Moment } from '../state/attempt.ts';
import { type Lines, type QueuedRecipient, queueOf, takenOf, withClaim } from '../state/lines.ts';
import {
  checkAtOfNotification,
  isUrgentNotification,
  type NotificationCase,
  settlesAtOf,
  withRecipient,
} from '../state/notification.ts';
import { claimed, postponed } from '../state/recipient.ts';
import { actionsOf, termsOf } from '../state/step.ts';
import { type LiveCase, SetAside } from '../store/store.ts';
import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';

/** Pause after trouble with storage. */
const RETRY_MS = 5_000;
/** The process of the last commit looks first: the others look this much later. */
const OTHERS_AFTER_MS = [2_000, 5_000] as const;
const CHECKED_AT_A_TIME = 16;
const CONFLICT_PAUSE_MS = 50;
/** After this number of claims the process reads again: between two claims, a fire may have come. */
const CLAIMS_A_LOOK = 3;

/**
 * The loop for claims: reads all that is live, checks what is overdue, and claims lines while the queue names somebody. Five triggers start it:
 * a request, the end of a call, the earliest time that this process knows, each minute, and the timer function.
 */
export class Dialing {
  readonly #context: Context;
  readonly #notifications: Notifications;
  readonly #actions: Actions;
  readonly #telling: Telling;
  readonly #wake: Wake;
  #looking: Promise<void> | undefined;
  #isAgain = false;
  #isEnded = false;

  constructor(context: Context, notifications: Notifications, actions: Actions, telling: Telling) {
    this.#context = context;
    this.#notifications = notifications;
    this.#actions = actions;
    this.#telling = telling;
    this.#wake = new Wake(context.clock, () => void this.look(context.log));
  }

  /** Looks at once, or again after the current look. Never throws. */
  async look(log: Log): Promise<void> {
    this.#isAgain = true;
    this.#looking ??= this.#lookUntilDone(log);
    return this.#looking;
  }

  /** Notes the next check of a notification, and looks at once if a line or a recipient has become free. */
  note(change: Change): void {
    this.#wake.set(change.stored.notification.id, this.#checkAt(change.stored));
    if (movesQueue(change)) this.#wake.set('now', this.#context.clock.now());
  }

  noteTrouble(): void {
    this.#wake.set('trouble', this.#context.clock.now() + RETRY_MS);
  }

  /** Looks no more; fulfils when all requests to the provider are answered. Nothing is claimed from now on. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#wake.end();
    await this.#looking;
    await this.#actions.settled();
  }

  /** Fulfils when all requests to the provider are answered. */
  async settled(): Promise<void> {
    await this.#actions.settled();
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  async #lookUntilDone(log: Log): Promise<void> {
    try {
      while (this.#isAgain && !this.#isEnded) {
        this.#isAgain = false;
        try {
          await this.#lookOnce(log);
        } catch (error) {
          logFailure('due work unreachable', error, {}, log);
          this.noteTrouble();
        }
      }
    } finally {
      // Without a pause after the last test: a look that is asked for now starts anew.
      this.#looking = undefined;
    }
  }

  async #lookOnce(log: Log): Promise<void> {
    const { store, clock } = this.#context;
    const { live, lines } = await store.readLive();
    const now = clock.now();
    const own = live.filter((known) => this.#isUsable(known, now));
    this.#telling.tell(own, lines, now, log);
    const overdue = own.filter((known) => (this.#checkAt(known) ?? Infinity) <= now);
    await pLimit(CHECKED_AT_A_TIME).map(overdue, async (known) => this.#check(known, log));
    for (const known of own) if ((settlesAtOf(known) ?? Infinity) <= now) await this.#settle(known);
    await this.#claimAll(own, log);
    for (const known of own) this.#noteTimeOf(this.#current(known));
  }

  /** A notification that cannot be decided about must not stop the others. */
  #isUsable(known: LiveCase, now: number): boolean {
    const { id } = known.notification;
    if (this.#notifications.isSetAside(id)) return false;
    try {
      this.#checkAt(known);
      settlesAtOf(known);
      next(queueOf(known), [], {}, this.#context.policy.rules, now);
      return true;
    } catch (error) {
      this.#notifications.setAside(id, error);
      return false;
    }
  }

  /** The process of the last commit looks at the time; others a little later, if it has died. */
  #noteTimeOf(known: LiveCase): void {
    const { clock, random, store } = this.#context;
    const at = this.#checkAt(known);
    const now = clock.now();
    const [least, most] = OTHERS_AFTER_MS;
    const laterMs = store.isOwn(known) ? 0 : least + random() * (most - least);
    // What stays due must not cause a busy loop.
    this.#wake.set(known.notification.id, at === undefined || at > now ? at && at + laterMs : now + least);
  }

  /** A notification as this process knows it last. */
  #current(known: LiveCase): LiveCase {
    return this.#context.store.recall(known.notification.id) ?? known;
  }

  /** When a notification is looked at next: a check is due, or no phone has rung. */
  #checkAt(known: NotificationCase): number | undefined {
    const checkAt = checkAtOfNotification(known, termsOf(known, this.#context.policy));
    const silentAt = this.#telling.silentAt(known, this.#context.clock.now());
    return silentAt === undefined ? checkAt : Math.min(checkAt ?? Infinity, silentAt);
  }

  async #check({ notification: { id } }: LiveCase, log: Log): Promise<void> {
    try {
      const taken = await this.#notifications.take(id, { kind: 'check' }, log);
      if (taken?.isNews === true) logOverdue(taken.stored, actionsOf(taken.stored, taken.stored.commit), log);
    } catch (error) {
      if (!(error instanceof SetAside)) throw error;
    }
  }

  /** After its last call and some minutes, a notification is settled: its numbers are masked. */
  async #settle(known: LiveCase): Promise<void> {
    try {
      await this.#context.store.settle(known);
    } catch (error) {
      if (error instanceof StorageTrouble) throw error;
      // Another instance was first.
      if (!(error instanceof WriteConflict)) this.#notifications.setAside(known.notification.id, error);
    }
  }

  /** Claims lines, while the queue names somebody. */
  async #claimAll(live: readonly LiveCase[], log: Log): Promise<void> {
    const { store } = this.#context;
    for (let claims = 0; !this.#isEnded; claims += 1) {
      if (claims === CLAIMS_A_LOOK) {
        this.#isAgain = true;
        return;
      }
      const decided = this.#next(live);
      if (decided.kind === 'wait') {
        if (decided.until !== undefined) this.#wake.set('queue', decided.until);
        return;
      }
      const { notificationId } = decided.who;
      const isClaimed = await this.#notifications.inTurn(notificationId, async () =>
        this.#notifications.inTurnOfLines(async () => this.#claim(decided.who, live, log)),
      );
      if (isClaimed) continue;
      store.forget(notificationId);
      store.forgetLines();
      this.#isAgain = true;
      await sleepBy(this.#context.clock, this.#context.random() * CONFLICT_PAUSE_MS);
      return;
    }
  }

  /** Whom to dial now, by all that this process knows. */
  #next(live: readonly LiveCase[]): Next<QueuedRecipient> {
    const { store, policy, clock } = this.#context;
    const lines = store.recallLines()?.lines;
    if (lines === undefined) return { kind: 'wait', until: clock.now() };
    const queue = live.flatMap((known) =>
      this.#notifications.isSetAside(known.notification.id) ? [] : queueOf(this.#current(known)),
    );
    return next(queue, takenOf(lines), lines, policy.rules, clock.now());
  }

  /** Claims one line in one transaction. @returns false if another writer was first */
  async #claim(who: QueuedRecipient, live: readonly LiveCase[], log: Log): Promise<boolean> {
    const { store, clock, newId } = this.#context;
    // Something may have changed while this claim waited for its turn.
    const decided = this.#next(live);
    const known = live.find(({ notification: { id } }) => id === who.notificationId);
    const before = known && this.#current(known);
    const read = store.recallLines();
    if (decided.kind === 'wait' || decided.who.who !== who.who || before === undefined || read === undefined)
      return false;
    const moment = { now: clock.now(), commit: newId() };
    const sentAt = clock.steady();
    try {
      const claim = withClaimOf(before, decided.who, read.lines, newId(), this.#context, moment);
      const lines = claim.lines === read.lines ? undefined : { read, after: claim.lines };
      const change = await this.#notifications.store(
        { before, after: claim.after, commit: moment.commit, lines },
        moment.now,
      );
      if (claim.isOverDayLimit)
        log.error('day limit reached', { notification_id: who.notificationId, recipient_index: who.index });
      void this.#notifications.follow(change, log);
      return true;
    } catch (error) {
      if (error instanceof WriteConflict) return false;
      if (!(error instanceof StorageTrouble)) {
        this.#notifications.setAside(who.notificationId, error);
        return true;
      }
      await this.#recover(who.notificationId, moment.commit, sentAt, log);
      return false;
    }
  }

  /** After a lost answer: if the claim was carried out, its call is this process's to dial. */
  async #recover(id: NotificationId, commit: string, sentAt: number, log: Log): Promise<void> {
    const { store } = this.#context;
    store.forget(id);
    store.forgetLines();
    const stored = await store.load(id);
    if (stored !== undefined) void this.#actions.carryOut({ stored, actions: actionsOf(stored, commit), sentAt }, log);
  }
}

/** A notification and the lines after a claim. The day's calls may be used up, the deadline over, and the number forbidden. */
export const withClaimOf = (
  known: NotificationCase,
  who: QueuedRecipient,
  lines: Lines,
  attemptId: string,
  { policy }: Pick<Context, 'policy'>,
  moment: Moment,
): { readonly after: NotificationCase; readonly lines: Lines; readonly isOverDayLimit: boolean } => {
  const recipient = known.recipients[who.index];
  if (recipient === undefined) return { after: known, lines, isOverDayLimit: false };
  const terms = termsOf(known, policy);
  const { now } = moment;
  const left = callsLeft(lines.day, policy.rules.callsPerDay, isUrgentNotification(known.notification), now);
  const isOverDayLimit = left === 0 && now < terms.deadlineAt;
  const after = isOverDayLimit
    ? postponed(recipient, endOfDay(now), terms)
    : claimed(recipient, attemptId, terms, moment);
  return {
    after: withRecipient(known, who.index, after, moment),
    lines: after.state === 'calling' ? withClaim(lines, who, attemptId, policy.provider.callsPerSecond, now) : lines,
    isOverDayLimit,
  };
};

/** Whether a call has ended, a recipient waits again, or a pause is over. */
const movesQueue = ({ before, stored, lines }: Change): boolean =>
  (lines !== undefined && lines.read.lines.pauseUntil !== undefined && lines.after.pauseUntil === undefined) ||
  stored.recipients.some((recipient, index) => {
    const was = before?.recipients[index];
    if (recipient === was || was === undefined) return false;
    const liveNow = recipient.attempts.filter(isLive).length;
    const liveThen = was.attempts.filter(isLive).length;
    return liveNow < liveThen || (recipient.state === 'waiting' && was.state !== 'waiting');
  });

/** One timer for the earliest of several times, each of which has a name. Times are in milliseconds since 1970. */
class Wake {
  readonly #clock: Clock;
  readonly #ring: () => void;
  readonly #times = new Map<string, number>();
  #cancel: (() => void) | undefined;
  #armedFor = Infinity;
  #isEnded = false;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Sets the time of a name; undefined: no time. */
  set(name: string, at: number | undefined): void {
    if (at === undefined) this.#times.delete(name);
    else this.#times.set(name, at);
    this.#arm();
  }

  end(): void {
    this.#isEnded = true;
    this.#cancel?.();
  }

  #arm(): void {
    const at = this.#isEnded ? Infinity : Math.min(...this.#times.values());
    if (at === this.#armedFor) return;
    this.#cancel?.();
    this.#cancel = undefined;
    this.#armedFor = at;
    if (at === Infinity) return;
    this.#cancel = this.#clock.after(Math.max(0, at - this.#clock.now()), () => {
      this.#armedFor = Infinity;
      this.#cancel = undefined;
      // The work that the ring starts sets the times anew.
      const rung = this.#clock.now();
      for (const [name, time] of this.#times) if (time <= rung) this.#times.delete(name);
      this.#arm();
      this.#ring();
    });
  }
}
