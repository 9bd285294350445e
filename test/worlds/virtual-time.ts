import { AsyncLocalStorage } from 'node:async_hooks';
import nodeCrypto from 'node:crypto';
import type { TimerOptions } from 'node:timers';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';

/** A process of a world. What it does before its first answer runs in it, and so does everything that follows from that. */
export interface WorldProcess {
  /** How far its clock is ahead, in milliseconds; negative if it is behind. */
  readonly clockAheadMs: number;
  /** A process that has ended sets no timer off any more. */
  readonly isOver: boolean;
}

/** What is replaced while virtual time is used. */
const REAL = {
  Date: globalThis.Date,
  dateNow: Date.now,
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  clearImmediate: globalThis.clearImmediate,
  performanceNow: Object.getOwnPropertyDescriptor(performance, 'now'),
  abortAfter: Object.getOwnPropertyDescriptor(AbortSignal, 'timeout'),
  random: Math.random,
  sleep: timersPromises.setTimeout,
  nextTurn: timersPromises.setImmediate,
  randomUUID: nodeCrypto.randomUUID,
  randomBytes: nodeCrypto.randomBytes,
};

const processes = new AsyncLocalStorage<WorldProcess | undefined>();

/** Runs something in a process: its clock, its timers, and its end. `undefined`: outside of all processes. */
export const runIn = <Result>(process: WorldProcess | undefined, run: () => Result): Result =>
  processes.run(process, run);

/** What `setTimeout` returns. */
class VirtualTimer {
  /** Of two timers that are due at one time the one that was set first comes first. */
  readonly order: number;
  readonly everyMs: number | undefined;
  readonly process = processes.getStore();
  readonly run: () => void;
  dueAt: number;
  isCancelled = false;

  constructor(order: number, dueAt: number, everyMs: number | undefined, run: () => void) {
    this.order = order;
    this.dueAt = dueAt;
    this.everyMs = everyMs;
    this.run = run;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

const cancel = (timer: unknown): void => {
  if (timer instanceof VirtualTimer) timer.isCancelled = true;
};

const restore = (object: object, name: string, own: PropertyDescriptor | undefined): void => {
  Reflect.deleteProperty(object, name);
  if (own !== undefined) Object.defineProperty(object, name, own);
};

/**
 * A time that passes only when it is told to: `Date`, timers, `AbortSignal.timeout` and `performance.now` follow it, and `Math.random` and the random
 * ids of `node:crypto` follow a seed. Only one is in use at a time in a thread.
 *
 * @example
 * const time = VirtualTime.install(Date.parse('2026-11-21T22:00:00Z'), randomFrom('seed 7'));
 * try {
 *   await time.pass(60_000);
 * } finally {
 *   time.uninstall();
 * }
 */
export class VirtualTime {
  readonly #startedAt: number;
  readonly #queue: VirtualTimer[] = [];
  #now: number;
  #timers = 0;

  private constructor(now: number) {
    this.#now = now;
    this.#startedAt = now;
  }

  /** @param random numbers from 0 to 1, without 1, for everything that the code under test draws */
  static install(now: number, random: () => number): VirtualTime {
    const time = new VirtualTime(now);
    time.#install(random);
    return time;
  }

  /** In milliseconds since 1970, by a clock that is right. */
  get now(): number {
    return this.#now;
  }

  uninstall(): void {
    globalThis.Date = REAL.Date;
    REAL.Date.now = REAL.dateNow;
    globalThis.setTimeout = REAL.setTimeout;
    globalThis.clearTimeout = REAL.clearTimeout;
    globalThis.setInterval = REAL.setInterval;
    globalThis.clearInterval = REAL.clearInterval;
    globalThis.setImmediate = REAL.setImmediate;
    globalThis.clearImmediate = REAL.clearImmediate;
    restore(performance, 'now', REAL.performanceNow);
    restore(AbortSignal, 'timeout', REAL.abortAfter);
    Math.random = REAL.random;
    timersPromises.setTimeout = REAL.sleep;
    timersPromises.setImmediate = REAL.nextTurn;
    nodeCrypto.randomUUID = REAL.randomUUID;
    nodeCrypto.randomBytes = REAL.randomBytes;
    syncBuiltinESMExports();
  }

  /** Lets time pass: every timer in its turn, and everything that follows from one before the next. */
  async pass(ms: number): Promise<void> {
    await this.passUntil(new Promise(() => undefined), ms);
  }

  /**
   * Lets time pass until something has settled, but not longer than this.
   *
   * @returns whether it has settled
   */
  passUntil(settling: Promise<unknown>, mostMs: number): Promise<boolean> {
    const until = this.#now + mostMs;
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
    };
    settling.then(settle, settle);
    return new Promise((resolve) => {
      const turn = (): void => {
        if (!isSettled && this.#goOff(until)) {
          afterAll(turn);
          return;
        }
        if (!isSettled) this.#now = until;
        resolve(isSettled);
      };
      afterAll(turn);
    });
  }

  /** The next timer goes off. @returns whether there was one until then */
  #goOff(until: number): boolean {
    for (;;) {
      const next = this.#queue[0];
      if (next === undefined || next.dueAt > until) return false;
      this.#take();
      if (next.isCancelled || next.process?.isOver === true) continue;
      this.#now = Math.max(this.#now, next.dueAt);
      if (next.everyMs !== undefined) {
        next.dueAt += next.everyMs;
        this.#add(next);
      }
      processes.run(next.process, next.run);
      return true;
    }
  }

