import { spawnSync } from 'node:child_process';

/** Skips the running test on a machine without a program, with a warning. The project needs only Node and npm. */
export const needProgram = (program: string, skip: (note: string) => void): void => {
  if (spawnSync(program, ['--version']).error === undefined) return;
  console.warn(`Not tested: ${program} is not on this machine.`);
  skip(`${program} is not on this machine`);
};
