import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { expect, it, onTestFinished } from 'vitest';

import { ownDirectory } from '../harness/own-directory.ts';
import { cloudEvent } from '../http/cloud-event.ts';
import { rejectedOf, run, startSend } from './running.ts';
import { ScriptedService } from './scripted-service.ts';

const event = (id: string): string => JSON.stringify(cloudEvent({ data: { event_id: id } }));

const send = async (args: readonly string[], cwd: string, environment: NodeJS.ProcessEnv = {}) =>
  run('infra/cli/send.ts', args, { cwd, environment });

it('npm run send reads NDJSON, arrays, gzip, a byte order mark and standard input, sends the key in a header, and leaves nothing behind', async () => {
  const keys = new Set<unknown>();
  const service = await ScriptedService.start(({ number, headers }) => {
    keys.add(headers['x-functions-key']);
    return number === 1 ? 'reset' : 'record';
  });
  const cwd = ownDirectory();
  await writeFile(join(cwd, 'array.json'), `\uFEFF[${event('f-0')},\n${event('f-1')}]`);
  await writeFile(join(cwd, 'packed.gz'), gzipSync(`${event('f-2')}\n${event('f-3')}\n`));
  await writeFile(join(cwd, 'key'), '\uFEFFkey-from-a-file==\r\n');
  const args = ['array.json', 'packed.gz', '-', '--url', `${service.url}/api/events`, '--key-file', 'key'];
  const environment = { FUNCTION_KEY: 'another-key' };
  const { code, printed, said } = await startSend(args, { cwd, environment, input: Buffer.from(event('f-4')) }).ended;

  expect(printed).toMatch(/^recorded {3}5\nunchanged {2}0\nrejected {3}0\ntime {7}\d+\.\d s\n$/);
  expect(said).toContain('no connection to the service (UND_ERR_SOCKET)');
  expect(code).toBe(0);
  expect([...service.times.values()]).toEqual([1, 1, 1, 1, 1]);
  expect(keys).toEqual(new Set(['key-from-a-file==']));
  expect(`${printed}${said}`).not.toContain('key-from-a-file');
  expect((await readdir(cwd)).toSorted()).toEqual(['array.json', 'key', 'packed.gz']);
});

it('--check sends nothing, and says what is wrong, and where', async () => {
  const cwd = ownDirectory();
  const wrong = JSON.stringify(cloudEvent({ id: '', data: { detection: { smoke: 1 } } }));
  await writeFile(join(cwd, 'a.ndjson'), `${event('f-0')}\n${wrong}\nnot JSON\n[${event('f-1')},1]\n`);
  const { code, printed } = await send(['a.ndjson', '--check', '--url', 'http://127.0.0.1:9'], cwd);
  expect(printed).toMatch(
    /^a\.ndjson:2 id is empty; data\.detection is unknown: .*\na\.ndjson:3 is not JSON\na\.ndjson:4\[1\] must be an object: a CloudEvent\ngood {3}2\nwrong {2}3\n$/,
  );
  expect(code).toBe(1);
  expect(await readdir(cwd)).toEqual(['a.ndjson']);
});

it('names what it cannot use before it sends anything, and overwrites nothing', async () => {
  const service = await ScriptedService.start();
  const cwd = ownDirectory();
  const precious = '{"precious":true}';
  await writeFile(join(cwd, 'a.ndjson.rejected.ndjson'), precious);
  for (const file of ['a.ndjson', 'b.ndjson']) await writeFile(join(cwd, file), event('f-0'));
  await writeFile(join(cwd, 'utf16.json'), `\uFEFF${event('f-0')}`, 'utf16le');
  for (const [args, complaint] of [
    [['b.ndjson', 'missing.json'], 'missing.json cannot be read.'],
    [['b.ndjson', '.'], 'is a directory'],
    [['utf16.json'], 'is UTF-16'],
    [['a.ndjson'], 'a.ndjson.rejected.ndjson exists and holds no rejected events'],
    [['b.ndjson', '--key-file', 'missing.key'], 'The key file missing.key cannot be read.'],
  ] as const) {
    const { code, said } = await send([...args, '--url', service.url], cwd);
    expect([code, said]).toEqual([2, expect.stringContaining(complaint)]);
  }
  expect(service.requests).toBe(0);
  expect(await readFile(join(cwd, 'a.ndjson.rejected.ndjson'), 'utf8')).toBe(precious);
});

