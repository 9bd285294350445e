import { parseArgs } from 'node:util';

/** What `npm start` was asked for. */
export interface StartOptions {
  /** Where the functions are served. */
  readonly port: number;
  /** The directory that keeps the tables between runs; undefined: they are in memory. */
  readonly dataDir: string | undefined;
  /** A file like local.settings.json; undefined: the repository's own, if there is one. */
  readonly settingsFile: string | undefined;
}

/** Something to tell the person who started this; its stack would not help. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

const USAGE = `npm start -- [--port N] [--data DIR] [--settings FILE]
  --port N         where the functions are served, 1 to 65535; 7071 by default
  --data DIR       keeps the tables there between runs; in memory by default
  --settings FILE  settings as in local.settings.json, which is the default where it exists`;

/**
 * The options of `npm start`.
 *
 * @param args what follows `--` on the command line
 * @throws {StartError} that names what is wrong and says what there is
 */
export const readStartOptions = (args: readonly string[]): StartOptions => {
  const { port, data, settings } = parsed(args);
  if (!/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535) throw new StartError(`${port} is not a port.\n${USAGE}`);
  if (data === '') throw new StartError(`--data needs a directory.\n${USAGE}`);
  if (settings === '') throw new StartError(`--settings needs a file.\n${USAGE}`);
  return { port: Number(port), dataDir: data, settingsFile: settings };
};

const OPTIONS = {
  port: { type: 'string', default: '7071' },
  data: { type: 'string' },
  settings: { type: 'string' },
} as const;

const parsed = (args: readonly string[]) => {
  try {
    return parseArgs({ args: [...args], options: OPTIONS }).values;
  } catch (error) {
    throw new StartError(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`, { cause: error });
  }
};
