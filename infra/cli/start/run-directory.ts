import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { z } from 'zod';

const runNoteSchema = z.object({
  /** The URL of the simulated phone; undefined if the phone is real or off. */
  simulatorUrl: z.string().optional(),
  /** The settings that name the run's own Azurite and its tables; undefined if it uses another storage. */
  tables: z.record(z.string(), z.string()).optional(),
});

/** The file that a local run writes for the demo and the audit. It holds no secrets. */
export type RunNote = z.infer<typeof runNoteSchema>;

/**
 * The directory of the local run on a port. Runs on two ports share no file, and no run writes the bundle that `npm run build` makes:
 * otherwise a debug bundle could be deployed by mistake.
 */
export const runDirectory = (port: number): string =>
  fileURLToPath(new URL(`../../../dist/local-${port}/`, import.meta.url));

const noteFile = (port: number): string => join(runDirectory(port), 'run.json');

/** Writes the note of the run on this port; it is removed when the run ends. */
export const writeRunNote = async (port: number, note: RunNote): Promise<void> => {
  await mkdir(runDirectory(port), { recursive: true });
  await writeFile(noteFile(port), JSON.stringify(note));
};

/** The note of the run on this port; undefined if no run of this repository uses the port. */
export const readRunNote = async (port: number): Promise<RunNote | undefined> => {
  const text = await readFile(noteFile(port), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : runNoteSchema.parse(JSON.parse(text));
};

/** The URL of the simulated phone of the local run that serves this URL; undefined if the phone is real or off. */
export const simulatorOf = async (service: URL): Promise<string | undefined> =>
  ['localhost', '127.0.0.1'].includes(service.hostname)
    ? (await readRunNote(Number(service.port)))?.simulatorUrl
    : undefined;

export const removeRunDirectory = async (port: number): Promise<void> => {
  // Windows refuses to remove a file that another process, such as a virus scanner, has open.
  await rm(runDirectory(port), { recursive: true, force: true, maxRetries: 5 });
};
