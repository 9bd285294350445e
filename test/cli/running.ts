import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { inject, onTestFinished, type TestContext, vi } from 'vitest';
import { z } from 'zod';

import { settingSchemas } from '../../src/settings.ts';

/** A settings file without settings, in place of the machine's own file. */
export const NO_SETTINGS = fileURLToPath(new URL('fixtures/no-settings.json', import.meta.url));

/**
 * This machine's environment without settings of the service: they may name real storage and a real ACS. Tests may run under npm, whose variables are
 * about that run.
 */
export const bareEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(npm_|VITEST|NODE_ENV)/.test(name) && !Object.hasOwn(settingSchemas, name),
    ),
  );

/** How a run of a command ended. */
interface Ended {
  readonly code: number | null;
  readonly printed: string;
  /** On stderr. */
  readonly said: string;
}

interface Options {
  readonly environment?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** Starts a program, with exactly this environment. */
export const startProgram = (
  program: string,
  args: readonly string[],
  { environment = {}, input, cwd }: Options & { readonly input?: Buffer } = {},
  test: Pick<TestContext, 'onTestFinished'> = { onTestFinished },
): { readonly child: ChildProcess; readonly ended: Promise<Ended> } => {
  const child = spawn(program, args, { env: environment, cwd });
  let [printed, said] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  // It may end before it has read all of its input.
  child.stdin.on('error', () => undefined).end(input ?? Buffer.alloc(0));
  test.onTestFinished(() => void child.kill('SIGKILL'));
  return { child, ended: once(child, 'close').then(() => ({ code: child.exitCode, printed, said })) };
};

/** Starts what `npm run send` runs, in a process. */
export const startSend = (args: readonly string[], options?: Parameters<typeof startProgram>[2]) =>
  startProgram(process.execPath, [inject('commands').send, ...args], options);

/** The compiler does not know that a command has set it. */
const exitCodeNow = (): number => Number(process.exitCode ?? 0);

let runs = 0;

/** Runs a command of package.json to its end in this process: a process of its own takes 30 times as long. */
export const run = async (
  command: string,
  args: readonly string[],
  { environment = {}, cwd = process.cwd() }: Options = {},
): Promise<Ended> => {
  // esbuild starts its service in the working directory of its first import. The directory of a test is soon removed.
  await import('esbuild');
  const { argv, env, exitCode } = process;
  const before = process.cwd();
  let [printed, said] = ['', ''];
  const log = vi.spyOn(console, 'log').mockImplementation((...line) => void (printed += `${line.join(' ')}\n`));
  const error = vi.spyOn(console, 'error').mockImplementation((...line) => void (said += `${line.join(' ')}\n`));
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    printed += String(chunk);
    return true;
  });
  const ended = new Error('The command ends the process.');
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => {
    throw ended;
  });
  // A command that watches for signals would watch forever.
  const on = vi.spyOn(process, 'on').mockReturnThis();
  process.argv = ['node', command, ...args];
  process.env = environment;
  process.exitCode = undefined;
  process.chdir(cwd);
  runs += 1;
  try {
    await import(`${new URL(`../../${command}`, import.meta.url).href}?run=${runs}`).catch((thrown: unknown) => {
      if (thrown !== ended) throw thrown;
    });
    return { code: exitCodeNow(), printed, said };
  } finally {
    process.chdir(before);
    Object.assign(process, { argv, env, exitCode });
    for (const spy of [log, error, write, exit, on]) spy.mockRestore();
  }
};

const rejectedSchema = z.strictObject({
  reason: z.string(),
  file: z.string(),
  line: z.number(),
  index: z.number().optional(),
  event: z.unknown().optional(),
  text: z.string().optional(),
});

/** The lines of the file of rejected events of a file; `.1` and so on: of an older file that was kept. */
export const rejectedOf = async (file: string, kept = ''): Promise<readonly z.infer<typeof rejectedSchema>[]> =>
  (await readFile(`${file}.rejected${kept}.ndjson`, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => rejectedSchema.parse(JSON.parse(line)));
