import { EventEmitter, once } from 'node:events';

/**
 * One Ctrl-C comes as several signals: from the terminal to the whole process group, and again from each npm on the
 * way. Within this time they are the same wish, in milliseconds.
 */
const SAME_WISH_MILLISECONDS = 1_000;

/** How often to look whether the process that started this one is still there, in milliseconds. */
const PARENT_CHECK_MILLISECONDS = 500;

/** Somebody wants this process to end. */
export interface StopRequest {
  /** Fulfils when somebody does. */
  readonly asked: Promise<'asked'>;
  /** Fulfils when somebody insists: a second Ctrl-C. */
  readonly insisted: Promise<void>;
}

/**
 * Watches for the wish to end: Ctrl-C, SIGTERM, a closed terminal, and a parent that is gone (a SIGTERM to the npm
 * or the shell above does not always come down to here). From now on signals do not end the process by themselves.
 */
export const watchForStop = (): StopRequest => {
  const wishes = new EventEmitter();
  let askedAt: number | undefined;
  const onSignal = (): void => {
    askedAt ??= performance.now();
    wishes.emit(performance.now() - askedAt < SAME_WISH_MILLISECONDS ? 'ask' : 'insist');
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);

  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) wishes.emit('ask');
  }, PARENT_CHECK_MILLISECONDS).unref();
  return {
    asked: once(wishes, 'ask').then(() => 'asked'),
    insisted: once(wishes, 'insist').then(() => undefined),
  };
};
