import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { inject, onTestFinished, type TestContext, vi } from 'vitest';

/** A settings file without settings, in place of the machine's own file. */
export const NO_SETTINGS = fileURLToPath(new URL('fixtures/no-settings.json', import.meta.url));

interface Options {
  readonly environment?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/**
 * Starts a program, with exactly this environment.
 *
 * @param detached true: it leads a process group, which gets the signals, as in a terminal
 */
export const startProgram = (
  program: string,
  args: readonly string[],
  { environment = {}, input = '', cwd, detached = false }: Options & { input?: string; detached?: boolean } = {},
  test: Pick<TestContext, 'onTestFinished'> = { onTestFinished },
) => {
  const child = spawn(program, args, { env: environment, cwd, detached });
  let [printed, said] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  // It may end before it has read all of its input.
  child.stdin.on('error', () => undefined).end(input);
  const signal = (name: NodeJS.Signals): void => {
    try {
      process.kill(detached ? -(child.pid ?? NaN) : (child.pid ?? NaN), name);
    } catch {
      // It has ended.
    }
  };
  test.onTestFinished(() => signal('SIGKILL'));
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, printed, said }));
  return { child, signal, ended, output: () => printed + said };
};

/** Starts what `npm run send` runs, in a process. */
export const startSend = (args: readonly string[], options: Parameters<typeof startProgram>[2]) =>
  startProgram(process.execPath, [inject('commands').send, ...args], options);

/** The compiler does not know that a command has set it. */
const exitCodeNow = (): number => Number(process.exitCode ?? 0);

let runs = 0;

/** Runs a command of package.json to its end in this process: a process of its own takes 30 times as long. */
export const run = async (
  command: string,
  args: readonly string[],
  { environment = {}, cwd = process.cwd() }: Options = {},
) => {
  // esbuild starts its service in the working directory of its first import. The directory of a test is soon removed.
  await import('esbuild');
  const { argv, env, exitCode } = process;
  const before = process.cwd();
  let [printed, said] = ['', ''];
  const ended = new Error('The command ends the process.');
  const spies = [
    vi.spyOn(console, 'log').mockImplementation((...line) => void (printed += `${line.join(' ')}\n`)),
    vi.spyOn(console, 'error').mockImplementation((...line) => void (said += `${line.join(' ')}\n`)),
    vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => (printed += String(chunk)) !== ''),
    // A command that watches for signals would watch forever.
    vi.spyOn(process, 'on').mockReturnThis(),
    vi.spyOn(process, 'exit').mockImplementation(() => {
      throw ended;
    }),
  ];
  process.argv = ['node', command, ...args];
  process.env = environment;
  process.exitCode = undefined;
  process.chdir(cwd);
  runs += 1;
  try {
    const url = new URL(`../../${command}?run=${runs}`, import.meta.url);
    await import(url.href).catch((thrown: unknown) => {
      if (thrown !== ended) throw thrown;
    });
    return { code: exitCodeNow(), printed, said };
  } finally {
    process.chdir(before);
    Object.assign(process, { argv, env, exitCode });
    for (const spy of spies) spy.mockRestore();
  }
};
