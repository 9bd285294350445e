import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { describe, expect, it } from 'vitest';

import { cloudEvent } from '../http/cloud-event.ts';
import { ownDirectory, send } from './running.ts';
import { ScriptedService } from './scripted-service.ts';

const event = (id: string): string => JSON.stringify(cloudEvent({ data: { event_id: id } }));

describe('npm run send', () => {
  it('reads NDJSON, arrays, gzip, a byte order mark and standard input, sends the key in a header, and leaves nothing behind', async () => {
    const keys = new Set<unknown>();
    const service = await ScriptedService.start(({ headers }) => {
      keys.add(headers['x-functions-key']);
      return 'record';
    });
    const directory = ownDirectory();
    await writeFile(join(directory, 'array.json'), `\uFEFF[${event('f-0')},\n${event('f-1')}]`);
    await writeFile(join(directory, 'packed.gz'), gzipSync(`${event('f-2')}\n${event('f-3')}\n`));
    await writeFile(join(directory, 'key'), 'key-from-a-file==\r\n');
    const args = ['array.json', 'packed.gz', '-', '--url', `${service.url}/api/events`, '--key-file', 'key'];
    const { code, summary, said } = await send(args, { cwd: directory, input: Buffer.from(event('f-4')) });

    expect(summary).toMatch(/^recorded {3}5\nunchanged {2}0\nrejected {3}0\ntime {7}\d+\.\d s\n$/);
    expect(code).toBe(0);
    expect([...service.recorder.times.values()]).toEqual([1, 1, 1, 1, 1]);
    expect(keys).toEqual(new Set(['key-from-a-file==']));
    expect(`${summary}${said}`).not.toContain('key-from-a-file');
    expect((await readdir(directory)).toSorted()).toEqual(['array.json', 'key', 'packed.gz']);
  });

  it('--check sends nothing and says what is wrong, and where', async () => {
    const directory = ownDirectory();
    const wrong = JSON.stringify(cloudEvent({ id: '', data: { detection: { smoke: 1 } } }));
    await writeFile(join(directory, 'a.ndjson'), `${event('f-0')}\n${wrong}\nnot JSON\n[${event('f-1')},1]\n`);
    const { code, summary } = await send(['a.ndjson', '--check', '--url', 'http://127.0.0.1:9'], { cwd: directory });
    expect(summary).toMatch(
      /^a\.ndjson:2 id is empty; data\.detection is unknown: .*\na\.ndjson:3 is not JSON\na\.ndjson:4\[1\] must be an object: a CloudEvent\ngood {3}2\nwrong {2}3\n$/,
    );
    expect(code).toBe(1);
    expect(await readdir(directory)).toEqual(['a.ndjson']);
  });

  it('does not follow a redirect, and goes on after a connection that was cut', async () => {
    const service = await ScriptedService.start(({ number }) =>
      number === 1 ? 'reset' : { status: 307, headers: { location: `${service.url}/elsewhere` } },
    );
    const { code, said } = await send(['-', '--url', service.url], { input: Buffer.from(event('f-0')) });
    expect(said).toContain('no connection to the service (UND_ERR_SOCKET)');
    expect(said).toContain('answered with 307');
    expect([code, service.requests]).toEqual([3, 2]);
  });

  it('says before it sends anything what cannot be used, and overwrites nothing', async () => {
    const service = await ScriptedService.start();
    const directory = ownDirectory();
    await writeFile(join(directory, 'a.ndjson'), 'wrong');
    await writeFile(join(directory, 'utf16.json'), `\uFEFF${event('f-0')}`, 'utf16le');
    await writeFile(join(directory, 'precious.json'), '{"precious":true}');
    await writeFile(join(directory, 'b.ndjson'), event('f-0'));
    await writeFile(join(directory, 'b.ndjson.progress.json'), '{"precious":true}');
    const cases: readonly (readonly [readonly string[], string])[] = [
      [['a.ndjson', 'missing.json'], 'missing.json cannot be read.'],
      [['a.ndjson', '.'], 'is a directory'],
      [['utf16.json'], 'is UTF-16'],
      [['a.ndjson', '--rejected', 'precious.json'], 'precious.json exists and is not a file of rejected events'],
      [['b.ndjson'], 'b.ndjson.progress.json is not a progress file'],
      [['a.ndjson', '--key-file', 'missing.key'], 'The key file missing.key cannot be read.'],
      [[], 'FILE is missing.'],
    ];
    const runs = cases.map(async ([args, complaint]) => {
      const { code, said } = await send([...args, '--url', service.url], { cwd: directory });
      expect(said).toContain(complaint);
      expect(code).toBe(2);
    });
    await Promise.all(runs);
    expect(service.requests).toBe(0);
    expect(await readFile(join(directory, 'precious.json'), 'utf8')).toBe('{"precious":true}');
  });
});
