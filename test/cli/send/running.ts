import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';

import { inject, onTestFinished, type TestContext } from 'vitest';
import { z } from 'zod';

/** How a run of a command ended. */
export interface Ended {
  readonly code: number | null;
  readonly printed: string;
  /** On stderr. */
  readonly said: string;
}

/** A run of a command. */
export interface Run {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

/** Starts a program, with exactly this environment. */
export const startProgram = (
  program: string,
  args: readonly string[],
  { environment = {}, input, cwd }: { environment?: NodeJS.ProcessEnv; input?: Buffer; cwd?: string } = {},
  test: Pick<TestContext, 'onTestFinished'> = { onTestFinished },
): Run => {
  const child = spawn(program, args, { env: environment, cwd });
  let [printed, said] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  // It may end before it has read all of its input.
  child.stdin.on('error', () => undefined).end(input ?? Buffer.alloc(0));
  test.onTestFinished(() => void child.kill('SIGKILL'));
  return {
    child,
    ended: once(child, 'close').then(() => ({ code: child.exitCode, printed, said })),
  };
};

/** Starts what `npm run send`, `export` or `audit` runs. */
export const start = (
  command: 'send' | 'export' | 'audit',
  args: readonly string[],
  options?: Parameters<typeof startProgram>[2],
): Run => startProgram(process.execPath, [inject('commands')[command], ...args], options);

/** Runs one to its end. */
export const run = async (...given: Parameters<typeof start>): Promise<Ended> => start(...given).ended;

const rejectedSchema = z.strictObject({
  reason: z.string(),
  file: z.string(),
  line: z.number(),
  index: z.number().optional(),
  event: z.unknown().optional(),
  text: z.string().optional(),
});

/** The lines of the file of rejected events of a file; `.1` and so on: of one that was kept. */
export const rejectedOf = async (file: string, kept = ''): Promise<readonly z.infer<typeof rejectedSchema>[]> =>
  (await readFile(`${file}.rejected${kept}.ndjson`, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => rejectedSchema.parse(JSON.parse(line)));
