import pLimit from 'p-limit';
import { type Clock, sleepBy } from '../model/clock.ts';
import type { NotificationId } from '../model/ids.ts';
import type { Destination } from '../model/outcomes.ts';
import type { PhoneProvider } from '../model/phone-provider.ts';
import { logChange } from './call-log.ts';
import { isLive, talkOf } from '../state/attempt.ts';
import { attemptIn, type NotificationCase } from '../state/notification.ts';
import {
  type CallCommand,
  type CaseEvent,
  commandsOf,
  type Decision,
  type Lines,
  needsOpenCalls,
  type OpenAttempt,
  openCallsOf,
  type Policy,
  step,
  termsOf,
  withNews,
} from '../state/step.ts';
import type { NotificationStore, Snapshot, StoredCase, StoredLines } from '../store/notification-store.ts';
import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { backoffMs } from '../../storage/table.ts';

export interface Context {
  readonly line: PhoneProvider;
  readonly store: NotificationStore;
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

export interface Committed {
  readonly stored: StoredCase;
  /** A call has ended, or an accepted call has ended a pause: the queue may move on. */
  readonly movesQueue: boolean;
}

interface Step extends Pick<Decision, 'isUnknown' | 'isOverDayLimit'> {
  readonly isChanged: boolean;
  readonly commands: readonly CallCommand[];
}

export interface Done extends Step {
  readonly stored: StoredCase;
  /** What all instances share, as it is stored now. */
  readonly shared: StoredLines | undefined;
}

interface Pending {
  readonly event: CaseEvent;
  readonly from: StoredLines | undefined;
  readonly log: Log;
  readonly resolve: (done: Done | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** The decision about a batch of events, before it is written. */
interface Decided {
  readonly before: StoredCase;
  readonly after: NotificationCase;
  readonly steps: readonly Step[];
  readonly lines: Lines;
  readonly shared: StoredLines;
  readonly open: readonly OpenAttempt[];
  readonly commit: string;
}

/** How often a batch is decided if other writers interfere. */
const TRIES = 20;

/** Waits after a conflict with another writer. @param tried the number of conflicts so far */
export const pauseAfterConflict = async ({ clock, random }: Context, tried: number): Promise<void> =>
  sleepBy(clock, backoffMs(tried, 20, 400, random));

/**
 * The only writer of notifications: read, decide, write in one transaction. Events of one notification are decided in order. Events that
 * arrive during a write form the next batch.
 */
export class Cases {
  readonly #context: Context;
  readonly #onCommitted: (change: Committed) => void;
  readonly #pending = new Map<NotificationId, Pending[]>();
  /** Serializes the commits of this process that change what all instances share. */
  readonly #writingLines = pLimit(1);
  /** What all instances share, as this process read or wrote it last. */
  #shared: StoredLines | undefined;

  constructor(context: Context, onCommitted: (change: Committed) => void) {
    this.#context = context;
    this.#onCommitted = onCommitted;
  }

  /**
   * Decides about an event and writes the result. A request that storage does not answer is retried once. A write whose answer was lost
   * is recognized.
   *
   * @param from the state that led to a claim, or to a retry of a call request. Such an event has one try.
   * @returns undefined if there is no such notification
   * @throws {WriteConflict} a claim met another writer: the caller looks again
   * @throws {StorageTrouble} storage cannot be used now
   * @throws {DamagedRow | LaterFormat} the notification cannot be read
   */
  async take(id: NotificationId, event: CaseEvent, log: Log, from?: StoredLines): Promise<Done | undefined> {
    return new Promise((resolve, reject) => {
      const pending = { event, from, log, resolve, reject };
      const queue = this.#pending.get(id);
      if (queue !== undefined) {
        queue.push(pending);
        return;
      }
      this.#pending.set(id, [pending]);
      void this.#workOff(id);
    });
  }

  async #workOff(id: NotificationId): Promise<void> {
    const queue = this.#pending.get(id) ?? [];
    while (queue.length > 0) {
      const claim = queue.findIndex(({ from }) => from !== undefined);
      const batch = queue.splice(0, claim === 0 ? 1 : claim > 0 ? claim : queue.length);
      try {
        const done = await this.#takeAll(id, batch);
        batch.forEach(({ resolve }, index) => resolve(done?.[index]));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#pending.delete(id);
  }

  async #takeAll(id: NotificationId, batch: readonly Pending[]): Promise<readonly Done[] | undefined> {
    const { store } = this.#context;
    let lost: Decided | undefined;
    for (let tried = 1, troubles = 0; tried <= TRIES; tried += 1) {
      let decided: Decided | undefined;
      try {
        const stored = lost && (await store.load(id));
        if (lost !== undefined && stored?.commit === lost.commit) return this.#committed(lost, stored, batch);
        // The claim was decided from a state that is outdated now.
        if (lost !== undefined && isClaim(batch)) throw new WriteConflict();
        decided = await this.#decide(id, batch);
        if (decided === undefined) return undefined;
        if (!hasChanged(decided)) return doneOf(decided, decided.before);
        return await this.#write(decided, batch);
      } catch (error) {
        store.forget(id);
        if (error instanceof WriteConflict) {
          this.#shared = undefined;
          lost = undefined;
          if (isClaim(batch)) throw error;
          await pauseAfterConflict(this.#context, tried);
        } else if (error instanceof StorageTrouble && (troubles += 1) < 2) {
          this.#shared = undefined;
          lost = decided ?? lost;
        } else throw error;
      }
    }
    throw new StorageTrouble(0, { reason: 'contended' });
  }

  async #decide(id: NotificationId, batch: readonly Pending[]): Promise<Decided | undefined> {
    const { store, clock } = this.#context;
    const { shared, open } = await this.#sharedFor(batch, clock.now());
    // Read last: the sooner the write follows, the fewer conflicts.
    const remembered = store.recall(id);
    const before = remembered ?? (await store.load(id));
    if (before === undefined) return undefined;
    const decided = this.#stepAll(before, batch, shared, open);
    if (remembered === undefined || hasChanged(decided) || batch.every(({ event }) => isPast(remembered, event))) {
      return decided;
    }
    // This process may remember an outdated row: an event is only dropped after a read.
    const read = await store.load(id);
    return read && this.#stepAll(read, batch, shared, open);
  }

  async #sharedFor(batch: readonly Pending[], now: number) {
    if (batch.some(({ event }) => needsOpenCalls(event))) {
      const snapshot = await this.#context.store.look(now);
      this.learn(snapshot);
      return { shared: snapshot, open: this.openCalls(snapshot) };
    }
    return { shared: batch[0]?.from ?? (await this.shared()), open: [] };
  }

  /** What all instances share, as this process knows it; read from storage if it knows nothing. */
  async shared(): Promise<StoredLines> {
    this.#shared ??= await this.#context.store.lines();
    return this.#shared;
  }

  created(stored: StoredCase): void {
    this.#onCommitted({ stored, movesQueue: false });
  }

  /** This process has read or written what all instances share. @param shared undefined: what it knows is outdated */
  learn(shared: StoredLines | undefined): void {
    this.#shared = shared && { lines: shared.lines, etag: shared.etag };
  }

  openCalls({ live }: Pick<Snapshot, 'live'>): readonly OpenAttempt[] {
    return live.flatMap((known) => openCallsOf(known, termsOf(known, this.#context.policy)));
  }

  #stepAll(before: StoredCase, batch: readonly Pending[], shared: StoredLines, open: readonly OpenAttempt[]): Decided {
    const { policy, clock, destinations, newId } = this.#context;
    const now = clock.now();
    let known: NotificationCase = before;
    let { lines } = shared;
    const steps = batch.map(({ event }): Step => {
      const decision = step(known, event, { policy, lines, open }, now);
      const { isUnknown, isOverDayLimit } = decision;
      const commands = commandsOf(known, decision.case, policy.line);
      const isChanged = decision.case !== known || decision.lines !== lines;
      known = decision.case;
      lines = decision.lines;
      return { isUnknown, isOverDayLimit, isChanged, commands };
    });
    const after = known === before ? before : withNews(before, known, destinations, now);
    // A later event of the batch may have canceled a command.
    const wanted = new Set(commandsOf(before, after, policy.line).map(nameOf));
    const needed = steps.map(({ isUnknown, isOverDayLimit, isChanged, commands }) => {
      const stillWanted = commands.filter((command) => wanted.has(nameOf(command)));
      return { isUnknown, isOverDayLimit, isChanged, commands: stillWanted };
    });
    return { before, after, steps: needed, lines, shared, open, commit: newId() };
  }

  async #write(decided: Decided, batch: readonly Pending[]): Promise<readonly Done[]> {
    if (decided.lines === decided.shared.lines && !isClaim(batch)) return this.#commit(decided, undefined, batch);
    return this.#writingLines(async () => {
      const shared = this.#shared ?? decided.shared;
      // This process has just committed another notification: decide again instead of running into a conflict.
      const isOutdated = !isClaim(batch) && shared.etag !== decided.shared.etag;
      const { before, open, commit } = decided;
      const current = isOutdated ? { ...this.#stepAll(before, batch, shared, open), commit } : decided;
      return this.#commit(current, { lines: current.lines, etag: current.shared.etag }, batch);
    });
  }

  async #commit(decided: Decided, shared: StoredLines | undefined, batch: readonly Pending[]) {
    const { before, after, commit } = decided;
    const { stored, linesEtag } = await this.#context.store.commit(before, after, commit, shared);
    if (shared !== undefined) this.#shared = { lines: shared.lines, etag: linesEtag };
    return this.#committed(decided, stored, batch);
  }

