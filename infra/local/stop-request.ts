import { EventEmitter, once } from 'node:events';

import { npmAbove } from './npm-above.ts';
import { isRunning, parentHasEnded, processTable } from './process-table.ts';

/**
 * One Ctrl-C arrives as several signals: from the terminal to the whole process group, and again from each npm above. Signals
 * within this time of the first are the same request, in milliseconds: on a busy machine npm passes its signal on late.
 */
const SAME_REQUEST_MILLISECONDS = 3_000;

/** How often to check that the processes above this one still run, in milliseconds. */
const ABOVE_CHECK_MILLISECONDS = 500;

/** The request to end this process. */
export interface StopRequest {
  /** Fulfils at the first request. */
  readonly asked: Promise<'asked'>;
  /** Fulfils at a second Ctrl-C. */
  readonly insisted: Promise<void>;
}

/**
 * Watches for requests to end: Ctrl-C, SIGTERM, a closed terminal, and the end of the parent or of an npm above it. A SIGTERM to npm
 * ends only the shell that npm put in between and goes no further down. From now on signals do not end the process by themselves.
 */
export const watchForStop = (): StopRequest => {
  const requests = new EventEmitter();
  let askedAt: number | undefined;
  const onSignal = (): void => {
    askedAt ??= performance.now();
    requests.emit(performance.now() - askedAt < SAME_REQUEST_MILLISECONDS ? 'ask' : 'insist');
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);

  const parent = process.ppid;
  const above = npmAbove(processTable(), parent);
  setInterval(() => {
    if (parentHasEnded(parent) || !above.every(isRunning)) requests.emit('ask');
  }, ABOVE_CHECK_MILLISECONDS).unref();
  return {
    asked: once(requests, 'ask').then(() => 'asked'),
    insisted: once(requests, 'insist').then(() => undefined),
  };
};
