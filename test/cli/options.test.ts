import { describe, expect, it } from 'vitest';

import { positionIn, readTarget } from '../../infra/cli/send/options.ts';

it.each([
  ['history.ndjson:501', { name: 'history.ndjson', item: 501 }],
  ['C:\\a\\b.ndjson:1', { name: 'C:\\a\\b.ndjson', item: 1 }],
  ['-:7', { name: '-', item: 7 }],
  ['a:0', undefined],
  ['2026-11-01', undefined],
])('%s is the position %j', (text, position) => {
  expect(positionIn(text)).toEqual(position);
});

describe('where to send', () => {
  it.each([
    ['https://a.example', 'https://a.example', 'k'],
    ['https://a.example/api/events', 'https://a.example', 'k'],
    ['http://a.example', 'http://a.example', undefined],
    ['http://localhost:1', 'http://localhost:1', 'k'],
    ['http://[::1]:7071', 'http://[::1]:7071', 'k'],
  ])('%s is %s, with the key %s', async (url, expected, key) => {
    const environment = key === undefined ? {} : { FUNCTION_KEY: key };
    expect(await readTarget(url, undefined, environment)).toEqual({ url: expected, key });
  });

  it.each([
    ['http://a.example', 'secret', 'a function key is not sent in the clear to a.example'],
    ['http://127.0.0.1.a.example', 'secret', 'a function key is not sent in the clear'],
    ['https://a.example?code=secret', 'secret', 'no query and no user name'],
    ['https://secret@a.example', 'secret', 'no query and no user name'],
    ['ftp://a.example', 'secret', 'must begin with https:// or http://'],
    ['a.example', 'secret', 'is not a URL'],
    ['https://a.example', '', 'FUNCTION_KEY does not hold a function key'],
    ['https://a.example', 'secret words', 'FUNCTION_KEY does not hold a function key'],
    ['https://a.example', 'schlüsselsecret', 'FUNCTION_KEY does not hold a function key'],
  ])('%s with the key %j: %s', async (url, key, complaint) => {
    const refused = readTarget(url, undefined, { FUNCTION_KEY: key });
    await expect(refused).rejects.toThrow(complaint);
    await expect(refused).rejects.not.toThrow('secret');
  });
});
