/**
 * One Ctrl-C arrives as several signals: from the terminal to the whole process group, and again from each npm above. Signals
 * within this time of the first are the same request, in milliseconds: on a busy machine npm passes its signal on late.
 */
const SAME_REQUEST_MILLISECONDS = 3_000;

/** How often to check that the parent still runs, in milliseconds. */
const PARENT_CHECK_MILLISECONDS = 500;

/** The request to end this process. */
export interface StopRequest {
  /** Fulfils at the first request. */
  readonly asked: Promise<'asked'>;
  /** Fulfils at a second Ctrl-C. */
  readonly insisted: Promise<void>;
}

/**
 * Watches for requests to end: Ctrl-C, SIGTERM, a closed terminal, and the end of the parent. A SIGTERM to npm ends only the shell that
 * npm put in between, which is that parent. From now on signals do not end the process by themselves.
 */
export const watchForStop = (): StopRequest => {
  const asked = Promise.withResolvers<'asked'>();
  const insisted = Promise.withResolvers<void>();
  let askedAt: number | undefined;
  const onSignal = (): void => {
    askedAt ??= performance.now();
    if (performance.now() - askedAt < SAME_REQUEST_MILLISECONDS) asked.resolve('asked');
    else insisted.resolve();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);

  const parent = process.ppid;
  setInterval(() => {
    if (hasEnded(parent)) asked.resolve('asked');
  }, PARENT_CHECK_MILLISECONDS).unref();
  return { asked: asked.promise, insisted: insisted.promise };
};

/** Unix gives an orphan another parent; Windows lets it keep the id of the one it had. */
const hasEnded = (parent: number): boolean => {
  if (process.platform !== 'win32') return process.ppid !== parent;
  try {
    return !process.kill(parent, 0);
  } catch (error) {
    // The process of another user cannot be signalled, but it is there.
    return !(error instanceof Error && 'code' in error && error.code === 'EPERM');
  }
};
