import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { inject, onTestFinished } from 'vitest';
import { z } from 'zod';

/** How a run of `npm run send` ended. */
export interface Ended {
  readonly code: number | null;
  readonly summary: string;
  readonly said: string;
}

/** A run of `npm run send`. */
export interface Run {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Fulfils when it has said this on stderr. */
  hasSaid(what: string | RegExp): Promise<void>;
}

/** Starts what `npm run send` runs, with exactly this environment. */
export const startSend = (
  args: readonly string[],
  { environment = {}, input, cwd }: { environment?: Record<string, string>; input?: Buffer; cwd?: string } = {},
): Run => {
  const child = spawn(process.execPath, [inject('commands').send, ...args], {
    env: environment,
    cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let [summary, said] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (summary += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  // It may end before it has read all of its input.
  child.stdin.on('error', () => undefined).end(input ?? Buffer.alloc(0));
  onTestFinished(() => void child.kill('SIGKILL'));
  return {
    child,
    ended: once(child, 'close').then(() => ({ code: child.exitCode, summary, said })),
    hasSaid: async (what) => {
      while (typeof what === 'string' ? !said.includes(what) : !what.test(said)) await once(child.stderr, 'data');
    },
  };
};

/** Runs what `npm run send` runs to its end. */
export const send = async (...given: Parameters<typeof startSend>): Promise<Ended> => startSend(...given).ended;

/** A directory for one test. */
export const ownDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'wildfire-camera-activity-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
};

const rejectedSchema = z.strictObject({
  reason: z.string(),
  file: z.string(),
  line: z.number(),
  index: z.number().optional(),
  event: z.unknown().optional(),
  text: z.string().optional(),
});

/** The lines of a file of rejected events. */
export const rejectedIn = async (path: string): Promise<readonly z.infer<typeof rejectedSchema>[]> =>
  (await readFile(path, 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => rejectedSchema.parse(JSON.parse(line)));
