import { execFileSync } from 'node:child_process';

/** Whether a program is on this machine. */
export const isHere = (program: string): boolean => {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};
