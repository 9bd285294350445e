import { parseArgs } from 'node:util';

import { z } from 'zod';

import { isDay } from '../../src/analytics/model/day.ts';

export interface Command<Values> {
  /** The text of `--help`: the usage in its first line, then a line per option. A usage error prints it as well. */
  readonly help: string;
  /**
   * An object with a schema for each option except `--help`: {@link flagOption} for an option without a value. `positionals` has the arguments that
   * are not options. The message of an issue is the whole sentence that the operator reads.
   */
  readonly values: z.ZodType<Values> & { readonly shape: Readonly<Record<string, z.ZodType>> };
}

/** An error for the operator who runs a command. Its stack would not help: only the message is printed. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  /** The exit code of the process; undefined: the exit code that the command has for other failures. */
  readonly exitCode: number | undefined;

  constructor(message: string, { exitCode, ...options }: ErrorOptions & { readonly exitCode?: number } = {}) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** Whether an error of the file system says that there is no such file. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

export const flagOption = z.boolean().default(false);

/** The value of an option that is a TCP port, 7071 by default. */
export const portOption = z
  .string()
  .refine((text) => /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535, {
    error: ({ input }) => `${String(input)} is not a port.`,
  })
  .transform(Number)
  .prefault('7071');

export const dayOption = z.string().refine(isDay, {
  error: ({ input }) => `${String(input)} is not a day that exists, written YYYY-MM-DD.`,
  abort: true,
});

/** The value of `--url`. The message does not quote it: it may hold a key by mistake. */
export const urlOption = z
  .url({ protocol: /^https?$/, error: '--url is not an http or https URL.' })
  .transform((text) => new URL(text))
  .prefault('http://localhost:7071');

/** The value of an option that may be left out but must not be empty. `whatItNeeds` is the sentence for an empty value. */
export const textOption = (whatItNeeds: string) => z.string().min(1, whatItNeeds).optional();

export const numberOption = (name: string, least: number, most: number) =>
  z
    .string()
    .refine((text) => /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most, {
      error: `--${name} must be an integer from ${least} to ${most}.`,
    })
    .transform(Number);

/**
 * The values of a command line.
 *
 * @param args what follows the command, as in `process.argv.slice(2)`
 * @returns `'help'` if `--help` is among them
 * @throws {CommandError} that says what is wrong, and the help after it
 */
export const readArguments = <Values>(command: Command<Values>, args: readonly string[]): Values | 'help' => {
  const usageError = (message: string, cause?: unknown): CommandError =>
    new CommandError(`${message}\n${command.help}`, { cause });
  try {
    const { positionals: takesPositionals, ...schemas } = command.values.shape;
    const options = Object.entries(schemas).map(([name, schema]) => {
      const isFlag = schema.safeParse(true).success;
      return [name, { type: isFlag ? 'boolean' : 'string' }] as const;
    });
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { ...Object.fromEntries(options), help: { type: 'boolean', short: 'h' } },
      allowPositionals: takesPositionals !== undefined,
    });
    if (values['help'] === true) return 'help';
    const { success, data, error } = command.values.safeParse({ ...values, positionals });
    if (success) return data;
    throw usageError(error.issues.map(({ message }) => message).join('\n'));
  } catch (error) {
    if (error instanceof CommandError || !(error instanceof TypeError)) throw error;
    throw usageError(error.message, error);
  }
};

/** The first Node that runs the commands and the service. */
const LEAST_NODE = 22;

/**
 * Why the commands do not run on this Node; undefined if they do.
 *
 * @param version as in `process.versions.node`
 */
export const nodeFault = (version: string): string | undefined =>
  Number.parseInt(version) >= LEAST_NODE
    ? undefined
    : `Node ${LEAST_NODE} or later is needed, and this is Node ${version}.`;

export interface FailureReport {
  /** The exit code of a command that failed, unless its {@link CommandError} has an exit code; 1 by default. */
  readonly exitCode?: number;
  /** The text for an error that is not a {@link CommandError}; undefined prints the error with its stack. */
  readonly describe?: (error: unknown) => string | undefined;
}

/**
 * Runs a command with the arguments of this process: prints the help for `--help`, a message for a {@link CommandError},
 * and sets the exit code. It checks the version of Node first.
 *
 * @param work gets the values of the command line and returns the exit code; 0 if it returns nothing
 */
export const runCommand = async <Values>(
  command: Command<Values>,
  work: (values: Values) => Promise<number | void>,
  { exitCode = 1, describe }: FailureReport = {},
): Promise<void> => {
  const fault = nodeFault(process.versions.node);
  if (fault !== undefined) {
    console.error(fault);
    process.exitCode = 1;
    return;
  }
  try {
    const values = readArguments(command, process.argv.slice(2));
    if (values === 'help') console.log(command.help);
    else process.exitCode = (await work(values)) ?? 0;
  } catch (error) {
    console.error(error instanceof CommandError ? error.message : (describe?.(error) ?? error));
    process.exitCode = error instanceof CommandError ? (error.exitCode ?? exitCode) : exitCode;
  }
};
