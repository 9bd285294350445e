import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * One Ctrl-C arrives as several signals: from the terminal to the whole process group, and again from each npm above. Signals
 * within this time of the first are the same request, in milliseconds: on a busy machine npm passes its signal on late.
 */
const SAME_REQUEST_MILLISECONDS = 3_000;

const PARENT_CHECK_MILLISECONDS = 1_000;

export interface StopRequest {
  /** Fulfills at the first request. */
  readonly asked: Promise<'asked'>;
  /** Fulfills at a second Ctrl-C. */
  readonly insisted: Promise<void>;
}

/**
 * Watches for requests to end: Ctrl-C, SIGTERM, a closed terminal, and the end of the npm or npx that started this process. A SIGTERM to npx alone
 * does not reach this process. From now on signals do not end the process by themselves.
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

  const started = launchers();
  setInterval(() => {
    // Twice, because `ps` may fail once.
    if (launchers() !== started && launchers() !== started) asked.resolve('asked');
  }, PARENT_CHECK_MILLISECONDS).unref();
  return { asked: asked.promise, insisted: insisted.promise };
};

/** How npm and npx show themselves in the list of processes. */
const NPM = /(^|[\s/])np[mx](-cli\.js)?(\s|$)/;

/** The maximum number of processes that are followed upward. Between this process and the npm or npx above it are shells, and few of them. */
const MOST_LAUNCHERS = 8;

/** The parent and the processes above it, up to the topmost npm or npx. A process whose parent ended gets another parent, except on Windows. */
const launchers = (): string => {
  if (process.platform === 'win32') return isRunning(process.ppid) ? String(process.ppid) : '';
  const chain = [process.ppid];
  let count = 1;
  for (let pid = process.ppid; chain.length < MOST_LAUNCHERS;) {
    const found = processOf(pid);
    if (found === undefined) break;
    if (NPM.test(found.command)) count = chain.length;
    pid = found.parent;
    chain.push(pid);
  }
  return chain.slice(0, count).join(' ');
};

/** Whether a process runs, even if it belongs to another user, and this user may send it no signal. */
export const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
};

/** A process of Linux or macOS; undefined if it has ended. */
const processOf = (pid: number): { readonly parent: number; readonly command: string } | undefined => {
  if (process.platform === 'linux') {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      // The name of the process, in parentheses, may hold spaces and parentheses.
      const [, parent] = /.*\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
      return { parent: Number(parent), command };
    } catch {
      return undefined;
    }
  }
  const { stdout } = spawnSync('ps', ['-o', 'ppid=,args=', '-p', String(pid)], { encoding: 'utf8' });
  const [, parent, command = ''] = /^\s*(\d+)\s+(.*)/.exec(stdout ?? '') ?? [];
  return parent === undefined ? undefined : { parent: Number(parent), command };
};