const EVENTS = 400;
/** The service finds a fault in one event of two hundred, and the reader of the file in another event. */
const WRONG = EVENTS / 100;

const lineOf = (at: number): string => {
  if (at % 200 === 99) return '{"half":';
  return at % 200 === 199 ? JSON.stringify({ at }) : event(`f-${at}`);
};

it(`sends each of ${EVENTS} events in spite of a kill and of a stop, and sets each wrong event aside once`, async () => {
  // The service calls `whenAnswered` after its next `left` requests.
  let [left, whenAnswered] = [0, (): unknown => undefined];
  const service = await ScriptedService.start(({ headers }) => {
    left -= 1;
    if (left === 0) setImmediate(whenAnswered);
    return headers['x-functions-key'] === 'k' ? 'record' : { status: 401 };
  });
  const cwd = ownDirectory();
  const file = join(cwd, 'day.ndjson');
  await writeFile(file, Array.from({ length: EVENTS }, (_, at) => `${lineOf(at)}\n`).join(''));
  const args = [file, '--url', service.url, '--batch', '10', '--requests', '3'];
  const environment = { FUNCTION_KEY: 'k' };
  const sentUntil = async (requests: number, signal: 'SIGKILL' | 'SIGINT') => {
    const sending = startSend(args, { cwd, environment });
    left = requests;
    whenAnswered = () => sending.child.kill(signal);
    return sending.ended;
  };
  expect((await sentUntil(12, 'SIGKILL')).code).toBeNull();
  const stopped = await sentUntil(24, 'SIGINT');
  const isWindows = process.platform === 'win32';
  expect(stopped.code).toBe(isWindows ? null : 3);
  const from = isWindows ? [] : ['--from', /--from (\S+) resumes here/.exec(stopped.said)?.[1] ?? ''];

  const last = await send([...args, ...from], cwd, environment);
  expect([last.code, last.printed]).toEqual([1, expect.stringContaining(`, in ${file}.rejected.ndjson\n`)]);
  expect([...service.times.keys()].filter((id) => id.startsWith('f-'))).toHaveLength(EVENTS - WRONG);
  const rejected = await rejectedOf(file);
  expect(rejected.map(({ line }) => line)).toEqual(Array.from({ length: WRONG }, (_, at) => (at + 1) * 100));

  // All of it again: nothing changes, and the file of rejected events does not grow.
  const again = await send(args, cwd, environment);
  expect(again.printed).toContain(`recorded   0\nunchanged  ${EVENTS - WRONG}\nrejected   ${WRONG}, in`);
  expect(await rejectedOf(file)).toEqual(rejected);
  const refused = await send(args, cwd, { FUNCTION_KEY: 'another-key' });
  expect(refused).toMatchObject({ code: 3, said: expect.stringContaining('refuses the function key (401)') });
  expect(refused.said).not.toContain('another-key');
});

it.skipIf(process.platform === 'win32')('a second Ctrl-C stops at once, with exit code 130', async () => {
  const asked = Promise.withResolvers<void>();
  const service = await ScriptedService.start(async () => {
    asked.resolve();
    return new Promise(() => undefined);
  });
  const cwd = ownDirectory();
  await writeFile(join(cwd, 'a.ndjson'), event('f-0'));
  const { child, ended } = startSend(['a.ndjson', '--url', service.url], { cwd });
  await asked.promise;
  // For three seconds they are one request to stop.
  const pressing = setInterval(() => child.kill('SIGINT'), 500);
  onTestFinished(() => clearInterval(pressing));
  expect((await ended).code).toBe(130);
});
