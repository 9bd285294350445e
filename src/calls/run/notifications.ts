import pLimit from 'p-limit';
import { type Clock, sleepBy } from '../model/clock.ts';
import type { AttemptRef, NotificationId } from '../model/ids.ts';
import type { PhoneProvider } from '../model/phone-provider.ts';
import { errorKind, logChange } from './call-log.ts';
import type { AttemptEvent } from '../state/attempt.ts';
import { withReleased } from '../state/lines.ts';
import type { AnyCase } from '../state/notification.ts';
import { type Documents, isRepeatIn, type NotificationEvent, type Policy, step } from '../state/step.ts';
import {
  type Commit,
  type Committed,
  isUnreadable,
  type LiveCase,
  SetAside,
  type Store,
  type StoredLines,
  type StoredOutcomes,
} from '../store/store.ts';
import type { Log } from '../../log.ts';
import { RequestRefused, StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { backoffMs } from '../../storage/table.ts';

export interface Context {
  readonly provider: PhoneProvider;
  readonly store: Store;
  readonly policy: Policy;
  readonly clock: Clock;
  /** From 0 to 1, for the jitter of pauses. */
  readonly random: () => number;
  readonly newId: () => string;
  /** For work that no request started. */
  readonly log: Log;
}

/** A stored notification whose actions a commit of this process has claimed. */
export interface Claimed {
  readonly stored: LiveCase;
  readonly commit: string;
  /** When the write was sent, by the steady clock. */
  readonly sentAt: number;
}

/** The work that follows a commit. */
interface Followers {
  readonly actions: {
    /** Carries out the actions of a commit. Fulfills when all are answered. Never throws. */
    carryOut(claimed: Claimed, log: Log): Promise<void>;
  };
  readonly dialing: {
    planAfter(committed: Committed): void;
    /** Events could not be stored: the loop for claims must run soon, to check their notification. */
    planAfterTrouble(): void;
  };
  readonly publisher: {
    deliver(outcomes: StoredOutcomes, stored: AnyCase, log: Log): Promise<void>;
  };
}

/** The result of an event. */
export interface Taken {
  readonly stored: LiveCase;
  /** It changed something. */
  readonly isNews: boolean;
  /** Fulfills when the actions of its commit are answered. */
  readonly acting: Promise<void>;
}

/** An event that has arrived and is not yet stored. */
interface Arrival {
  readonly event: NotificationEvent;
  readonly log: Log;
  /** The event is rejected after this time, by the steady clock. */
  readonly until: number;
  readonly resolve: (taken: Taken | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** The decision about events, before it is known to be stored. */
interface Decision extends Commit {
  readonly before: LiveCase;
  readonly arrivals: readonly Arrival[];
  /** Which of them changed something. */
  readonly news: readonly boolean[];
  readonly sentAt: number;
}

// How long an event waits for storage, from its arrival on.
const CALL_EVENT_MS = 3_000;
export const REQUEST_MS = 8_000;
/** A pressed key, and an end that tells its duration: neither is reported again, and both keep their meaning. */
const KEY_OR_END_MS = 20_000;
const SET_ASIDE_MS = 600_000;
const TROUBLE_PAUSE_MS = 300;
/** Short: fifty callees may press a key within five seconds, and each key waits for its turn at one row. */
const conflictPauseMs = (tried: number, random: () => number): number => backoffMs(tried, 10, 100, random);

/**
 * The loop for events: read, decide, write in one transaction, act. Events of one notification are decided one after the other; events
 * that arrive during a write are decided together.
 */
export class Notifications {
  /** Serializes the transactions of this process that change the row of the lines. */
  readonly #inTurnOfLines = pLimit(1);
  readonly #context: Context;
  readonly #followers: () => Followers;
  /** The events of the notifications that are being decided about. */
  readonly #waiting = new Map<NotificationId, Arrival[]>();
  /** The notifications that are set aside: until when, by the steady clock, and why. */
  readonly #setAside = new Map<NotificationId, { readonly until: number; readonly error: unknown }>();

  constructor(context: Context, followers: () => Followers) {
    this.#context = context;
    this.#followers = followers;
  }

  /**
   * Decides about an event, stores the result, and starts its actions.
   *
   * @returns undefined if there is no such live notification
   * @throws {StorageTrouble} storage cannot be used now
   * @throws {SetAside} the row cannot be used
   */
  async take(id: NotificationId, event: NotificationEvent, log: Log): Promise<Taken | undefined> {
    if (this.isSetAside(id)) throw new SetAside(this.#setAside.get(id)?.error);
    return new Promise((resolve, reject) => {
      const arrival = { event, log, until: this.#context.clock.steady() + waitMsOf(event), resolve, reject };
      const waiting = this.#waiting.get(id);
      if (waiting === undefined) void this.#workOff(id, [arrival]);
      else waiting.push(arrival);
    });
  }

  /** Takes an event of an attempt. */
  async report(
    { notificationId, index, attemptId }: AttemptRef,
    event: AttemptEvent,
    log: Log,
  ): Promise<Taken | undefined> {
    return this.take(notificationId, { kind: 'call', index, attemptId, event }, log);
  }

  isSetAside(id: NotificationId): boolean {
    const { until = Infinity } = this.#setAside.get(id) ?? {};
    if (this.#context.clock.steady() >= until) this.#setAside.delete(id);
    return this.#setAside.has(id);
  }

  /** The row of a notification cannot be read, decided about or written: the others continue without it. */
  setAside(id: NotificationId, error: unknown): void {
    const { store, clock, log } = this.#context;
    store.forget(id);
    this.#setAside.set(id, { until: clock.steady() + SET_ASIDE_MS, error });
    // The store has already logged a row that cannot be read.
    if (isUnreadable(error)) return;
    const isRefused = error instanceof RequestRefused;
    log.error(isRefused ? 'notification not written' : 'unexpected error', {
      notification_id: id,
      kind: errorKind(error),
      status: isRefused ? error.status : undefined,
    });
  }

  /**
   * Tries to read, decide and write: again after a conflict, and after trouble with storage, until this time in milliseconds is over.
   *
   * @throws {StorageTrouble} the last try failed
   */
  async retryFor<Result>(forMs: number, once: () => Promise<Result>): Promise<Result> {
    const { store, clock, random } = this.#context;
    const until = clock.steady() + forMs;
    for (let tried = 1; ; tried += 1) {
      try {
        return await once();
      } catch (error) {
        const isConflict = error instanceof WriteConflict;
        if (!isConflict && !(error instanceof StorageTrouble)) throw error;
        store.forgetLines();
        if (clock.steady() >= until) throw troubleOf(error);
        await sleepBy(clock, isConflict ? conflictPauseMs(tried, random) : random() * TROUBLE_PAUSE_MS);
      }
    }
  }

  /** Releases the slot of a call whose notification cannot be used. @throws {StorageTrouble} */
  async releaseSlot(attemptId: string): Promise<void> {
    const { store, clock } = this.#context;
    const release = async (): Promise<void> => {
      const read = await store.lines();
      await store.writeLines(withReleased(read.lines, attemptId, clock.now()), read);
    };
    await this.retryFor(CALL_EVENT_MS, async () => this.#inTurnOfLines(release));
  }

  /** Logs a commit, plans the next runs, and delivers its outcomes. */
  followUp(committed: Committed, log: Log): void {
    const { stored, outcomes } = committed;
    const { dialing, publisher } = this.#followers();
    logChange(committed, log);
    dialing.planAfter(committed);
    if (outcomes !== undefined) void publisher.deliver(outcomes, stored, log);
  }

  /** Stores the events that wait until none is left: each is stored, or has waited for too long. */
  async #workOff(id: NotificationId, waiting: Arrival[]): Promise<void> {
    const { store } = this.#context;
    this.#waiting.set(id, waiting);
    /** Its write was sent, and storage has not answered. */
    let unanswered: Decision | undefined;
    const decideAndStore = async (): Promise<void> => {
      const remembered = unanswered === undefined ? store.recall(id) : undefined;
      const [row, read] = await Promise.all([remembered ?? store.load(id), store.lines()]);
      if (row !== undefined && unanswered !== undefined) this.#recover(unanswered, row, waiting);
      unanswered = undefined;
      const arrivals = [...waiting];
      if (row === undefined) {
        for (const arrival of arrivals) removeFrom(waiting, arrival).resolve(undefined);
        return;
      }
      const write = async (decision: Decision): Promise<void> => {
        unanswered = decision.after === row ? undefined : decision;
        const committed = unanswered && (await store.commit(unanswered));
        unanswered = undefined;
        // This process may remember an old row: an event is dropped only after a read.
        const isSure = remembered === undefined || arrivals.every(({ event }) => isRepeatIn(row, event));
        if (committed === undefined && !isSure) store.forget(id);
        else this.#answer(waiting, decision, committed);
      };
      const decision = this.#decide(row, arrivals, read);
      if (decision.lines === undefined) await write(decision);
      else await this.#inTurnOfLines(async () => write(this.#decide(row, arrivals, await store.lines())));
    };
    try {
      while (waiting.length > 0) {
        await this.retryFor(Infinity, async () =>
          decideAndStore().catch((error: unknown) => {
            const isConflict = error instanceof WriteConflict;
            if (!isConflict && !(error instanceof StorageTrouble)) throw error;
            if (isConflict) unanswered = undefined;
            // The second write is of the lines. If only they have changed, the notification is as it was read.
            if (!isConflict || error.index !== 1) store.forget(id);
            this.#giveUp(waiting, error);
            if (waiting.length > 0) throw error;
          }),
        );
      }
    } catch (error) {
      this.setAside(id, error);
      for (const { reject } of waiting.splice(0)) reject(new SetAside(error));
    }
    this.#waiting.delete(id);
  }

  #decide(before: LiveCase, arrivals: readonly Arrival[], read: StoredLines): Decision {
    const { clock, newId } = this.#context;
    const moment = { now: clock.now(), commit: newId() };
    let state: Documents = { live: before, lines: read.lines };
    const news = arrivals.map(({ event }) => {
      const { live } = state;
      state = step(state, event, this.#context, moment);
      return state.live !== live;
    });
    const { live: after, lines } = state;
    const change = lines === read.lines ? undefined : { read, after: lines };
    return { before, after, moment, lines: change, arrivals, news, sentAt: clock.steady() };
  }

  /** Answers the events of a decision, and starts what follows. @param committed undefined: nothing has changed */
  #answer(waiting: Arrival[], decision: Decision, committed: Committed | undefined): void {
    const { before, moment, arrivals, news, sentAt } = decision;
    const { log } = arrivals[0] ?? this.#context;
    let acting = NOTHING;
    if (committed !== undefined) {
      this.followUp(committed, log);
      acting = this.#followers().actions.carryOut({ stored: committed.stored, commit: moment.commit, sentAt }, log);
    }
    for (const [index, arrival] of arrivals.entries()) {
      removeFrom(waiting, arrival).resolve({
        stored: committed?.stored ?? before,
        isNews: news[index] === true,
        acting,
      });
    }
  }

  /**
   * After a lost answer: if the write was carried out, its events are stored, and this process carries out its actions. If another commit has
   * followed, these are the actions that still name the commit of the write. Its outcomes wait until a process takes them over.
   */
  #recover(unanswered: Decision, stored: LiveCase, waiting: Arrival[]): void {
    const { before, moment, lines, sentAt } = unanswered;
    if (stored.commit === moment.commit)
      this.#answer(waiting, unanswered, { before, stored, lines, outcomes: undefined });
    else void this.#followers().actions.carryOut({ stored, commit: moment.commit, sentAt }, this.#context.log);
  }

  /** Rejects the events that have waited for too long. */
  #giveUp(waiting: Arrival[], error: unknown): void {
    const now = this.#context.clock.steady();
    for (const arrival of waiting.filter(({ until }) => now >= until)) {
      removeFrom(waiting, arrival).reject(troubleOf(error));
      this.#followers().dialing.planAfterTrouble();
    }
  }
}

const NOTHING = Promise.resolve();

const troubleOf = (error: unknown): unknown =>
  error instanceof WriteConflict ? new StorageTrouble(0, { reason: 'contended' }) : error;

/** Removes an event from the waiting events, to answer it. */
const removeFrom = (waiting: Arrival[], arrival: Arrival): Arrival => {
  const at = waiting.indexOf(arrival);
  if (at >= 0) waiting.splice(at, 1);
  return arrival;
};

const waitMsOf = (event: NotificationEvent): number => {
  if (event.kind !== 'call') return event.kind === 'stop' || event.kind === 'acknowledge' ? REQUEST_MS : CALL_EVENT_MS;
  // An end without its duration is dated by its arrival. After a long wait, the callee would seem to have heard more than they did.
  const isEnd = event.event.kind === 'disconnected' && event.event.connectedMs !== undefined;
  return isEnd || event.event.kind === 'tone received' ? KEY_OR_END_MS : CALL_EVENT_MS;
};
