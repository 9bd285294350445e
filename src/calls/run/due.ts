import pLimit from 'p-limit';

import type { Log } from '../../log.ts';
import { StorageTrouble } from '../../storage/errors.ts';
import { logNotDone } from './call-log.ts';
import type { CasesParts } from './cases.ts';
import { type Attended, type Driver, OPEN_WITHIN_MS } from './driver.ts';
import { nextToDial } from '../rules/lines.ts';
import type { Publisher } from './publisher.ts';
import { type Due, openCallsOf } from '../store/notification-store.ts';

/** What looking for due work needs. */
export interface DueWorkParts extends Omit<CasesParts, 'random'> {
  readonly driver: Driver;
  /** Undefined: outcomes are not published. */
  readonly publisher: Publisher | undefined;
}

const AT_A_TIME = 8;
// Azure ends a timer function after minutes; what is left is found by the next look.
const NO_MORE_AFTER_MS = 90_000;

/**
 * Finds what is due and does it: dials who waits, urgent first; looks after lines of which nothing was heard; opens waves; deletes what has
 * expired. Three call it: the request itself, the end of a call (a line is free) and other alarms, and the timer function. A look with
 * nothing due is one request to storage.
 */
export class DueWork {
  readonly #parts: DueWorkParts;
  #running: Promise<void> | undefined;
  #again = false;

  constructor(parts: DueWorkParts) {
    this.#parts = parts;
  }

  /** Does what is due. While that is under way in this process, a further call has it look once more, and waits for that. */
  async run(log: Log): Promise<void> {
    if (this.#running !== undefined) {
      this.#again = true;
      return this.#running;
    }
    this.#running = this.#runAll(log).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Fulfils when nothing is under way. */
  async settled(): Promise<void> {
    await this.#running;
    await this.#parts.publisher?.settled();
  }

  async #runAll(log: Log): Promise<void> {
    const end = this.#parts.clock.now() + NO_MORE_AFTER_MS;
    do {
      this.#again = false;
      await this.#runOnce(end, log);
    } while (this.#again && this.#parts.clock.now() < end);
  }

  async #runOnce(end: number, log: Log): Promise<void> {
    const { store, clock, pause, publisher } = this.#parts;
    let found: readonly Due[];
    const now = clock.now();
    try {
      found = await store.due(now + OPEN_WITHIN_MS);
    } catch (error) {
      if (error instanceof StorageTrouble) this.#parts.driver.noteTrouble();
      logNotDone(error, { due: undefined }, log);
      return;
    }
    const due = found.filter(({ at }) => at <= now);
    publisher?.run(due, log);
    const attend = async (entry: Due) => {
      if (clock.now() >= end) return;
      try {
        await this.#attend(entry, log);
      } catch (error) {
        const about = 'notificationId' in entry ? { notification_id: entry.notificationId } : {};
        logNotDone(error, { due: entry.kind, ...about }, log);
      }
    };
    // First what ends calls and so frees lines; then who waits for one.
    await pLimit(AT_A_TIME).map(due.filter(isNoDial), attend);
    if (pause.isOn(clock.now())) return;
    const waiting = (kind: 'dial_urgent' | 'dial') => due.filter((entry) => entry.kind === kind);
    const next = nextToDial(waiting('dial_urgent'), waiting('dial'), openCallsOf(found).length);
    await pLimit(AT_A_TIME).map(next, attend);
  }

  async #attend(due: Due, log: Log): Promise<void> {
    const { driver, store } = this.#parts;
    switch (due.kind) {
      case 'dial':
      case 'dial_urgent':
        return this.#dropIfLeftOver(due, await driver.dial(due, log));
      case 'look':
        return this.#dropIfLeftOver(due, await driver.look(due, log));
      case 'notification':
        await this.#dropIfLeftOver(due, await driver.lookAtNotification(due.notificationId, log));
        // Whom it covered, and who is in its wave, may have to be dialled now.
        this.#again = true;
        return undefined;
      case 'publish':
        return undefined;
      case 'expired_notification':
      case 'expired_day':
        return store.deleteExpired(due);
    }
  }

  /** A step moves its entry. One that no step moves any more is of what was stopped or deleted. */
  async #dropIfLeftOver(due: Due, attended: Attended): Promise<void> {
    if (attended === 'moved' || attended === 'left') return;
    const { store } = this.#parts;
    if (attended === 'unknown') await store.drop(due);
    else if (!store.isCurrent(due, attended)) await store.dropLeftOver(due, attended);
  }
}

const isNoDial = ({ kind }: Due): boolean => kind !== 'dial' && kind !== 'dial_urgent';
