import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { TableClient } from '@azure/data-tables';
import { inject, onTestFinished } from 'vitest';

import { ownTablesPrefix } from '../harness/app.ts';
import { buildCommand } from '../harness/commands.ts';

/** How a command ended. */
export interface Ended {
  readonly code: number | null;
  readonly said: string;
  readonly complained: string;
}

/** A storage as a command is told of it. */
export interface Storage {
  readonly connectionString: string;
  readonly prefix: string;
}

/** A storage of one test: tables of its own in the Azurite of the run. */
export const ownStorage = (): Storage => ({
  connectionString: inject('tablesConnectionString'),
  prefix: ownTablesPrefix(),
});

/** The table of the counters there. */
export const counterTable = ({ connectionString, prefix }: Storage): TableClient =>
  TableClient.fromConnectionString(connectionString, `${prefix}analytics`, { allowInsecureConnection: true });

/** A directory for one test. */
export const ownDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'wildfire-camera-activity-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
};

const COMMANDS = { export: await buildCommand('export'), import: await buildCommand('import') };

/** Starts what `npm run export` or `npm run import` runs, against this storage only. */
export const start = (command: 'export' | 'import', { connectionString, prefix }: Storage, args: readonly string[]) => {
  const settings = join(ownDirectory(), 'settings.json');
  writeFileSync(settings, JSON.stringify({ Values: {} }));
  const child = spawn(process.execPath, [COMMANDS[command], '--settings', settings, ...args], {
    env: { TABLES_CONNECTION_STRING: connectionString, TABLES_PREFIX: prefix },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended: Promise<Ended> = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]).then(
    ([said, complained]) => ({ code: child.exitCode, said, complained }),
  );
  return { kill: () => void child.kill('SIGKILL'), ended };
};

/** Runs it to its end. */
export const run = async (...given: Parameters<typeof start>): Promise<Ended> => start(...given).ended;
