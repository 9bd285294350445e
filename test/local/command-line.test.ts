import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { portOption, readArguments, textOption } from '../../infra/command-line.ts';

const run = promisify(execFile);

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
    expect(readArguments(COMMAND, ['--data', 'd', 'ridge', 'peak'])).toEqual({
      port: 7071,
      data: 'd',
      positionals: ['ridge', 'peak'],
    });
    expect(readArguments(COMMAND, ['--port=1'])).toEqual({ port: 1, positionals: [] });
  });

  it.each([[['--help']], [['-h']], [['--port', 'wrong', '--help']]])('%j asks for help', (args) => {
    expect(readArguments(COMMAND, args)).toBe('help');
  });

  it.each([
    [['--prot', '1'], /Unknown option '--prot'/],
    [['--port'], /'--port <value>' argument missing/],
    [['--port', '0'], /^0 is not a port\./],
    [['--port', '65536'], /^65536 is not a port\./],
    [['--port', '80a'], /^80a is not a port\./],
    [['--data', ''], /^--data needs a directory\./],
    [['valley'], /^There is no valley\./],
  ])('%j is refused with the reason and the help', (args, reason) => {
    expect(() => readArguments(COMMAND, args)).toThrow(reason);
    expect(() => readArguments(COMMAND, args)).toThrow(COMMAND.help);
  });

  it('without positionals refuses them', () => {
    expect(() => readArguments({ help: '', options: {}, values: z.object({}) }, ['ridge'])).toThrow("'ridge'");
  });
});

/** The commands of package.json that run this project's own code, without npm in between. */
const scripts = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .transform(({ scripts: all }) =>
    Object.entries(all).flatMap(([name, command]) => {
      const [, args] = /^node (.+)$/.exec(command) ?? [];
      return args === undefined ? [] : [{ name, args: args.split(' ') }];
    }),
  )
  .parse(JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')));

describe('every command of package.json', () => {
  it('is among those that are tried', () => {
    expect(scripts.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['start', 'demo', 'audit', 'screenshot', 'build', 'build:debug', 'package', 'bench']),
    );
  });

  it.each(scripts)('$name: --help prints its usage and exits with 0', async ({ name, args }) => {
    const { stdout, stderr } = await run(process.execPath, [...args, '--help']);

    expect(stdout).toMatch(new RegExp(`^npm (run )?${name.replace(':debug', '')}\\b`));
    expect(stderr).toBe('');
  });

  it('fails with the reason and its usage for an unknown option, without a stack', async () => {
    const build = run(process.execPath, ['--import', 'tsx', 'infra/build.ts', '--degub']);

    await expect(build).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^Unknown option '--degub'[^]*\nnpm run build -- \[--debug\]\n(?![^]*\n\s+at )/),
    });
  });
});
