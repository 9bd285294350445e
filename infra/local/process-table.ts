import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** A process of this machine. */
export interface ProcessEntry {
  /** The process id of its parent. */
  readonly parent: number;
  /** Its command line: the program and its arguments, with spaces between them. */
  readonly command: string;
}

/**
 * The processes that run now, by their ids; those that have ended and wait for their parent are not among them. Node knows no more
 * than a process and its parent. Empty where the system has no way to ask, as on Windows.
 */
export const processTable = (): ReadonlyMap<number, ProcessEntry> =>
  process.platform === 'linux' ? tableFromProc() : process.platform === 'win32' ? new Map() : tableFromPs();

/** True where the process runs now. */
export const isRunning = (pid: number): boolean => {
  if (process.platform === 'linux') return entryFromProc(pid) !== undefined;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // The process of another user cannot be signalled, but it is there.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
};

/**
 * True once the parent that this process started with has ended. Unix gives an orphan another parent; Windows lets it keep the id of
 * the one it had.
 *
 * @param parent the process id of the parent at the start
 */
export const parentHasEnded = (
  parent: number,
  { platform = process.platform, ppid = process.ppid }: { platform?: NodeJS.Platform; ppid?: number } = {},
): boolean => (platform === 'win32' ? !isRunning(parent) : ppid !== parent);

/** From the files that Linux keeps: the slim images of Node have no `ps`. */
const tableFromProc = (): ReadonlyMap<number, ProcessEntry> =>
  new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        const entry = entryFromProc(Number(name));
        return entry === undefined ? [] : [[Number(name), entry] as const];
      }),
  );

const entryFromProc = (pid: number): ProcessEntry | undefined => {
  try {
    // The second field is the program's name in parentheses, which may hold anything.
    const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    if (state === 'Z' || state === 'X') return undefined;
    return { parent: Number(parent), command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') };
  } catch {
    return undefined;
  }
};

/** From the program that every other Unix has. */
const tableFromPs = (): ReadonlyMap<number, ProcessEntry> => {
  try {
    // Without -ww, macOS cuts a command off at the width of the terminal.
    const args = ['-A', '-ww', '-o', 'pid=,ppid=,stat=,args='];
    return parsePs(execFileSync('ps', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  } catch {
    return new Map();
  }
};

/** The processes in the output of `ps -A -ww -o pid=,ppid=,stat=,args=`. */
export const parsePs = (output: string): ReadonlyMap<number, ProcessEntry> =>
  new Map(
    output.split('\n').flatMap((line) => {
      const [, pid, parent, command] = /^\s*(\d+)\s+(\d+)\s+[^Z\s]\S*\s+(.*)$/.exec(line) ?? [];
      return command === undefined ? [] : [[Number(pid), { parent: Number(parent), command }] as const];
    }),
  );
