import { AsyncLocalStorage } from 'node:async_hooks';
import nodeCrypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import type { TimerOptions } from 'node:timers';
import timersPromises from 'node:timers/promises';

/** A process of a world. The code before its first answer runs in it, and all code that follows from that code. */
export interface WorldProcess {
  /** How far its clock is ahead, in milliseconds; negative if it is behind. */
  readonly clockAheadMs: number;
  /** Timers of a process that has ended no longer go off. */
  readonly isOver: boolean;
  /** Until then, by `performance.now`, its timers wait. Its clock continues. Never by default. */
  readonly suspendedUntil?: number;
}

const processes = new AsyncLocalStorage<WorldProcess | undefined>();

/** Runs something in a process: its clock, its timers, and its end. `undefined`: outside of all processes. */
export const runIn = <Result>(process: WorldProcess | undefined, run: () => Result): Result =>
  processes.run(process, run);

/** The result that `setTimeout` returns. */
class VirtualTimer {
  readonly process = processes.getStore();
  readonly run: () => void;
  dueAt: number;
  isCancelled = false;

  constructor(dueAt: number, run: () => void) {
    this.dueAt = dueAt;
    this.run = run;
  }

  unref(): this {
    return this;
  }
}

const cancel = (timer: unknown): void => {
  if (timer instanceof VirtualTimer) timer.isCancelled = true;
};

/**
 * Plays something in virtual time, which passes only by a call: `Date`, timers, `AbortSignal.timeout` and `performance.now` follow it, and
 * `Math.random` and the random ids of `node:crypto` follow a seed. Only one is in use at a time in a thread.
 *
 * @param now in milliseconds since 1970
 * @param random numbers from 0 to 1, without 1, for everything that the code under test draws
 * @param isLogged whether errors have stacks: stacks of expected errors would take half of the time
 * @example
 * await inVirtualTime(Date.parse('2026-11-21T22:00:00Z'), randomFrom('seed 7'), false, (time) => time.pass(60_000));
 */
export const inVirtualTime = async <Result>(
  now: number,
  random: () => number,
  isLogged: boolean,
  play: (time: VirtualTime) => Promise<Result>,
): Promise<Result> => {
  const time = new VirtualTime(now, random);
  const { stackTraceLimit } = Error;
  if (!isLogged) Error.stackTraceLimit = 0;
  try {
    return await play(time);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    time.uninstall();
  }
};

/** See {@link inVirtualTime}. */
export class VirtualTime {
  readonly #startedAt: number;
  /** The timer that goes off next is at the end. Of two timers with the same time, the older goes off first. */
  readonly #queue: VirtualTimer[] = [];
  readonly #restore: (() => void)[] = [];
  #now: number;

  constructor(now: number, random: () => number) {
    this.#now = now;
    this.#startedAt = now;
    this.#install(random);
  }

  /** In milliseconds since 1970, by a clock that is right. */
  get now(): number {
    return this.#now;
  }

  uninstall(): void {
    for (const restore of this.#restore) restore();
    syncBuiltinESMExports();
  }

  /** Lets time pass: every timer in its turn, and everything that follows from one before the next. */
  async pass(ms: number): Promise<void> {
    await this.passUntil(new Promise(() => undefined), ms);
  }

  /** Lets time pass until something has settled, but not longer than this. @returns whether it has settled */
  async passUntil(settling: Promise<unknown>, mostMs: number): Promise<boolean> {
    const until = this.#now + mostMs;
    let isSettled = false;
    const settle = (): void => void (isSettled = true);
    settling.then(settle, settle);
    for (;;) {
      await allElse();
      if (isSettled) return true;
      if (!this.#goOff(until)) break;
    }
    this.#now = until;
    return false;
  }

  /** The next timer goes off. @returns whether there was one until then */
  #goOff(until: number): boolean {
    for (;;) {
      const next = this.#queue.at(-1);
      if (next === undefined || next.dueAt > until) return false;
      this.#queue.pop();
      if (next.isCancelled || next.process?.isOver === true) continue;
      const waitsUntil = this.#startedAt + (next.process?.suspendedUntil ?? 0);
      if (waitsUntil > Math.max(this.#now, next.dueAt)) {
        next.dueAt = waitsUntil;
        this.#add(next);
        continue;
      }
      this.#now = Math.max(this.#now, next.dueAt);
      processes.run(next.process, next.run);
      return true;
    }
  }

  #add(timer: VirtualTimer): VirtualTimer {
    let [at, end] = [0, this.#queue.length];
    while (at < end) {
      const middle = (at + end) >> 1;
      if ((this.#queue[middle]?.dueAt ?? 0) > timer.dueAt) at = middle + 1;
      else end = middle;
    }
    this.#queue.splice(at, 0, timer);
    return timer;
  }

  #replace(object: object, name: string, value: unknown): void {
    const own = Object.getOwnPropertyDescriptor(object, name);
    this.#restore.push(() => {
      // Deleting makes the object slow: only inherited properties are deleted.
      if (own === undefined) Reflect.deleteProperty(object, name);
      else Object.defineProperty(object, name, own);
    });
    Reflect.set(object, name, value);
  }

  #install(random: () => number): void {
    const nowHere = (): number => Math.floor(this.#now + (processes.getStore()?.clockAheadMs ?? 0));
    const after = (ms: number, run: () => void): VirtualTimer => this.#add(new VirtualTimer(this.#now + ms, run));
    const every = (ms: number, run: () => void): VirtualTimer => {
      const timer = after(ms, () => {
        timer.dueAt += ms;
        this.#add(timer);
        run();
      });
      return timer;
    };
    type Run = (...args: unknown[]) => void;
    const timers = {
      setTimeout: (run: Run, ms = 0, ...args: unknown[]) => after(Math.max(1, ms), () => run(...args)),
      setInterval: (run: Run, ms = 0, ...args: unknown[]) => every(Math.max(1, ms), () => run(...args)),
      clearTimeout: cancel,
      clearInterval: cancel,
    };
    for (const [name, value] of Object.entries(timers)) this.#replace(globalThis, name, value);
    this.#replace(Date, 'now', nowHere);
    const construct = (target: DateConstructor, args: unknown[]): object =>
      Reflect.construct(target, args.length === 0 ? [nowHere()] : args, target);
    this.#replace(globalThis, 'Date', new Proxy(Date, { construct }));
    this.#replace(performance, 'now', () => this.#now - this.#startedAt);
    this.#replace(AbortSignal, 'timeout', (ms: number) => {
      const controller = new AbortController();
      after(ms, () => controller.abort(new DOMException('The operation timed out.', 'TimeoutError')));
      return controller.signal;
    });
    const sleep = (ms = 0, value?: unknown, { signal }: TimerOptions = {}): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const timer = after(Math.max(1, ms), () => resolve(value));
        signal?.addEventListener('abort', () => {
          cancel(timer);
          reject(new DOMException('The operation was aborted', 'AbortError'));
        });
      });
    this.#replace(timersPromises, 'setTimeout', sleep);
    this.#replace(timersPromises, 'setImmediate', () => new Promise<void>((resolve) => void after(0, resolve)));
    const uuid = (): string =>
      Buffer.from(Array.from({ length: 16 }, () => Math.floor(random() * 256)))
        .toString('hex')
        .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    this.#replace(Math, 'random', random);
    this.#replace(nodeCrypto, 'randomUUID', uuid);
    syncBuiltinESMExports();
  }
}

/** All code that needs no timer has run: Node gets here when no promise is left to settle, and no tick of a stream. */
const allElse = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
