import type { ProcessEntry } from './process-table.ts';

// npm names itself `npm start`, `npm exec …`; before it does, it is Node with npm's script.
const isNpm = (command: string): boolean =>
  /^np[mx]( |$)/.test(command) || /^\S+ \S*\bnp[mx](-cli\.js)?( |$)/.test(command);

const isScriptShell = (command: string): boolean => /^(\S*\/)?(sh|bash|dash|zsh) -c /.test(command);

/**
 * The processes of npm above a process, with the shells in between, nearest first: for
 * `npx -p node@24 -c 'npm ci && npm start'` an npm, a shell, and the npx. None where npm did not start the process.
 *
 * @param parent the process id of the parent of the process in question
 */
export const npmAbove = (table: ReadonlyMap<number, ProcessEntry>, parent: number): readonly number[] => {
  const above: number[] = [];
  let upToNpm = 0;
  for (let pid = parent; ;) {
    const entry = table.get(pid);
    if (entry === undefined || !(isNpm(entry.command) || isScriptShell(entry.command))) return above.slice(0, upToNpm);
    above.push(pid);
    // A shell above the last npm belongs to a person.
    if (isNpm(entry.command)) upToNpm = above.length;
    pid = entry.parent;
  }
};
