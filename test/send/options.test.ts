import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { CommandError, readArguments } from '../../infra/command-line.ts';
import { SEND } from '../../infra/send/options.ts';
import { readTarget } from '../../infra/send/target.ts';
import { ownDirectory } from './running.ts';

describe('what npm run send is asked for', () => {
  it('has defaults', () => {
    expect(readArguments(SEND, ['a.ndjson', '-'])).toEqual({
      files: ['a.ndjson', '-'],
      url: 'http://localhost:7071',
      keyFile: undefined,
      rejected: undefined,
      checks: false,
      giveUpAfterMs: 600_000,
      batchSize: 1_000,
      requests: 4,
    });
  });

  it.each([
    [[], 'FILE is missing.'],
    [['a', 'a'], 'A FILE is named twice.'],
    [['a', '--batch', '0'], '--batch must be a whole number from 1 to 5000.'],
    [['a', '--batch', '5001'], '--batch must be'],
    [['a', '--requests', '1e1'], '--requests must be'],
    [['a', '--give-up-after', '-1'], '--give-up-after'],
    [['a', 'b', '--rejected', 'r'], '--rejected is for one FILE only.'],
    [['a', '--rejected', 'a'], '--rejected needs a file of its own.'],
    [['a', '--rejected', ''], '--rejected needs a file of its own.'],
    [['a', '--key', 'secret'], '--key'],
  ])('%j: %s', (args, complaint) => {
    expect(() => readArguments(SEND, args)).toThrow(CommandError);
    expect(() => readArguments(SEND, args)).toThrow(complaint);
    expect(() => readArguments(SEND, args)).toThrow('npm run send -- FILE…');
  });
});

it('gives its help to whoever asks, whatever else is wrong', () => {
  expect(readArguments(SEND, ['--help'])).toBe('help');
  expect(readArguments(SEND, ['-h', '--batch', '0'])).toBe('help');
});

describe('where to send', () => {
  it('is the service, however its address is written', async () => {
    for (const url of ['https://a.example', 'https://a.example/', 'https://a.example/api/events']) {
      expect(await readTarget(url, undefined, {})).toEqual({ url: 'https://a.example', key: undefined });
    }
    expect(await readTarget('http://localhost:7071', undefined, {})).toMatchObject({ url: 'http://localhost:7071' });
  });

  it('takes the key from the file, else from the environment', async () => {
    const file = join(ownDirectory(), 'key');
    await writeFile(file, '\uFEFFfrom-file\n');
    expect(await readTarget('https://a.example', file, { FUNCTION_KEY: 'other' })).toMatchObject({ key: 'from-file' });
    expect(await readTarget('https://a.example', undefined, { FUNCTION_KEY: 'e' })).toMatchObject({ key: 'e' });
  });

  it.each([
    ['http://a.example', 'a function key is not sent in the clear to a.example'],
    ['http://127.0.0.1.a.example', 'a function key is not sent in the clear'],
    ['https://a.example?code=secret', 'no query and no user name'],
    ['https://secret@a.example', 'no query and no user name'],
    ['ftp://a.example', 'must begin with https:// or http://'],
    ['a.example', 'is not a URL'],
  ])('%s with a key: %s', async (url, complaint) => {
    const refused = readTarget(url, undefined, { FUNCTION_KEY: 'secret' });
    await expect(refused).rejects.toThrow(complaint);
    await expect(refused).rejects.not.toThrow('secret');
  });

  it.each(['', 'two words', 'line\nbreak', 'schlüssel'])('%j is no key', async (key) => {
    await expect(readTarget('https://a.example', undefined, { FUNCTION_KEY: key })).rejects.toThrow(
      'FUNCTION_KEY does not hold a function key',
    );
  });

  it('takes http without a key, and for this machine with one', async () => {
    expect(await readTarget('http://a.example', undefined, {})).toMatchObject({ url: 'http://a.example' });
    for (const url of ['http://localhost:1', 'http://127.0.0.1', 'http://[::1]:7071']) {
      expect(await readTarget(url, undefined, { FUNCTION_KEY: 'k' })).toMatchObject({ key: 'k' });
    }
  });
});
