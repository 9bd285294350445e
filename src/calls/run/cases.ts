import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import type { Alarm } from './alarm.ts';
import { isLive } from '../state/attempt.ts';
import type { AttemptRef } from '../model/call-context.ts';
import { logEnds } from './call-log.ts';
import { type Clock, sleepBy } from '../model/clock.ts';
import type { LinePause } from '../rules/lines.ts';
import type { NotificationCase } from '../state/notification.ts';
import type { NotificationId } from '../model/notification-id.ts';
import { isFinal, type RecipientStep } from '../state/recipient.ts';
import {
  isCommitted,
  merged,
  type NotificationStore,
  type StoredCase,
  untilCommitted,
} from '../store/notification-store.ts';

/** What the steps of notifications need. */
export interface CasesParts {
  readonly store: NotificationStore;
  readonly pause: LinePause;
  readonly alarm: Alarm;
  readonly clock: Clock;
  readonly random: () => number;
}

/** A recipient of a notification. */
export type RecipientRef = Omit<AttemptRef, 'attemptId'>;

/** The name of a recipient's steps and of its alarm. */
export const keyOf = ({ notificationId, index }: RecipientRef): string => `${notificationId}|${index}`;

/** A notification after a step; the same object if nothing was to be done. */
export interface Step {
  readonly next: NotificationCase;
  readonly asks?: RecipientStep['asks'];
  readonly isPast?: RecipientStep['isPast'];
}

/** What a step has come to. */
export interface Committed {
  readonly stored: StoredCase;
  readonly isChanged: boolean;
  readonly asks: RecipientStep['asks'];
  /** Nothing was done: the calls of the day are used up. */
  readonly isOutOfCalls?: boolean;
}

const MOST_REMEMBERED = 500;

/** The notifications as this process knows them, and the one way in which they change: read, decide, write in one transaction. */
export class Cases {
  readonly #parts: CasesParts;
  /** What this process read or wrote last. It may be outdated: then its commit meets a conflict, and the table is read. */
  readonly #remembered = new Map<NotificationId, StoredCase>();
  /** Steps about one recipient follow one another. */
  readonly #underWay = new Map<string, Promise<unknown>>();

  constructor(parts: CasesParts) {
    this.#parts = parts;
  }

  /** What this process wrote last, if it remembers. */
  recall(id: NotificationId): StoredCase | undefined {
    return this.#remembered.get(id);
  }

  /**
   * Reads, decides and writes, after the steps with the same key. One missed answer of the table is not an outage: a step is tried once
   * more, and one that was written although the answer was lost is known again.
   *
   * @returns undefined if there is no such notification
   */
  async commit(
    id: NotificationId,
    key: string,
    move: (known: NotificationCase) => Step,
    log: Log,
  ): Promise<Committed | undefined> {
    const { store, clock, random } = this.#parts;
    return this.#after(key, async () => {
      let unclear: { readonly before: StoredCase; readonly step: Step } | undefined;
      const round = async (): Promise<Committed | undefined> => {
        const remembered = unclear === undefined ? this.#remembered.get(id) : undefined;
        let known = remembered ?? (await store.load(id));
        if (known === undefined) return undefined;
        if (unclear !== undefined && isCommitted(known, unclear.before, unclear.step.next)) {
          return this.#committed(unclear.before, known, unclear.step, log);
        }
        let step = move(known);
        if (step.next === known && step.isPast !== true && remembered !== undefined) {
          known = await store.load(id);
          if (known === undefined) return undefined;
          // Another step may have been committed since this was read.
          if (this.#remembered.get(id) === remembered) this.remember(id, undefined, known);
          step = move(known);
        }
        const unchanged = { stored: known, isChanged: false, asks: step.asks ?? [] };
        if (step.next === known) return unchanged;
        unclear = { before: known, step };
        try {
          const stored = await store.commit(known, step.next, clock.now());
          unclear = undefined;
          if (stored === 'no calls left') return { ...unchanged, asks: [], isOutOfCalls: true };
          if (stored === 'unchanged') return { ...unchanged, asks: step.asks ?? [] };
          return this.#committed(known, stored, step, log);
        } catch (error) {
          this.#remembered.delete(id);
          if (error instanceof WriteConflict) unclear = undefined;
          throw error;
        }
      };
      const tries = { random, sleep: async (ms: number) => sleepBy(clock, ms) };
      try {
        return await untilCommitted(round, tries);
      } catch (error) {
        this.#remembered.delete(id);
        if (!(error instanceof StorageTrouble)) throw error;
        return untilCommitted(round, tries);
      }
    });
  }

  #committed(before: StoredCase, stored: StoredCase, { asks = [] }: Step, log: Log): Committed {
    const { alarm, pause, clock } = this.#parts;
    const { id } = stored.notification;
    this.remember(id, before, stored);
    logEnds(before, stored, log);
    if (openCalls(stored) < openCalls(before)) {
      // A line is free; what that is worth is known when the next one is dialled.
      if (!hasNewWait(before, stored)) pause.lineIsFree();
      alarm.set('line', Math.max(clock.now(), pause.until));
    }
    if (before.notification.completedAt !== stored.notification.completedAt) alarm.set('line', clock.now());
    return { stored, isChanged: true, asks };
  }

  /** Remembers what was written, and sets the alarms for what is due of it. `before`: what it was made from; undefined: nothing. */
  remember(id: NotificationId, before: StoredCase | undefined, stored: StoredCase): void {
    const known = this.#remembered.get(id);
    this.#remembered.delete(id);
    this.#remembered.set(id, before === undefined || known === undefined ? stored : merged(known, before, stored));
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > MOST_REMEMBERED && oldest !== undefined) this.#remembered.delete(oldest);
    const { alarm } = this.#parts;
    stored.recipients.forEach((recipient, index) => {
      const isWaitingForLine = recipient.state === 'waiting' && (recipient.dueAt ?? 0) <= this.#parts.clock.now();
      alarm.set(
        keyOf({ notificationId: id, index }),
        isWaitingForLine || isFinal(recipient) ? undefined : recipient.dueAt,
      );
    });
    alarm.set(id, stored.notification.nextWaveAt);
  }

  async #after<Result>(key: string, doing: () => Promise<Result>): Promise<Result> {
    const before = this.#underWay.get(key) ?? Promise.resolve();
    const own = before.then(doing, doing);
    const settled = own.catch(() => undefined);
    this.#underWay.set(key, settled);
    try {
      return await own;
    } finally {
      if (this.#underWay.get(key) === settled) this.#underWay.delete(key);
    }
  }
}

const openCalls = ({ recipients }: NotificationCase): number =>
  recipients.reduce((open, { attempts }) => open + attempts.filter(isLive).length, 0);

const hasNewWait = (before: NotificationCase, after: NotificationCase): boolean =>
  after.recipients.some(
    ({ state, attempts }, index) =>
      state === 'waiting' && attempts.length < (before.recipients[index]?.attempts.length ?? 0),
  );
