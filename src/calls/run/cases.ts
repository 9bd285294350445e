import { LRUCache } from 'lru-cache';

import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { backoffMs } from '../../storage/table.ts';
import { type Clock, sleepBy } from '../model/clock.ts';
import type { NotificationId } from '../model/ids.ts';
import { isLive } from '../state/attempt.ts';
import type { NotificationCase } from '../state/notification.ts';
import { isFinal } from '../state/recipient.ts';
import {
  type CallCommand,
  type CaseEvent,
  isAboutLines,
  type Policy,
  type Decision,
  step,
  type StepRef,
} from '../state/step.ts';
import { isCommitted, type RecipientRef, type StoredCase } from '../store/case-rows.ts';
import type { NotificationStore } from '../store/notification-store.ts';
import type { StoredLines } from '../store/snapshot.ts';
import type { Beside } from '../store/writes.ts';
import type { Alarm } from './alarm.ts';
import { logEnds } from './call-log.ts';

/** Where notifications are kept, and how they are decided about. */
export interface CasesParts {
  readonly store: NotificationStore;
  readonly policy: Policy;
  readonly alarm: Alarm;
  readonly clock: Clock;
  readonly random: () => number;
}

/** The name of a recipient's alarm. */
const alarmOf = ({ notificationId, index }: RecipientRef): string => `${notificationId}|${index}`;

/** What an event has come to. */
export interface Done extends Pick<Decision, 'isFirstForbidden' | 'isUnknown'> {
  readonly stored: StoredCase;
  readonly isChanged: boolean;
  readonly commands: readonly CallCommand[];
  /** Nothing was done: the calls of the day are used up. */
  readonly isOutOfCalls?: boolean | undefined;
}

/** An event that waits to be decided. */
interface Pending {
  readonly ref: StepRef | undefined;
  readonly event: CaseEvent;
  readonly beside: Beside | undefined;
  readonly log: Log;
  readonly resolve: (done: Done | undefined) => void;
  readonly reject: (error: unknown) => void;
}

interface Decided {
  readonly before: StoredCase;
  readonly next: NotificationCase;
  readonly steps: readonly Decision[];
}

const MOST_REMEMBERED = 500;
// Each has up to five writes, and a transaction takes a hundred.
const MOST_TOGETHER = 15;
/** An event that met another writer is decided again so often. */
const TRIES = 20;
const MOST_CONFLICTS = 5;
const LONGEST_PAUSE_MS = 400;
// Claims of the same people by other instances would be first again and again. If this process ends meanwhile, they are dialled then.
const HELD_BACK_MS = 5_000;

/**
 * The notifications as this process knows them, and the one way in which they change: read, decide, write in one transaction. Events of one
 * notification follow one another; those that come while one is written are written together.
 */
export class Cases {
  readonly #parts: CasesParts;
  /** What this process read or wrote last. It may be outdated: then its commit meets a conflict, and the table is read. */
  readonly #remembered = new LRUCache<NotificationId, StoredCase>({ max: MOST_REMEMBERED });
  readonly #pending = new Map<NotificationId, Pending[]>();
  /** Whether somebody waited for a line when this instance looked last: then news of the lines are worth another look. */
  isSomebodyWaiting = false;
  /**
   * When this instance could not use the table last, and when it learnt that somebody was reached, and that somebody heard the beginning of a
   * message, in milliseconds since 1970.
   */
  troubleAt = -Infinity;
  reachedAt = -Infinity;
  heardAt = -Infinity;

  constructor(parts: CasesParts) {
    this.#parts = parts;
  }

  /** What this process wrote last, if it remembers. */
  recall(id: NotificationId): StoredCase | undefined {
    return this.#remembered.peek(id);
  }