  #committed(decided: Decided, stored: StoredCase, batch: readonly Pending[]): readonly Done[] {
    const { before, lines, shared } = decided;
    const log = batch[0]?.log ?? this.#context.log;
    logChange(before, stored, shared.lines, lines, log);
    const endsPause = shared.lines.queue.pauseUntil !== undefined && lines.queue.pauseUntil === undefined;
    this.#onCommitted({ stored, movesQueue: endsPause || movesQueue(before, stored) });
    return doneOf(decided, stored, this.#shared);
  }
}

/** Whether a batch is a claim. A claim depends on an earlier read, so it has one try. */
const isClaim = (batch: readonly Pending[]): boolean => batch.some(({ from }) => from !== undefined);

const hasChanged = ({ before, after, lines, shared }: Decided): boolean => after !== before || lines !== shared.lines;

const nameOf = ({ command, attemptId }: CallCommand): string => `${command} ${attemptId}`;

const doneOf = ({ steps }: Decided, stored: StoredCase, shared?: StoredLines): readonly Done[] =>
  steps.map((one) => ({ ...one, stored, shared }));

/** Whether an event can change nothing about a call that is over, even if the remembered row is outdated. */
const isPast = (known: NotificationCase, event: CaseEvent): boolean => {
  if (event.kind !== 'call') return false;
  const attempt = attemptIn(known, event);
  const isOver = attempt?.state === 'over' && talkOf(attempt) !== undefined;
  return isOver && (event.event.kind === 'disconnected' || event.event.kind === 'hung up');
};

/** Whether a call has ended, or a recipient waits again. */
const movesQueue = (before: NotificationCase, after: NotificationCase): boolean =>
  after.recipients.some((recipient, index) => {
    const was = before.recipients[index];
    if (recipient === was || was === undefined) return false;
    const liveNow = recipient.attempts.filter(isLive).length;
    const liveThen = was.attempts.filter(isLive).length;
    return liveNow < liveThen || (recipient.state === 'waiting' && was.state !== 'waiting');
  });
