import { EventEmitter, once } from 'node:events';

import { isRunning, npmAbove } from './npm-above.ts';

/**
 * One Ctrl-C comes as several signals: from the terminal to the whole process group, and again from each npm on the
 * way. Within this time they are the same wish, in milliseconds.
 */
const SAME_WISH_MILLISECONDS = 1_000;

/** How often to look whether those who started this process are still there, in milliseconds. */
const ABOVE_CHECK_MILLISECONDS = 500;

/** Somebody wants this process to end. */
export interface StopRequest {
  /** Fulfils when somebody does. */
  readonly asked: Promise<'asked'>;
  /** Fulfils when somebody insists: a second Ctrl-C. */
  readonly insisted: Promise<void>;
}

/**
 * Watches for the wish to end: Ctrl-C, SIGTERM, a closed terminal, and the loss of the parent or of an npm above it:
 * a SIGTERM to npm ends the shell that npm has put in between, and comes no further down. From now on signals do not end the process by themselves.
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
  const above = npmAbove();
  setInterval(() => {
    if (process.ppid !== parent || !above.every(isRunning)) wishes.emit('ask');
  }, ABOVE_CHECK_MILLISECONDS).unref();
  return {
    asked: once(wishes, 'ask').then(() => 'asked'),
    insisted: once(wishes, 'insist').then(() => undefined),
  };
};
