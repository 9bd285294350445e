import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * One Ctrl-C arrives as several signals: from the terminal to the whole process group, and again from each npm above. Signals
 * within this time of the first are the same request, in milliseconds: on a busy machine npm passes its signal on late.
 */
const SAME_REQUEST_MILLISECONDS = 3_000;

/** How often to check that npm and npx still run, in milliseconds. */
const PARENT_CHECK_MILLISECONDS = 500;

/** The request to end this process. */
export interface StopRequest {
  /** Fulfils at the first request. */
  readonly asked: Promise<'asked'>;
  /** Fulfils at a second Ctrl-C. */
  readonly insisted: Promise<void>;
}

/**
 * Watches for requests to end: Ctrl-C, SIGTERM, a closed terminal, and the end of the npm or npx that started this process. A SIGTERM to one of
 * them alone reaches nobody else. From now on signals do not end the process by themselves.
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
    if (started.some(hasEnded)) asked.resolve('asked');
  }, PARENT_CHECK_MILLISECONDS).unref();
  return { asked: asked.promise, insisted: insisted.promise };
};

/** A process above this one, and its child on the way to this one. */
interface Launcher {
  readonly pid: number;
  readonly child: number;
}

/** How npm and npx show themselves in the list of processes. */
const NPM = /(^|[\s/])np[mx](-cli\.js)?(\s|$)/;

/** A shell between npm, npx and this process has a command of its own in the list; nothing else stands between them. */
const MOST_LAUNCHERS = 8;

/** The parent, and the processes above it up to the topmost npm or npx. */
const launchers = (): readonly Launcher[] => {
  const chain: Launcher[] = [{ pid: process.ppid, child: process.pid }];
  let count = 1;
  for (let { pid } = { pid: process.ppid }; chain.length < MOST_LAUNCHERS;) {
    const found = processOf(pid);
    if (found === undefined) break;
    if (NPM.test(found.command)) count = chain.length;
    chain.push({ pid: found.parent, child: pid });
    pid = found.parent;
  }
  return chain.slice(0, count);
};

/** A process of this machine; undefined if nothing can be known about it, as on Windows. */
const processOf = (pid: number): { readonly parent: number; readonly command: string } | undefined => {
  if (process.platform === 'linux') {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return { parent: parentOf(pid), command };
    } catch {
      return undefined;
    }
  }
  if (process.platform === 'win32') return undefined;
  const { stdout } = spawnSync('ps', ['-o', 'ppid=,args=', '-p', String(pid)], { encoding: 'utf8' });
  const [, parent, command = ''] = /^\s*(\d+)\s+(.*)/.exec(stdout ?? '') ?? [];
  return parent === undefined ? undefined : { parent: Number(parent), command };
};

/** The parent of a process of Linux. The name before it, in parentheses, may hold anything. */
const parentOf = (pid: number): number => Number(/.*\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);

/** An orphan gets another parent, except on Windows. A process that nobody has waited for still answers to signals. */
const hasEnded = ({ pid, child }: Launcher): boolean => {
  if (child === process.pid && process.platform !== 'win32') return process.ppid !== pid;
  try {
    return process.platform === 'linux' ? parentOf(child) !== pid : !process.kill(pid, 0);
  } catch (error) {
    // The process of another user cannot be signalled, but it is there.
    return !(error instanceof Error && 'code' in error && error.code === 'EPERM');
  }
};
