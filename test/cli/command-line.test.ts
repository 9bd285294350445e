import { readFile } from 'node:fs/promises';

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';

import { nodeFault, portOption, readArguments, runCommand, textOption } from '../../infra/cli/command-line.ts';

const COMMAND = {
  help: 'npm run watch -- [--port N] [--data DIR] [NAME ...]\n  Watches.',
  options: { port: { type: 'string', default: '7071' }, data: { type: 'string' } },
  takesPositionals: true,
  values: z.object({
    port: portOption,
    data: textOption('--data needs a directory.'),
    positionals: z.array(z.enum(['ridge', 'peak'], { error: ({ input }) => `There is no ${String(input)}.` })),
  }),
} as const;

describe('a command line', () => {
  it('gives the values, with their defaults', () => {
    const values = { port: 7071, data: 'd', positionals: ['ridge', 'peak'] };
    expect(readArguments(COMMAND, ['--data', 'd', 'ridge', 'peak'])).toEqual(values);
  });

  it('asks for help, whatever else is in it', () => {
    expect(readArguments(COMMAND, ['--port', 'wrong', '-h'])).toBe('help');
  });

  it.each([
    [['--prot', '1'], /Unknown option '--prot'/],
    [['--port'], /'--port <value>' argument missing/],
    [['--port', '65536'], /^65536 is not a port\./],
    [['--port', '80a'], /^80a is not a port\./],
    [['--data', ''], /^--data needs a directory\./],
    [['valley'], /^There is no valley\./],
  ])('%j is refused with the reason and the help', (args, reason) => {
    expect(() => readArguments(COMMAND, args)).toThrow(reason);
    expect(() => readArguments(COMMAND, args)).toThrow(COMMAND.help);
  });
});

it.each([
  ['20.19.5', 'Node 22 or later is needed, and this is Node 20.19.5.'],
  ['22.0.0', undefined],
  ['100.1.0', undefined],
])('on Node %s a command says: %s', (version, said) => {
  expect(nodeFault(version)).toBe(said);
});

/** What is printed while something runs with these arguments in this process, which it does not end. */
const printedBy = async (args: readonly string[], run: () => Promise<unknown>) => {
  const { argv, exitCode } = process;
  process.argv = ['node', 'command', ...args];
  process.exitCode = undefined;
  const printed = vi.spyOn(console, 'log').mockReturnValue(undefined);
  const said = vi.spyOn(console, 'error').mockReturnValue(undefined);
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => {
    throw new Error('This would end the process.');
  });
  onTestFinished(() => {
    process.argv = argv;
    process.exitCode = exitCode;
    for (const spy of [printed, said, exit]) spy.mockRestore();
  });
  await run().catch((error: unknown) => {
    if (exit.mock.calls.length === 0) throw error;
  });
  return { printed: printed.mock.calls.join('\n'), said: said.mock.calls.join('\n'), code: process.exitCode };
};

/** The commands of package.json that run this project's own code, each with its file. */
const commands = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .transform(({ scripts }) =>
    Object.entries(scripts).flatMap(([name, command]) => {
      const [, file] = /^node --import tsx (\S+)$/.exec(command) ?? [];
      return file === undefined ? [] : [{ name, file }];
    }),
  )
  .parse(JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')));

describe('every command of package.json', () => {
  it('is among those that are tried', () => {
    expect(commands.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['start', 'demo', 'audit', 'send', 'export', 'build', 'package', 'bench']),
    );
  });

  it.each(commands)('$name: --help prints its usage and exits with 0', async ({ name, file }) => {
    const { printed, said, code } = await printedBy(
      ['--help'],
      async () => import(new URL(`../../${file}`, import.meta.url).href),
    );
    expect(printed).toMatch(new RegExp(`^npm (run )?${name}\\b`));
    expect([said, code ?? 0]).toEqual(['', 0]);
  });

  it('fails with the reason and its usage for an unknown option, without a stack', async () => {
    const { printed, said, code } = await printedBy(['--degub'], async () =>
      runCommand(COMMAND, async () => undefined),
    );
    expect([printed, code]).toEqual(['', 1]);
    expect(said).toMatch(/^Unknown option '--degub'[^]*\nnpm run watch -- (?![^]*\n\s+at )/);
  });
});
