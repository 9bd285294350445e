import pLimit from 'p-limit';
import { type Clock, sleepBy } from '../model/clock.ts';
import type { NotificationId } from '../model/ids.ts';
import type { Destination } from '../model/outcomes.ts';
import type { PhoneLine } from '../model/phone-line.ts';
import { logChange } from './call-log.ts';
import { isLive, talkOf } from '../state/attempt.ts';
import { type Lines, type OpenAttempt, openCallsOf } from '../state/lines.ts';
import { attemptIn, type NotificationCase } from '../state/notification.ts';
import { withNews } from '../state/outbox.ts';
import {
  type CallCommand,
  type CaseEvent,
  commandsOf,
  type Decision,
  needsOpenCalls,
  type Policy,
  step,
  termsOf,
} from '../state/step.ts';
import type { NotificationStore, Snapshot, StoredCase, StoredLines } from '../store/notification-store.ts';
import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { backoffMs } from '../../storage/table.ts';

/** What a commit changed. */
export interface Committed {
  readonly before: NotificationCase;
  readonly stored: StoredCase;
  /** A call has ended, or an accepted one has ended a pause: the queue may move on. */
  readonly movesQueue: boolean;
}

/** What an event has come to. */
export interface Done extends Pick<Decision, 'isUnknown' | 'isOverDayLimit'> {
  readonly stored: StoredCase;
  readonly isChanged: boolean;
  /** What the caller must do now. */
  readonly commands: readonly CallCommand[];
  /** What all instances share, if the event was decided with it. */
  readonly shared: StoredLines | undefined;
}

/** An event that waits to be decided. */
interface Pending {
  readonly event: CaseEvent;
  readonly from: StoredLines | undefined;
  readonly log: Log;
  readonly resolve: (done: Done | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** What events have come to, before it is written. */
interface Decided {
  readonly before: StoredCase;
  readonly after: NotificationCase;
  readonly steps: readonly Pick<Done, 'isUnknown' | 'isOverDayLimit' | 'commands'>[];
  readonly lines: Lines;
  readonly shared: StoredLines;
  readonly open: readonly OpenAttempt[];
  /** Names the write. */
  readonly commit: string;
}

/** An event that met another writer is decided again so often. */
const TRIES = 20;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 400;

/**
 * The one way in which notifications change: read, decide, write in one transaction. Events of one notification follow one another; those
 * that come while one is written are written together.
 */
export class Cases {
  readonly #context: Context;
  readonly #onCommitted: (change: Committed) => void;
  readonly #pending = new Map<NotificationId, Pending[]>();
  /** Commits of this process that change what all instances share follow one another. */
  readonly #writingLines = pLimit(1);
  /** What all instances share, as this process read or wrote it last. */
  #shared: StoredLines | undefined;

  /** @param onCommitted called after each commit */
  constructor(context: Context, onCommitted: (change: Committed) => void) {
    this.#context = context;
    this.#onCommitted = onCommitted;
  }

  /**
   * Decides about an event and writes what follows. One missing answer of storage is not an outage: it is tried once more, and a write
   * whose answer was lost is recognized.
   *
   * @param from of a claim, or of a call request that is sent again: what it was decided from. It is tried once.
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
      const together = queue.splice(0, claim === 0 ? 1 : claim > 0 ? claim : queue.length);
      try {
        const done = await this.#takeAll(id, together);
        together.forEach(({ resolve }, index) => resolve(done?.[index]));
      } catch (error) {
        for (const { reject } of together) reject(error);
      }
    }
    this.#pending.delete(id);
  }

  async #takeAll(id: NotificationId, events: readonly Pending[]): Promise<readonly Done[] | undefined> {
    const { store, clock, random } = this.#context;
    const isClaim = hasClaim(events);
    let lost: Decided | undefined;
    for (let tried = 1, troubles = 0; tried <= TRIES; tried += 1) {
      let decided: Decided | undefined;
      try {
        const stored = lost && (await store.load(id));
        if (lost !== undefined && stored?.commit === lost.commit) return this.#committed(lost, stored, events);
        // What a claim was decided from is outdated by now.
        if (lost !== undefined && isClaim) throw new WriteConflict();
        decided = await this.#decide(id, events);
        if (decided === undefined) return undefined;
        if (!isChanged(decided)) return doneOf(decided, decided.before, false);
        return await this.#write(decided, events);
      } catch (error) {
        store.forget(id);
        if (error instanceof WriteConflict) {
          this.#shared = undefined;
          lost = undefined;
          if (isClaim) throw error;
          await sleepBy(clock, backoffMs(tried, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, random));
        } else if (error instanceof StorageTrouble && (troubles += 1) < 2) {
          this.#shared = undefined;
          lost = decided ?? lost;
        } else throw error;
      }
    }
    throw new StorageTrouble(0, { reason: 'contended' });
  }

  async #decide(id: NotificationId, events: readonly Pending[]): Promise<Decided | undefined> {
    const { store, clock } = this.#context;
    const { shared, open } = await this.#sharedFor(events, clock.now());
    // Read last: the sooner the write follows, the fewer others come between.
    const remembered = store.recall(id);
    const before = remembered ?? (await store.load(id));
    if (before === undefined) return undefined;
    const decided = this.#stepAll(before, events, shared, open);
    if (remembered === undefined || isChanged(decided) || events.every(({ event }) => isPast(remembered, event))) {
      return decided;
    }
    // What is remembered may be outdated: nothing is dropped without a look at the table.
    const read = await store.load(id);
    return read && this.#stepAll(read, events, shared, open);
  }

  async #sharedFor(events: readonly Pending[], now: number) {
    const [{ from } = { from: undefined }] = events;
    if (events.some(({ event }) => needsOpenCalls(event))) {
      const snapshot = await this.#context.store.look(now);
      this.learn(snapshot);
      return { shared: snapshot, open: this.openCalls(snapshot) };
    }
    this.#shared ??= await this.#context.store.lines();
    return { shared: from ?? this.#shared, open: [] };
  }

  /** A notification was created. */
  created(stored: StoredCase): void {
    this.#onCommitted({ before: { ...stored, recipients: [], outbox: {} }, stored, movesQueue: false });
  }

  /** What all instances share was read. */
  learn(shared: StoredLines): void {
    this.#shared = { lines: shared.lines, etag: shared.etag };
  }

  /** The open calls of all notifications. */
  openCalls({ live }: Pick<Snapshot, 'live'>): readonly OpenAttempt[] {
    return live.flatMap((known) => openCallsOf(known, termsOf(known, this.#context.policy)));
  }

  #stepAll(before: StoredCase, events: readonly Pending[], shared: StoredLines, open: readonly OpenAttempt[]): Decided {
    const { policy, clock, destinations, newId } = this.#context;
    const now = clock.now();
    let known: NotificationCase = before;
    let { lines } = shared;
    const steps = events.map(({ event }) => {
      const decision = step(known, event, { policy, lines, open }, now);
      const commands = commandsOf(known, decision.case, policy.line);
      known = decision.case;
      lines = decision.lines;
      return { ...decision, commands };
    });
    const after = known === before ? before : withNews(before, known, destinations, now);
    // A later event may have made a command needless.
    const wanted = new Set(commandsOf(before, after, policy.line).map(nameOf));
    const needed = steps.map(({ isUnknown, isOverDayLimit, commands }) => ({
      isUnknown,
      isOverDayLimit,
      commands: commands.filter((command) => wanted.has(nameOf(command))),
    }));
    return { before, after, steps: needed, lines, shared, open, commit: newId() };
  }

  async #write(decided: Decided, events: readonly Pending[]): Promise<readonly Done[]> {
    const isClaim = hasClaim(events);
    if (decided.lines === decided.shared.lines && !isClaim) return this.#commit(decided, undefined, events);
    return this.#writingLines(async () => {
      // Another notification's commit of this process came first: decided again at once, without a conflict.
      const isOutdated = !isClaim && this.#shared !== undefined && this.#shared.etag !== decided.shared.etag;
      const current = isOutdated ? this.#decideAgain(decided, this.#shared ?? decided.shared, events) : decided;
      return this.#commit(current, { lines: current.lines, etag: current.shared.etag }, events);
    });
  }

  #decideAgain({ before, open, commit }: Decided, shared: StoredLines, events: readonly Pending[]): Decided {
    return { ...this.#stepAll(before, events, shared, open), commit };
  }

  async #commit(decided: Decided, shared: StoredLines | undefined, events: readonly Pending[]) {
    const { before, after, commit } = decided;
    const { stored, linesEtag } = await this.#context.store.commit(before, after, commit, shared);
    if (shared !== undefined) this.#shared = { lines: shared.lines, etag: linesEtag };
    return this.#committed(decided, stored, events);
  }

