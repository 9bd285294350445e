import { readFileSync } from 'node:fs';

/** A process as Linux tells about it. */
interface Process {
  readonly parent: number;
  readonly args: readonly string[];
}

/** Undefined where there is no such process, where it has ended and only waits to be reaped, and not on Linux. */
const processOf = (pid: number): Process | undefined => {
  try {
    // The second field is the program's name in parentheses, which may hold anything.
    const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    if (state === 'Z' || state === 'X') return undefined;
    return { parent: Number(parent), args: readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0') };
  } catch {
    return undefined;
  }
};

/** True where the process is there and has not ended. Linux only: false elsewhere. */
export const isRunning = (pid: number): boolean => processOf(pid) !== undefined;

// npm names itself `npm start`, `npm exec …`; before it does, it is Node with npm's script.
const isNpm = ([first = '', second = '']: readonly string[]): boolean =>
  /^np[mx]( |$)/.test(first) || /\bnp[mx](-cli\.js)?$/.test(second);

const isScriptShell = ([program = '', option]: readonly string[]): boolean =>
  option === '-c' && /(^|\/)(sh|bash|dash|zsh)$/.test(program);

/**
 * The processes of npm above this one, with the shells in between, nearest first: for
 * `npx -p node@24 -c 'npm ci && npm start'` an npm, a shell, and the npx. None where it was not npm that started this
 * process, and none but on Linux.
 */
export const npmAbove = (): readonly number[] => {
  const above: number[] = [];
  let upToNpm = 0;
  for (let pid = process.ppid; ;) {
    const found = processOf(pid);
    if (found === undefined || !(isNpm(found.args) || isScriptShell(found.args))) return above.slice(0, upToNpm);
    above.push(pid);
    // A shell above the last npm is somebody's own.
    if (isNpm(found.args)) upToNpm = above.length;
    pid = found.parent;
  }
};
