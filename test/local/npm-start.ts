import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { vi } from 'vitest';

import { isRunning, type ProcessEntry, processTable } from '../../infra/local/process-table.ts';
import { settingSchemas } from '../../src/settings.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** `npm start` as a person runs it: npm, what it runs, and a terminal around both. */
export interface NpmStart {
  /** Everything printed so far. */
  output(): string;
  /** Waits until it says that the service runs. */
  untilReady(): Promise<void>;
  /** The process ids of npm and of everything below it that runs now. */
  tree(): readonly number[];
  /** The process id of the part whose command line has this text. */
  pidOf(text: string): number;
  /** Sends a signal to npm alone. */
  signal(signal: NodeJS.Signals): void;
  /** Ctrl-C: the terminal sends SIGINT to everything in the foreground. */
  ctrlC(): void;
  /** Ends at once what `tree` has ever seen. */
  kill(): void;
  /** The exit code once npm has ended; null where npm ended itself by the signal that it got. */
  readonly exitCode: Promise<number | null>;
}

/** A settings file with nothing in it, in place of the machine's own. */
export const NO_SETTINGS = fileURLToPath(new URL('fixtures/no-settings.json', import.meta.url));

/**
 * Runs `npm start -- …` in a process group of its own, as a terminal does. The settings of the machine it runs on are
 * kept away, in its environment and in its local.settings.json: they may name real storage and a real ACS.
 */
export const npmStart = (args: readonly string[], environment: Readonly<Record<string, string>> = {}): NpmStart =>
  runStart(['npm', ['start', '--', '--settings', NO_SETTINGS, ...args]], environment);

/** The same, one more npm and one more shell away, as in `npx -p node@24 -c 'npm ci && npm start'`. */
export const npxNpmStart = (args: readonly string[]): NpmStart =>
  runStart(['npx', ['-c', ['npm --version && npm start -- --settings', NO_SETTINGS, ...args].join(' ')]], {});

const runStart = (
  [program, programArgs]: readonly [string, readonly string[]],
  environment: Readonly<Record<string, string>>,
): NpmStart => {
  const npm = spawn(program, programArgs, {
    cwd: ROOT,
    env: { ...bareEnvironment(), ...environment },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: string[] = [];
  for (const stream of [npm.stdout, npm.stderr]) stream.setEncoding('utf8').on('data', (text) => chunks.push(text));
  const output = (): string => chunks.join('');
  // Not 'close': a process left behind would keep the pipes open, and that is for a test to find.
  const exitCode = once(npm, 'exit').then(() => npm.exitCode);
  const seen = new Set<number>();
  const tree = (): readonly number[] => {
    const pids = npm.pid === undefined ? [] : [npm.pid, ...descendants(npm.pid).keys()];
    for (const pid of pids) seen.add(pid);
    return pids;
  };
  return {
    output,
    exitCode,
    untilReady: async () => {
      await vi.waitFor(
        () => {
          if (npm.exitCode !== null) throw new Error(`npm start ended:\n${output()}`);
          if (!output().includes('The service runs on')) throw new Error(`npm start is not ready:\n${output()}`);
        },
        { timeout: 50_000, interval: 100 },
      );
    },
    tree,
    kill: () => {
      for (const pid of [...seen, ...tree()]) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    },
    pidOf: (text) => {
      for (const [pid, { command }] of descendants(npm.pid ?? 0)) {
        const [executable, args] = command.split(/ (.*)/s);
        if (executable?.endsWith('node') === true && args?.includes(text) === true) return pid;
      }
      throw new Error(`npm start runs no ${text}`);
    },
    signal: (signal) => npm.kill(signal),
    ctrlC: () => {
      if (npm.pid !== undefined) process.kill(-npm.pid, 'SIGINT');
    },
  };
};

// Tests may run under npm themselves; its variables are about that run.
/** This machine's environment without settings of the service. */
export const bareEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(npm_|VITEST|NODE_ENV)/.test(name) && !Object.hasOwn(settingSchemas, name),
    ),
  );

/** The processes below a process, however deep. */
const descendants = (ancestor: number): ReadonlyMap<number, ProcessEntry> => {
  const found = new Map<number, ProcessEntry>();
  const table = processTable();
  for (let size = -1; size < found.size;) {
    size = found.size;
    for (const [pid, entry] of table) if (entry.parent === ancestor || found.has(entry.parent)) found.set(pid, entry);
  }
  return found;
};