  #committed(decided: Decided, stored: StoredCase, events: readonly Pending[]): readonly Done[] {
    const { before, lines, shared } = decided;
    const [{ log } = { log: undefined }] = events;
    if (log !== undefined) logChange(before, stored, shared.lines, lines, log);
    const endsPause = shared.lines.queue.pauseUntil !== undefined && lines.queue.pauseUntil === undefined;
    this.#onCommitted({ before, stored, movesQueue: endsPause || movesQueue(before, stored) });
    return doneOf(decided, stored, true, this.#shared);
  }
}

/** Whether events were decided from what was read: they are tried once. */
const hasClaim = (events: readonly Pending[]): boolean => events.some(({ from }) => from !== undefined);

const isChanged = ({ before, after, lines, shared }: Decided): boolean => after !== before || lines !== shared.lines;

const nameOf = ({ command, attemptId }: CallCommand): string => `${command} ${attemptId}`;

const doneOf = ({ steps }: Decided, stored: StoredCase, isWritten: boolean, shared?: StoredLines): readonly Done[] =>
  steps.map(({ commands, isUnknown, isOverDayLimit }) => {
    const decided = { commands, isUnknown, isOverDayLimit };
    return { ...decided, stored, isChanged: isWritten, shared };
  });

/** Whether an event can change nothing about a call that is over, whatever happened since it was read. */
const isPast = (known: NotificationCase, event: CaseEvent): boolean => {
  if (event.kind !== 'call') return false;
  const { index, attemptId } = event;
  const attempt = attemptIn(known, { notificationId: known.notification.id, index, attemptId });
  const isOver = attempt?.state === 'over' && talkOf(attempt) !== undefined;
  return isOver && (event.event.kind === 'disconnected' || event.event.kind === 'hung up');
};

/** Whether a call has ended, or somebody waits anew. */
const movesQueue = (before: NotificationCase, after: NotificationCase): boolean =>
  after.recipients.some((recipient, index) => {
    const was = before.recipients[index];
    if (recipient === was || was === undefined) return false;
    const liveNow = recipient.attempts.filter(isLive).length;
    const liveThen = was.attempts.filter(isLive).length;
    return liveNow < liveThen || (recipient.state === 'waiting' && was.state !== 'waiting');
  });

/** What everything in this folder shares. */
export interface Context {
  readonly line: PhoneLine;
  readonly store: NotificationStore;
  readonly policy: Policy;
  /** Where outcomes are published. */
  readonly destinations: readonly Destination[];
  readonly clock: Clock;
  /** From 0 to 1, for the jitter of pauses. */
  readonly random: () => number;
  /** A new UUID. */
  readonly newId: () => string;
  /** For what happens outside any request. */
  readonly log: Log;
}
