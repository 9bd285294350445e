import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import type { TestContext } from 'vitest';

import { portIsFree } from '../../infra/emulators/free-port.ts';
import { settingSchemas } from '../../src/settings.ts';
import { until } from '../harness/until.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A settings file with nothing in it, in place of the machine's own. */
export const NO_SETTINGS = fileURLToPath(new URL('fixtures/no-settings.json', import.meta.url));

// Tests may run under npm themselves; its variables are about that run.
/** This machine's environment without settings of the service: they may name real storage and a real ACS. */
export const bareEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(npm_|VITEST|NODE_ENV)/.test(name) && !Object.hasOwn(settingSchemas, name),
    ),
  );

/** Runs `npm start -- …` in a process group of its own, as a terminal does, or by npx. It ends with the test. */
export const npmStart = (
  { onTestFinished }: TestContext,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  isByNpx = false,
) => {
  const command = ['start', '--', '--settings', NO_SETTINGS, ...args];
  const child = spawn(
    'npm',
    isByNpx ? ['exec', '-c', `npm ls --depth=0 > /dev/null; npm ${command.join(' ')}`] : command,
    {
      cwd: ROOT,
      env: { ...bareEnvironment(), ...environment },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => chunks.push(text));
  const output = (): string => chunks.join('');
  // The parts are in groups of their own, and end with the loss of this one.
  const signalAll = (signal: NodeJS.Signals): void => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, signal);
  };
  onTestFinished(() => {
    try {
      signalAll('SIGKILL');
    } catch {
      // All of it has ended.
    }
  });
  return {
    output,
    untilReady: async (): Promise<void> => {
      await until(
        () => child.exitCode !== null || output().includes('The service runs on'),
        'npm start is ready',
        120_000,
      );
      if (child.exitCode !== null) throw new Error(`npm start ended:\n${output()}`);
    },
    /** Sends a signal to the started process alone. */
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    /** Ctrl-C: the terminal sends SIGINT to everything in the foreground. */
    ctrlC: () => signalAll('SIGINT'),
    /** Waits until nothing listens any more where it said that something does. */
    untilNothingIsLeft: async (): Promise<void> => {
      const ports = [...output().matchAll(/(?:127\.0\.0\.1|localhost):(\d+)/g)].map(([, port]) => Number(port));
      const isFree = async (): Promise<readonly boolean[]> => Promise.all([...new Set(ports)].map(portIsFree));
      await until(async () => !(await isFree()).includes(false), 'nothing is left');
    },
  };
};
