import { expect, it } from 'vitest';
import { z } from 'zod';

import { nodeFault, readArguments } from '../../infra/cli/command-line.ts';
import { demoCommand } from '../../infra/cli/demo/steps.ts';
import { positionIn, readTarget, SEND } from '../../infra/cli/send/options.ts';
import { START } from '../../infra/cli/start/options.ts';
import { readText } from '../docs/markdown.ts';
import { run } from './running.ts';

const url = new URL('http://localhost:7071');

it('a command line gives the values, with their defaults', () => {
  expect(readArguments(START, ['--data', 'd'])).toMatchObject({ port: 7071, data: 'd', phone: 'acs', lines: 2 });
  const defaults = { url, batch: 1_000, requests: 4, 'give-up-after': 600 };
  expect(readArguments(SEND, ['a', 'b'])).toMatchObject({ positionals: ['a', 'b'], ...defaults });
  const demo = demoCommand(Date.parse('2026-11-21T00:00:01Z'));
  expect(readArguments(demo, [])).toEqual({ url, date: '2026-11-20' });
  expect(() => readArguments(demo, ['--date', '2026-11-22'])).toThrow('2026-11-22 is outside 2000-01-01 to today.');
});

it.each([
  ['demo', '--url localhost', '--url is not an http or https URL.'],
  ['export', '--port', "Option '--port <value>' argument missing"],
  ['export', '--port 65536', '65536 is not a port.'],
  ['export', '--port 80a', '80a is not a port.'],
  ['export', '--settings= --date 2026-03-14', '--settings needs a file.'],
  ['audit', '', '--date is missing.'],
  ['audit', '--date 2026-02-30', '2026-02-30 is not a day that exists'],
  ['audit', '--date 2026-03-14 --yes', '--yes goes with --rebuild or --unseal.'],
  ['audit', '--date 2026-03-14 --rebuild --unseal', '--unseal does not go with --rebuild.'],
  ['audit', '--date 2026-03-14 --unseal --without-unreadable', '--without-unreadable goes with --rebuild.'],
  ['send', '', 'FILE is missing.'],
  ['send', 'a a', 'A FILE is named twice.'],
  ['send', 'a --batch 0', '--batch must be an integer from 1 to 5000.'],
  ['send', 'a --key secret', "Unknown option '--key'"],
  ['send', 'a --url ftp://a.example', '--url is not an http or https URL.'],
  ['send', 'a --from 2026-11-01', '--from needs FILE:ITEM'],
  ['send', 'a --from a:0', '--from needs FILE:ITEM'],
  ['send', 'a --to 2026-11-01', '--to goes with --backup.'],
  ['send', 'a --backup', '--backup takes days, and no FILE.'],
  ['send', '--backup --from 2026-11-31', '--from needs a day'],
  ['send', '--backup --from 2026-11-02 --to 2026-11-01', '--to is before --from.'],
])('npm run %s -- %s is refused with the reason and the usage: %s', async (command, line, reason) => {
  const { printed, said, code } = await run(`infra/cli/${command}.ts`, line === '' ? [] : line.split(' '));
  expect([printed, code]).toEqual(['', command === 'demo' ? 1 : 2]);
  expect(said).toContain(reason);
  expect(said).toContain(`\nnpm run ${command} -- `);
});

const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(readText('package.json')));

it.each(['start', 'demo', 'audit', 'send', 'export', 'build', 'package', 'bench', 'mutants'])(
  '%s: --help prints its usage, and an unknown option its usage without a stack',
  async (name) => {
    const file = scripts[name]?.split(' ').at(-1) ?? '';
    const usage = new RegExp(`^npm (run )?${name}\\b`, 'm');
    expect(await run(file, ['--help'])).toEqual({ code: 0, printed: expect.stringMatching(usage), said: '' });
    const { printed, said } = await run(file, ['--degub']);
    expect(printed).toBe('');
    expect(said).toMatch(/^Unknown option '--degub'(?![^]*\n\s+at )/);
    expect(said).toMatch(usage);
  },
);

it('the commands need Node 22', () => {
  expect(nodeFault('20.19.5')).toBe('Node 22 or later is needed, and this is Node 20.19.5.');
  expect(['22.0.0', '100.1.0'].map(nodeFault)).toEqual([undefined, undefined]);
});

it('a position names an item of a file, also on Windows and of standard input', () => {
  expect(positionIn('C:\\a\\b.ndjson:501')).toEqual({ name: 'C:\\a\\b.ndjson', item: 501 });
  expect(positionIn('-:7')).toEqual({ name: '-', item: 7 });
});

it.each([
  ['https://a.example', 'k', /^https:\/\/a\.example with k$/],
  ['https://a.example/api/events', 'k', /^https:\/\/a\.example with k$/],
  ['http://a.example', undefined, /^http:\/\/a\.example with undefined$/],
  ['http://localhost:1', 'k', /^http:\/\/localhost:1 with k$/],
  ['http://[::1]:7071', 'k', /^http:\/\/\[::1\]:7071 with k$/],
  ['http://a.example', 'secret', /a function key is not sent in the clear to a\.example/],
  ['http://127.0.0.1.a.example', 'secret', /a function key is not sent in the clear/],
  ['https://a.example?code=secret', 'secret', /no query and no user name/],
  ['https://secret@a.example', 'secret', /no query and no user name/],
  ['https://a.example', '', /FUNCTION_KEY does not hold a function key/],
  ['https://a.example', 'secret words', /FUNCTION_KEY does not hold a function key/],
  ['https://a.example', 'schlüsselsecret', /FUNCTION_KEY does not hold a function key/],
])('events for %s with the key %j go to %s, or an error names no key', async (given, key, expected) => {
  const environment = key === undefined ? {} : { FUNCTION_KEY: key };
  const target = await readTarget(new URL(given), undefined, environment).then(
    (found) => `${found.url} with ${found.key}`,
    String,
  );
  expect(target).toMatch(expected);
  expect(target).not.toContain('secret');
});
