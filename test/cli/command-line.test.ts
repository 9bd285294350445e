import { expect, it } from 'vitest';
import { z } from 'zod';

import { AUDIT } from '../../infra/cli/audit/options.ts';
import { nodeFault, portOption, readArguments, textOption } from '../../infra/cli/command-line.ts';
import { demoCommand } from '../../infra/cli/demo/steps.ts';
import { SEND } from '../../infra/cli/send/options.ts';
import { readText } from '../docs/markdown.ts';
import { run } from './running.ts';

const COMMAND = {
  help: 'npm run watch -- [--port N] [--data DIR] [NAME ...]\n  Watches.',
  values: z.object({
    port: portOption,
    data: textOption('--data needs a directory.'),
    positionals: z.array(z.enum(['ridge', 'peak'], { error: ({ input }) => `There is no ${String(input)}.` })),
  }),
} as const;
const DEMO = demoCommand(Date.parse('2026-11-21T00:00:01Z'));

it('a command line gives the values, with their defaults; --help among them gives the help', () => {
  const values = { port: 7071, data: 'd', positionals: ['ridge', 'peak'] };
  expect(readArguments(COMMAND, ['--data', 'd', 'ridge', 'peak'])).toEqual(values);
  expect(readArguments(COMMAND, ['--port', 'wrong', '-h'])).toBe('help');
  expect(readArguments(SEND, ['a'])).toMatchObject({ batch: 1_000, requests: 4, 'give-up-after': 600 });
  expect(readArguments(DEMO, [])).toEqual({ url: new URL('http://localhost:7071'), date: '2026-11-20' });
});

it.each([
  [COMMAND, '--prot 1', "Unknown option '--prot'"],
  [COMMAND, '--port', "'--port <value>' argument missing"],
  [COMMAND, '--port 65536', '65536 is not a port.'],
  [COMMAND, '--port 80a', '80a is not a port.'],
  [COMMAND, '--data=', '--data needs a directory.'],
  [COMMAND, 'valley', 'There is no valley.'],
  [AUDIT, '', '--date is missing.'],
  [AUDIT, '--date 2026-02-30', '2026-02-30 is not a day that exists'],
  [AUDIT, '--date 2026-03-14 --yes', '--yes, --shards and --without-unreadable go with --rewrite.'],
  [AUDIT, '--date 2026-03-14 --rewrite --shards 65', '--shards must be a whole number from 1 to 64.'],
  [DEMO, '--date 2026-11-22', '2026-11-22 is outside 2000-01-01 to today.'],
  [DEMO, '--url localhost', 'localhost is not a URL.'],
  [SEND, '', 'FILE is missing.'],
  [SEND, 'a a', 'A FILE is named twice.'],
  [SEND, 'a --batch 0', '--batch must be a whole number from 1 to 5000.'],
  [SEND, 'a --key secret', "Unknown option '--key'"],
  [SEND, 'a --from 2026-11-01', '--from needs FILE:ITEM'],
  [SEND, 'a --from b:1', '--from names b, which is not one of the given files.'],
  [SEND, 'a --to 2026-11-01', '--to goes with --backup.'],
  [SEND, 'a --backup', '--backup takes days, and no FILE.'],
  [SEND, '--backup --from 2026-11-31', '--from needs a day'],
  [SEND, '--backup --from 2026-11-02 --to 2026-11-01', '--to is before --from.'],
])('%o %s is refused with the reason and the help: %s', (command, line, reason) => {
  const read = () => readArguments<unknown>(command, line === '' ? [] : line.split(' '));
  expect(read).toThrow(reason);
  expect(read).toThrow(command.help);
});

it.each([
  ['20.19.5', 'Node 22 or later is needed, and this is Node 20.19.5.'],
  ['22.0.0', undefined],
  ['100.1.0', undefined],
])('on Node %s a command says: %s', (version, said) => {
  expect(nodeFault(version)).toBe(said);
});

/** The commands of package.json that run this project's own code, each with its file. */
const commands = Object.entries(
  z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(readText('package.json'))).scripts,
).flatMap(([name, command]) => {
  const [, file] = /^node --import tsx (\S+)$/.exec(command) ?? [];
  return file === undefined ? [] : [{ name, file }];
});

it('every command of package.json is tried', () => {
  const names = ['start', 'demo', 'audit', 'send', 'export', 'build', 'package', 'bench'];
  expect(commands.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
});

it.each(commands)(
  '$name: --help prints its usage, and an unknown option its usage without a stack',
  async ({ name, file }) => {
    const usage = new RegExp(`^npm (run )?${name}\\b`, 'm');
    expect(await run(file, ['--help'])).toEqual({ code: 0, printed: expect.stringMatching(usage), said: '' });
    const { code, printed, said } = await run(file, ['--degub']);
    expect([printed, code]).toEqual(['', name === 'audit' || name === 'send' || name === 'export' ? 2 : 1]);
    expect(said).toMatch(/^Unknown option '--degub'(?![^]*\n\s+at )/);
    expect(said).toMatch(usage);
  },
);
