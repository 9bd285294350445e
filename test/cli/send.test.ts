import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { expect, it, onTestFinished } from 'vitest';

import { all } from '../analytics/counting.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { cloudEvent } from '../http/cloud-event.ts';
import { rejectedOf, run, startSend } from './running.ts';
import { ScriptedService } from './scripted-service.ts';

const event = (id: string): string => JSON.stringify(cloudEvent({ data: { event_id: id } }));

/** A directory with these files. */
const directoryOf = async (files: Readonly<Record<string, string | Buffer>>): Promise<string> => {
  const cwd = ownDirectory();
  for (const [name, content] of Object.entries(files)) await writeFile(join(cwd, name), content);
  return cwd;
};

const send = async (args: readonly string[], cwd: string, environment: NodeJS.ProcessEnv = {}) =>
  run('infra/cli/send.ts', args, { cwd, environment });

it('npm run send reads NDJSON, arrays, gzip, a byte order mark and standard input, sends the key in a header, and leaves nothing behind', async () => {
  const keys = new Set<unknown>();
  const service = await ScriptedService.start(({ number, headers }) => {
    keys.add(headers['x-functions-key']);
    return number === 1 ? 'reset' : 'record';
  });
  const cwd = await directoryOf({
    'array.json': `\uFEFF[${event('f-0')},\n${event('f-1')}]`,
    'packed.gz': gzipSync(`${event('f-2')}\n${event('f-3')}\n`),
    key: '\uFEFFkey-from-a-file==\r\n',
  });
  const args = ['array.json', 'packed.gz', '-', '--url', `${service.url}/api/events`, '--key-file', 'key'];
  const environment = { FUNCTION_KEY: 'another-key' };
  const { code, printed, said } = await startSend(args, { cwd, environment, input: event('f-4') }).ended;

  expect(printed).toMatch(/^recorded {3}5\nunchanged {2}0\nrejected {3}0\ntime {7}\d+\.\d s\n$/);
  expect(said).toContain('no connection to the service (UND_ERR_SOCKET)');
  expect(code).toBe(0);
  expect([...service.times.values()]).toEqual([1, 1, 1, 1, 1]);
  expect(keys).toEqual(new Set(['key-from-a-file==']));
  expect(`${printed}${said}`).not.toContain('key-from-a-file');
  expect((await readdir(cwd)).toSorted()).toEqual(['array.json', 'key', 'packed.gz']);
});

it('--check sends nothing, and says what is wrong, and where', async () => {
  const wrong = JSON.stringify(cloudEvent({ id: '', data: { detection: { smoke: 1 } } }));
  const cwd = await directoryOf({ 'a.ndjson': `${event('f-0')}\n${wrong}\nnot JSON\n[${event('f-1')},1]\n` });
  const { code, printed } = await send(['a.ndjson', '--check', '--url', 'http://127.0.0.1:9'], cwd);
  expect(printed).toMatch(
    /^a\.ndjson:2 id is empty; data\.detection is unknown: .*\na\.ndjson:3 is not JSON\na\.ndjson:4\[1\] must be an object: a CloudEvent\ngood {3}2\nwrong {2}3\n$/,
  );
  expect(code).toBe(1);
  expect(await readdir(cwd)).toEqual(['a.ndjson']);
});

it('names what it cannot use before it sends anything', async () => {
  const service = await ScriptedService.start();
  const cwd = await directoryOf({
    'b.ndjson': event('f-0'),
    'utf16.json': Buffer.from(`\uFEFF${event('f-0')}`, 'utf16le'),
  });
  for (const [args, complaint] of [
    [['b.ndjson', 'missing.json'], 'missing.json cannot be read.'],
    [['b.ndjson', '.'], 'is a directory'],
    [['utf16.json'], 'is UTF-16'],
    [['b.ndjson', '--key-file', 'missing.key'], 'The key file missing.key cannot be read.'],
  ] as const) {
    const { code, said } = await send([...args, '--url', service.url], cwd);
    expect([code, said]).toEqual([2, expect.stringContaining(complaint)]);
  }
  expect(service.requests).toBe(0);
});

// Windows ends a process at once.
const isWindows = process.platform === 'win32';

it.skipIf(isWindows)(
  'Ctrl-C stops even a wait, and says where to resume; all of it again changes nothing',
  async () => {
    const toStop = Promise.withResolvers<void>();
    const service = await ScriptedService.start(({ number }) => {
      if (number !== 5) return 'record';
      toStop.resolve();
      return { status: 503, headers: { 'retry-after': '60' } };
    });
    const events = all(100).map((at) => (at % 50 === 49 ? '{"wrong":1}' : event(`f-${at}`)));
    const cwd = await directoryOf({ 'day.ndjson': events.join('\n') });
    const args = ['day.ndjson', '--url', service.url, '--batch', '10', '--requests', '1'];
    const { ended, signal } = startSend(args, { cwd });
    void toStop.promise.then(() => signal('SIGINT'));
    const { code, said } = await ended;
    expect([code, said]).toEqual([3, expect.stringContaining('with --from day.ndjson:41 resumes here.')]);

    const rejected = [{ line: 50 }, { line: 100 }];
    for (const [resuming, counts] of [
      [['--from', 'day.ndjson:41'], 'recorded   58\nunchanged  0'],
      [[], 'recorded   0\nunchanged  98'],
    ] as const) {
      const sent = await send([...args, ...resuming], cwd);
      expect(sent).toMatchObject({ code: 1, printed: expect.stringContaining(counts) });
      expect(sent.printed).toContain('rejected   2, in day.ndjson.rejected.ndjson\n');
      expect(await rejectedOf(join(cwd, 'day.ndjson'))).toMatchObject(rejected);
    }
  },
);

it.skipIf(isWindows)('a second Ctrl-C stops at once, with exit code 130', async () => {
  const asked = Promise.withResolvers<void>();
  const service = await ScriptedService.start(async () => {
    asked.resolve();
    return new Promise(() => undefined);
  });
  const cwd = await directoryOf({ 'a.ndjson': event('f-0') });
  const { signal, ended } = startSend(['a.ndjson', '--url', service.url], { cwd });
  await asked.promise;
  // One Ctrl-C arrives as several signals: all signals of three seconds are one request to stop.
  const pressed = performance.now();
  const pressing = setInterval(() => signal('SIGINT'), 250);
  onTestFinished(() => clearInterval(pressing));
  expect((await ended).code).toBe(130);
  expect(performance.now() - pressed).toBeGreaterThan(3_000);
});