  #install(random: () => number): void {
    const nowHere = (): number => Math.floor(this.#now + (processes.getStore()?.clockAheadMs ?? 0));
    REAL.Date.now = nowHere;
    globalThis.Date = new Proxy(REAL.Date, {
      construct: (target, args: unknown[]) => Reflect.construct(target, args.length === 0 ? [nowHere()] : args, target),
    });
    performance.now = () => this.#now - this.#startedAt;
    const start = (run: () => void, ms: number, everyMs?: number, leastMs = 1): VirtualTimer => {
      this.#timers += 1;
      const timer = new VirtualTimer(this.#timers, this.#now + Math.max(leastMs, ms), everyMs, run);
      this.#add(timer);
      return timer;
    };
    const startNow = (run: () => void): VirtualTimer => start(run, 0, undefined, 0);
    const replaced: Record<string, unknown> = {
      setTimeout: (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
        start(args.length === 0 ? run : () => run(...args), ms),
      setInterval: (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => start(() => run(...args), ms, ms),
      clearTimeout: cancel,
      clearInterval: cancel,
      setImmediate: (run: (...args: unknown[]) => void, ...args: unknown[]) => startNow(() => run(...args)),
      clearImmediate: cancel,
    };
    Object.assign(globalThis, replaced);
    AbortSignal.timeout = (ms) => {
      const controller = new AbortController();
      start(() => controller.abort(new DOMException('The operation timed out.', 'TimeoutError')), ms);
      return controller.signal;
    };
    Math.random = random;
    const sleep = (ms = 0, value?: unknown, { signal }: TimerOptions = {}): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const timer = start(() => resolve(value), ms);
        const abort = (): void => {
          cancel(timer);
          reject(new DOMException('The operation was aborted', 'AbortError'));
        };
        if (signal?.aborted === true) abort();
        else signal?.addEventListener('abort', abort, { once: true });
      });
    const nextTurn = (value?: unknown): Promise<unknown> =>
      new Promise((resolve) => {
        startNow(() => resolve(value));
      });
    const bytes = (size: number): Buffer => Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)));
    Object.assign(timersPromises, { setTimeout: sleep, setImmediate: nextTurn });
    Object.assign(nodeCrypto, {
      randomBytes: bytes,
      randomUUID: () =>
        bytes(16)
          .toString('hex')
          .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    });
    syncBuiltinESMExports();
  }

  // A heap: the timer that is due first comes first, of two at one time the one that was set first.
  #add(timer: VirtualTimer): void {
    const queue = this.#queue;
    let index = queue.push(timer) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = queue[parent];
      if (above === undefined || isBefore(above, timer)) break;
      queue[index] = above;
      index = parent;
    }
    queue[index] = timer;
  }

  #take(): void {
    const queue = this.#queue;
    const last = queue.pop();
    if (last === undefined || queue.length === 0) return;
    let index = 0;
    for (;;) {
      const left = queue[2 * index + 1];
      const right = queue[2 * index + 2];
      const isRight = right !== undefined && left !== undefined && isBefore(right, left);
      const least = isRight ? right : left;
      if (least === undefined || isBefore(last, least)) break;
      queue[index] = least;
      index = 2 * index + (isRight ? 2 : 1);
    }
    queue[index] = last;
  }
}

/**
 * Plays something in virtual time.
 *
 * @param isTold whether errors have stacks: half of the time would go into those of errors that are expected
 */
export const inVirtualTime = async <Result>(
  now: number,
  random: () => number,
  isTold: boolean,
  play: (time: VirtualTime) => Promise<Result>,
): Promise<Result> => {
  const time = VirtualTime.install(now, random);
  const { stackTraceLimit } = Error;
  if (!isTold) Error.stackTraceLimit = 0;
  try {
    return await play(time);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    time.uninstall();
  }
};

const isBefore = (one: VirtualTimer, other: VirtualTimer): boolean =>
  one.dueAt < other.dueAt || (one.dueAt === other.dueAt && one.order < other.order);

/** Calls this when everything that waits for no timer has happened: Node runs a tick when no promise is left to settle. */
const afterAll = (next: () => void): void => queueMicrotask(() => process.nextTick(next));