  /**
   * Decides about an event and writes what follows. One missed answer of the table is not an outage: it is tried once more, and what was written
   * although the answer was lost is known again.
   *
   * @param beside of a claim: what it was decided from. It is tried once.
   * @returns undefined if there is no such notification
   * @throws {WriteConflict} a claim met another writer: whoever asks looks again
   */
  async take(
    id: NotificationId,
    ref: StepRef | undefined,
    event: CaseEvent,
    log: Log,
    beside?: Beside,
  ): Promise<Done | undefined> {
    return new Promise((resolve, reject) => {
      const pending = { ref, event, beside, log, resolve, reject };
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
      const claim = queue.findIndex(({ beside }) => beside !== undefined);
      const count = claim === 0 ? 1 : claim > 0 ? claim : queue.length;
      const together = queue.splice(0, Math.min(MOST_TOGETHER, count));
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
    const { clock, random } = this.#parts;
    const unclear: Decided[] = [];
    const isClaim = events.some(({ beside }) => beside !== undefined);
    let troubles = 0;
    let inTheWayOf: StoredCase | undefined;
    for (let tried = 1; tried <= TRIES; tried += 1) {
      try {
        if (inTheWayOf !== undefined) await this.#parts.store.holdBack(inTheWayOf, clock.now() + HELD_BACK_MS);
        return await this.#round(id, events, unclear, tried > MOST_CONFLICTS);
      } catch (error) {
        this.#remembered.delete(id);
        if (error instanceof WriteConflict) {
          const [decided] = unclear;
          inTheWayOf = decided !== undefined && stopsTheRest(decided) ? decided.before : undefined;
          unclear.length = 0;
          if (isClaim) throw error;
          await sleepBy(clock, backoffMs(tried, 20, LONGEST_PAUSE_MS, random));
        } else if (!(error instanceof StorageTrouble) || (troubles += 1) > 1) throw error;
      }
    }
    throw new StorageTrouble(0, { reason: 'contended' });
  }

  /**
   * @param unclear what was perhaps written: the answer was lost
   * @param isStuck it met others again and again: a row of an open call may be gone
   */
  async #round(
    id: NotificationId,
    events: readonly Pending[],
    unclear: Decided[],
    isStuck: boolean,
  ): Promise<readonly Done[] | undefined> {
    const { store, clock } = this.#parts;
    const [lost] = unclear;
    const [{ beside, log } = { beside: undefined, log: undefined }] = events;
    const remembered = lost === undefined ? this.#remembered.peek(id) : undefined;
    const known = remembered ?? (await store.load(id));
    if (known === undefined) return undefined;
    if (lost !== undefined) {
      if (isCommitted(known, lost.before, lost.next)) return this.#committed({ ...lost, stored: known }, log);
      // What a claim was decided from is outdated by now.
      if (beside !== undefined) throw new WriteConflict();
    }
    const lines = isStuck || events.some(({ event }) => isAboutLines(event)) ? await store.lines() : undefined;
    let decided = this.#decide(known, events, lines);
    if (remembered !== undefined && decided.isUnsure) {
      const read = await store.load(id);
      if (read === undefined) return undefined;
      this.remember(read);
      decided = this.#decide(read, events, lines);
    }
    const { before, next, line } = decided;
    if (next === before && line === undefined) return this.#unchanged(decided);
    unclear[0] = decided;
    const stored = await store.commit(before, next, clock.now(), { lines, ...beside, line: beside?.line ?? line });
    unclear.length = 0;
    if (stored === 'no calls left') return this.#unchanged(decided, true);
    if (beside?.earlier !== undefined) this.#remembered.delete(beside.earlier.next.notification.id);
    return this.#committed({ ...decided, stored: stored === 'unchanged' ? before : stored }, log);
  }

  #decide(before: StoredCase, events: readonly Pending[], read: StoredLines | undefined) {
    const { clock, policy } = this.#parts;
    let next: NotificationCase = before;
    let lines = read && { ...read, reachedAt: this.reachedAt, heardAt: this.heardAt };
    let isUnsure = false;
    const steps = events.map(({ ref, event }) => {
      const decided = step(next, ref, event, { policy, lines, troubleAt: this.troubleAt }, clock.now());
      isUnsure ||= decided.case === next && decided.isPast !== true;
      next = decided.case;
      if (lines !== undefined && decided.line !== undefined) {
        // The next refusal does not count this call.
        const open = lines.open.filter(({ attemptId }) => attemptId !== ref?.attemptId);
        lines = { ...lines, line: decided.line, open };
      }
      return decided;
    });
    return { before, next, steps, isUnsure, line: lines?.line === read?.line ? undefined : lines?.line };
  }

  #unchanged({ before, steps }: Decided, isOutOfCalls?: true): readonly Done[] {
    return steps.map(({ isUnknown, commands }) => ({
      stored: before,
      isChanged: false,
      commands: isOutOfCalls === true ? [] : commands,
      isOutOfCalls,
      isUnknown,
    }));
  }

  #committed({ before, steps, stored }: Decided & { readonly stored: StoredCase }, log?: Log): readonly Done[] {
    const { alarm, clock } = this.#parts;
    this.remember(stored);
    if (log !== undefined) logEnds(before, stored, log);
    const [was, is] = [callsOf(before), callsOf(stored)];
    if (is.reached > was.reached) this.reachedAt = clock.now();
    if (is.heard > was.heard) this.heardAt = clock.now();
    const hasEnded =
      is.live < was.live || (before.notification.completedAt ?? 0) < (stored.notification.completedAt ?? 0);
    const isNews = is.placed !== was.placed || is.reached !== was.reached;
    // A line is free, or there is one more than was known.
    if (hasEnded || (isNews && this.isSomebodyWaiting)) alarm.set('line', clock.now());
    let known: NotificationCase = before;
    return steps.map(({ commands, isUnknown, isFirstForbidden, case: next }) => {
      const isChanged = next !== known;
      known = next;
      return { stored, isChanged, commands, isUnknown, isFirstForbidden };
    });
  }

  /** Remembers what was read or written, and sets the alarms for what is due of it. */
  remember(stored: StoredCase): void {
    const { alarm, clock } = this.#parts;
    const { id, nextWaveAt, hungUpBy, ringsBy } = stored.notification;
    this.#remembered.set(id, stored);
    stored.recipients.forEach((recipient, index) => {
      const isWaitingForLine = recipient.state === 'waiting' && (recipient.dueAt ?? 0) <= clock.now();
      const isDone = isWaitingForLine || isFinal(recipient);
      alarm.set(alarmOf({ notificationId: id, index }), isDone ? undefined : recipient.dueAt);
    });
    const times = [nextWaveAt, hungUpBy, ringsBy].filter((at) => at !== undefined);
    alarm.set(id, times.length === 0 ? undefined : Math.min(...times));
  }
}

/** Whether nobody else is to be dialled from now on: it was stopped, or enough have confirmed. */
const stopsTheRest = ({ before: { notification: was }, next: { notification: is } }: Decided): boolean =>
  is.stoppedAt !== was.stoppedAt || is.confirmedAt !== was.confirmedAt;

/** How many calls are ringing or open, and how many were ever accepted and answered. */
const callsOf = ({ recipients }: NotificationCase) => {
  const attempts = recipients.flatMap((recipient) => recipient.attempts);
  return {
    live: attempts.filter(isLive).length,
    placed: attempts.filter(({ placedAt }) => placedAt !== undefined).length,
    reached: attempts.filter(({ speakingAt }) => speakingAt !== undefined).length,
    heard: attempts.filter(({ startedAt }) => startedAt !== undefined).length,
  };
};
