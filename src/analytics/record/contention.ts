import { setTimeout } from 'node:timers/promises';

import { StorageTrouble } from '../rows/table.ts';

// A process that has just committed continues without reading; one that must read first always comes too late. So the loser
// polls the shard's version, which is cheap, until the shard is quiet, and a process that knows of others pauses now and then
// for longer than that takes. So they take turns instead of failing each other's commits.
const QUIET_MS = 20;
const LISTEN_BUDGET_MS = 2_000;
const TURN_MS = 500;
const PAUSE_MS = 60;
const CONTENDED_FOR_MS = 30_000;

/** Lets the processes that write to one shard take turns. */
export class Contention {
  readonly #readVersion: () => Promise<string | undefined>;
  /** When another process last committed before this one, in milliseconds since 1970. */
  #lastLost = 0;
  #turnStarted = Date.now();

  /** @param readVersion reads the version of the shard; undefined: it has no rows */
  constructor(readVersion: () => Promise<string | undefined>) {
    this.#readVersion = readVersion;
  }

  /** Starts a turn. */
  startTurn(): void {
    this.#turnStarted = Date.now();
  }

  /** Ends a turn that has lasted long enough, with a pause where other processes wrote lately. */
  async pauseAfterTurn(): Promise<void> {
    if (Date.now() - this.#turnStarted <= TURN_MS) return;
    if (Date.now() - this.#lastLost < CONTENDED_FOR_MS) await setTimeout(PAUSE_MS);
    this.startTurn();
  }

  /** Notes that another process committed first. */
  lost(): void {
    this.#lastLost = Date.now();
  }

  /** Waits until nobody writes to the shard, for a bounded time, because the other process may never pause. */
  async untilQuiet(): Promise<void> {
    const end = Date.now() + LISTEN_BUDGET_MS;
    let seen: string | undefined;
    do {
      const version = await this.#readVersion().catch(noVersion);
      if (version === undefined || version === seen) return;
      seen = version;
      await setTimeout(QUIET_MS * (1 + Math.random() / 2));
    } while (Date.now() < end);
  }
}

/** Trouble with storage shows in the try that follows the wait. */
const noVersion = (error: unknown): undefined => {
  if (!(error instanceof StorageTrouble)) throw error;
};
