import pLimit from 'p-limit';
import { type Clock, sleepBy } from '../model/clock.ts';
import type { NotificationId } from '../model/ids.ts';
import type { Destination } from '../model/outcomes.ts';
import type { PhoneProvider } from '../model/phone-provider.ts';
import { errorKind, logChange } from './call-log.ts';
import { movesSlots, withReleased } from '../state/lines.ts';
import type { NotificationCase } from '../state/notification.ts';
import { outcomesToDeliver } from '../state/outcomes.ts';
import {
  type Action,
  actionsOf,
  isKnown,
  type Known,
  type NotificationEvent,
  type Policy,
  step,
} from '../state/step.ts';
import {
  type Commit,
  type Committed,
  isUnreadable,
  type LiveCase,
  SetAside,
  type Store,
  type StoredLines,
} from '../store/store.ts';
import type { Log } from '../../log.ts';
import { RequestRefused, StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { backoffMs } from '../../storage/table.ts';

export interface Context {
  readonly provider: PhoneProvider;
  readonly store: Store;
  readonly policy: Policy;
  /** Where outcomes are published. */
  readonly destinations: readonly Destination[];
  readonly clock: Clock;
  /** From 0 to 1, for the jitter of pauses. */
  readonly random: () => number;
  readonly newId: () => string;
  /** For work that no request started. */
  readonly log: Log;
}

/** A change of a notification that is stored. */
export interface Change extends Committed {
  /** Undefined: the notification is new. */
  readonly before: NotificationCase | undefined;
  /** The lines before and after; undefined: they did not change. */
  readonly lines?: Commit['lines'];
  /** The actions that this commit claimed, and when the write was sent, by the steady clock. */
  readonly actions: readonly Action[];
  readonly sentAt: number;
}

/** The work that follows a change. */
export interface Followers {
  /** Carries out actions. Fulfils when all are answered. Never throws. */
  readonly carryOut: (change: Pick<Change, 'stored' | 'actions' | 'sentAt'>, log: Log) => Promise<void>;
  readonly note: (change: Change, log: Log) => void;
  /** Events could not be stored: this process must run soon. */
  readonly noteTrouble: () => void;
}

/** The result of an event. */
export interface Taken {
  readonly stored: LiveCase;
  /** It changed something. */
  readonly isNews: boolean;
  /** Fulfils when the actions of its commit are answered. */
  readonly acting: Promise<void>;
}

interface Waiting {
  readonly event: NotificationEvent;
  readonly log: Log;
  /** It is given up then, by the steady clock. */
  readonly until: number;
  readonly resolve: (taken: Taken | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** The decision about events, before it is known to be stored. */
interface Decision extends Omit<Commit, 'before' | 'outcomes'> {
  readonly before: LiveCase;
  readonly events: readonly Waiting[];
  /** Which of the events changed something. */
  readonly news: readonly boolean[];
  /** It cannot be stored before the lines are known. */
  readonly needsLines: boolean;
  /** In milliseconds since 1970; and by the steady clock. */
  readonly now: number;
  readonly sentAt: number;
}

// How long an event waits for storage, from its arrival on.
const CALL_EVENT_MS = 3_000;
const REQUEST_MS = 8_000;
/** The callee does not press a key twice. */
const KEY_MS = 20_000;
const SET_ASIDE_MS = 600_000;
const TROUBLE_PAUSE_MS = 300;
/** Short: fifty callees may press a key within five seconds, and each key waits for its turn at one row. */
const conflictPauseMs = (tried: number, random: () => number): number => backoffMs(tried, 10, 100, random);
const MAX_RELEASE_TRIES = 10;

/**
 * The loop for events: read, decide, write in one transaction, act. Events of one notification are decided one after the other; events
 * that arrive during a write are decided together.
 */
export class Notifications {
  /** Serializes the transactions of this process that change the row of the lines. */
  readonly #inTurnOfLines = pLimit(1);
  readonly #context: Context;
  readonly #followers: Followers;
  /** The events of the notifications that are being decided about. */
  readonly #waiting = new Map<NotificationId, Waiting[]>();
  /** Until when, by the steady clock, and why. */
  readonly #setAside = new Map<NotificationId, { readonly until: number; readonly error: unknown }>();

  constructor(context: Context, followers: Followers) {
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
      const one = { event, log, until: this.#context.clock.steady() + patienceOf(event), resolve, reject };
      const others = this.#waiting.get(id);
      if (others === undefined) void this.#workOff(id, [one]);
      else others.push(one);
    });
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
    // The store has told of a row that cannot be read.
    if (isUnreadable(error)) return;
    const isRefused = error instanceof RequestRefused;
    log.error(isRefused ? 'notification not written' : 'unexpected error', {
      notification_id: id,
      kind: errorKind(error),
      status: isRefused ? error.status : undefined,
    });
  }

  /** Stores a decision in one transaction. @throws {WriteConflict} another writer was first */
  async store({ before, after, commit, lines, key }: Omit<Commit, 'outcomes'>, now: number): Promise<Change> {
    const { store, clock, destinations } = this.#context;
    const sentAt = clock.steady();
    const outcomes = outcomesToDeliver(before, after, destinations, now);
    const committed = await store.commit({ before, after, commit, lines, outcomes, key });
    return { ...committed, before, lines, actions: actionsOf(committed.stored, commit), sentAt };
  }

  /** Releases the line of a call whose notification cannot be used. @throws {StorageTrouble} */
  async releaseLine(attemptId: string): Promise<void> {
    const { store, clock, random } = this.#context;
    await this.#inTurnOfLines(async () => {
      for (let tried = 1; tried <= MAX_RELEASE_TRIES; tried += 1) {
        const read = await store.readLines();
        const after = withReleased(read.lines, attemptId, clock.now());
        if (after === read.lines) return;
        try {
          return await store.writeLines(after, read);
        } catch (error) {
          if (!(error instanceof WriteConflict)) throw error;
          await sleepBy(clock, conflictPauseMs(tried, random));
        }
      }
    });
  }

  /** Logs and notes a change. Fulfils when its actions are answered. */
  async follow(change: Change, log: Log): Promise<void> {
    logChange(change, log);
    this.#followers.note(change, log);
    return this.#followers.carryOut(change, log);
  }

  /** Stores the events that wait until none is left: each is stored, or has waited for too long. */
  async #workOff(id: NotificationId, waiting: Waiting[]): Promise<void> {
    const { store } = this.#context;
    this.#waiting.set(id, waiting);
    let lost: Decision | undefined;
    for (let tried = 1; waiting.length > 0; tried += 1) {
      let written: Decision | undefined;
      try {
        const remembered = lost === undefined ? store.recall(id) : undefined;
        const row = remembered ?? (await store.load(id));
        if (row !== undefined && lost !== undefined) this.#recover(lost, row, waiting);
        lost = undefined;
        const events = [...waiting];
        if (row === undefined) for (const one of events) done(waiting, one).resolve(undefined);
        else {
          const decide = (read: StoredLines | undefined): Decision => this.#decide(row, events, read);
          const write = async (decision: Decision): Promise<void> => {
            written = decision.after === row ? undefined : decision;
            const change = written && (await this.store(written, written.now));
            // This process may remember an old row: an event is dropped only after a read.
            const isSure = remembered === undefined || events.every(({ event }) => isKnown(row, event));
            if (change === undefined && !isSure) store.forget(id);
            else this.#answer(waiting, decision, change);
          };
          const decision = decide(store.recallLines());
          if (!decision.needsLines) await write(decision);
          else await this.#inTurnOfLines(async () => write(decide(await store.lines())));
        }
      } catch (error) {
        if (error instanceof StorageTrouble) lost = written ?? lost;
        await this.#afterFailure(id, waiting, error, tried);
      }
    }
    this.#waiting.delete(id);
  }

  #decide(before: LiveCase, events: readonly Waiting[], read: StoredLines | undefined): Decision {
    const { clock, newId } = this.#context;
    const moment = { now: clock.now(), commit: newId() };
    let state: Known = { known: before, lines: read?.lines };
    const news = events.map(({ event }) => {
      const { known } = state;
      state = step(state, event, this.#context, moment);
      return state.known !== known;
    });
    const { known: after, lines } = state;
    const isClaim = events.some(({ event }) => event.kind === 'claim');
    const needsLines = isClaim || lines !== read?.lines || movesSlots({ before, after });
    // Written even if unchanged: what this process remembers of the lines may be older than the slot, and then the write is a conflict.
    const change = needsLines && read !== undefined && lines !== undefined ? { read, after: lines } : undefined;
    return { before, after, lines: change, events, news, needsLines, ...moment, sentAt: clock.steady() };
  }

  /** Answers the events of a decision. @param change undefined: nothing has changed */
  #answer(waiting: Waiting[], { before, events, news }: Decision, change: Change | undefined): void {
    const [first] = events;
    const acting = change === undefined || first === undefined ? NOTHING : this.follow(change, first.log);
    for (const [index, one] of events.entries()) {
      done(waiting, one).resolve({ stored: change?.stored ?? before, isNews: news[index] === true, acting });
    }
  }

  /** After a lost answer: if the write was carried out, its events are stored, and its actions are this process's to carry out. */
  #recover(lost: Decision, row: LiveCase, waiting: Waiting[]): void {
    const { before, commit, sentAt } = lost;
    const change = { before, stored: row, outcomes: undefined, actions: actionsOf(row, commit), sentAt };
    if (row.commit === commit) this.#answer(waiting, lost, change);
    else void this.#followers.carryOut(change, this.#context.log);
  }

  async #afterFailure(id: NotificationId, waiting: Waiting[], error: unknown, tried: number): Promise<void> {
    const { store, clock, random } = this.#context;
    const isConflict = error instanceof WriteConflict;
    if (!isConflict && !(error instanceof StorageTrouble)) {
      this.setAside(id, error);
      for (const { reject } of waiting.splice(0)) reject(new SetAside(error));
      return;
    }
    // If only the lines have changed, the notification is as it was read.
    if (!isConflict || error.index !== 1) store.forget(id);
    store.forgetLines();
    const now = clock.steady();
    for (const one of waiting.filter(({ until }) => now >= until)) {
      done(waiting, one).reject(isConflict ? new StorageTrouble(0, { reason: 'contended' }) : error);
      this.#followers.noteTrouble();
    }
    if (waiting.length === 0) return;
    await sleepBy(clock, isConflict ? conflictPauseMs(tried, random) : random() * TROUBLE_PAUSE_MS);
  }
}

const NOTHING = Promise.resolve();

/** An event that waits no longer. */
const done = (waiting: Waiting[], one: Waiting): Waiting => {
  const at = waiting.indexOf(one);
  if (at >= 0) waiting.splice(at, 1);
  return one;
};

const patienceOf = (event: NotificationEvent): number => {
  if (event.kind !== 'call') return event.kind === 'stop' || event.kind === 'acknowledge' ? REQUEST_MS : CALL_EVENT_MS;
  return event.event.kind === 'tone received' ? KEY_MS : CALL_EVENT_MS;
};
