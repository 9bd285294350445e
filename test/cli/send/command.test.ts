import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

import { startApp, testEnvironment } from '../../harness/app.ts';
import { ownDirectory } from '../../harness/own-directory.ts';
import { cloudEvent } from '../../http/cloud-event.ts';
import { rejectedOf, run, start } from './running.ts';
import { ScriptedService } from './scripted-service.ts';

const event = (id: string): string => JSON.stringify(cloudEvent({ data: { event_id: id } }));

describe('npm run send', () => {
  it('reads NDJSON, arrays, gzip, a byte order mark and standard input, sends the key in a header, and leaves nothing behind', async () => {
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
    const { code, printed, said } = await run('send', args, { cwd, environment, input: Buffer.from(event('f-4')) });

    expect(printed).toMatch(/^recorded {3}5\nunchanged {2}0\nrejected {3}0\ntime {7}\d+\.\d s\n$/);
    expect(said).toContain('no connection to the service (UND_ERR_SOCKET)');
    expect(code).toBe(0);
    expect([...service.times.values()]).toEqual([1, 1, 1, 1, 1]);
    expect(keys).toEqual(new Set(['key-from-a-file==']));
    expect(`${printed}${said}`).not.toContain('key-from-a-file');
    expect((await readdir(cwd)).toSorted()).toEqual(['array.json', 'key', 'packed.gz']);
  });

  it('--check sends nothing and says what is wrong, and where', async () => {
    const cwd = ownDirectory();
    const wrong = JSON.stringify(cloudEvent({ id: '', data: { detection: { smoke: 1 } } }));
    await writeFile(join(cwd, 'a.ndjson'), `${event('f-0')}\n${wrong}\nnot JSON\n[${event('f-1')},1]\n`);
    const { code, printed } = await run('send', ['a.ndjson', '--check', '--url', 'http://127.0.0.1:9'], { cwd });
    expect(printed).toMatch(
      /^a\.ndjson:2 id is empty; data\.detection is unknown: .*\na\.ndjson:3 is not JSON\na\.ndjson:4\[1\] must be an object: a CloudEvent\ngood {3}2\nwrong {2}3\n$/,
    );
    expect(code).toBe(1);
    expect(await readdir(cwd)).toEqual(['a.ndjson']);
  });

  it('says before it sends anything what cannot be used, and overwrites nothing', async () => {
    const service = await ScriptedService.start();
    const cwd = ownDirectory();
    const precious = '{"precious":true}';
    await writeFile(join(cwd, 'a.ndjson.rejected.ndjson'), precious);
    await writeFile(join(cwd, 'b.ndjson'), event('f-0'));
    await writeFile(join(cwd, 'a.ndjson'), event('f-0'));
    await writeFile(join(cwd, 'utf16.json'), `\uFEFF${event('f-0')}`, 'utf16le');
    const cases: readonly (readonly [readonly string[], string])[] = [
      [['b.ndjson', 'missing.json'], 'missing.json cannot be read.'],
      [['b.ndjson', '.'], 'is a directory'],
      [['utf16.json'], 'is UTF-16'],
      [['a.ndjson'], 'a.ndjson.rejected.ndjson exists and holds no rejected events'],
      [['b.ndjson', '--key-file', 'missing.key'], 'The key file missing.key cannot be read.'],
    ];
    const runs = cases.map(async ([args, complaint]) => {
      const { code, said } = await run('send', [...args, '--url', service.url], { cwd });
      expect(said).toContain(complaint);
      expect(code).toBe(2);
    });
    await Promise.all(runs);
    expect(service.requests).toBe(0);
    expect(await readFile(join(cwd, 'a.ndjson.rejected.ndjson'), 'utf8')).toBe(precious);
  });
});

const DATE = '2026-03-14';
const EVENTS = 1_000;
const GOOD = EVENTS - EVENTS / 100;

/** Of every 100th event the service says what is wrong with it, or the reader of the file. */
const lineOf = (at: number): string => {
  const time = new Date(Date.parse(`${DATE}T00:00:00Z`) + at * 2_000).toISOString();
  const isWrong = at % 100 === 99;
  const camera_id = isWrong && at % 200 === 99 ? 7 : `ridge-${at % 10}`;
  const data = { event_id: `f-${at}`, camera_id, ts_utc: time, detections: { smoke: 1 } };
  const line = JSON.stringify(cloudEvent({ id: `m-${at}`, time, data }));
  return isWrong && camera_id !== 7 ? line.slice(0, -2) : line;
};

const daySchema = z.object({ total_events: z.number(), counts_per_category: z.record(z.string(), z.number()) });

it(`npm run send counts ${EVENTS} events once, with wrong ones, a kill and a stop in between`, async () => {
  const KEY = 'function-key-of-a-test';
  const app = await startApp({ environment: testEnvironment(), functionKey: KEY });
  onTestFinished(() => app.stop());
  const cwd = ownDirectory();
  const file = join(cwd, 'day.ndjson');
  await writeFile(file, Array.from({ length: EVENTS }, (_, at) => `${lineOf(at)}\n`).join(''));
  await writeFile(join(cwd, 'key'), `${KEY}\n`);

  // Stands before the app, and tells when it has taken a request.
  let [taken, whenTaken] = [0, (): void => undefined];
  const door = await ScriptedService.start(async ({ body, headers }) => {
    const given = { 'x-functions-key': String(headers['x-functions-key']) };
    const answer = await fetch(`${app.url}/api/events`, {
      method: 'POST',
      headers: given,
      body: new Uint8Array(body),
    });
    const text = await answer.text();
    taken += 1;
    whenTaken();
    return { status: answer.status, body: text };
  });
  const args = [file, '--url', door.url, '--key-file', 'key', '--batch', '50', '--requests', '3'];
  /** Sends until the app has taken so many requests in all; the sender does not hear of the last one. */
  const sentUntil = async (requests: number, signal: 'SIGKILL' | 'SIGINT') => {
    const sending = start('send', args, { cwd });
    whenTaken = () => {
      if (taken < requests) return;
      whenTaken = () => undefined;
      sending.child.kill(signal);
    };
    return sending.ended;
  };
  expect((await sentUntil(8, 'SIGKILL')).code).toBeNull();
  const stopped = await sentUntil(16, 'SIGINT');
  const isWindows = process.platform === 'win32';
  expect(stopped.code).toBe(isWindows ? null : 3);
  const resumes = isWindows ? [] : ['--from', /--from (\S+) resumes here/.exec(stopped.said)?.[1] ?? ''];

  const last = await run('send', [...args, ...resumes], { cwd });
  expect(last.printed).toContain(`, in ${file}.rejected.ndjson\n`);
  expect(last.code).toBe(1);

  const day = await fetch(`${app.url}/api/analytics/day?date=${DATE}`, { headers: { 'x-functions-key': KEY } });
  expect(daySchema.parse(await day.json())).toMatchObject({ total_events: GOOD, counts_per_category: { smoke: GOOD } });
  const rejected = await rejectedOf(file);
  expect(rejected.map(({ line }) => line)).toEqual(Array.from({ length: EVENTS / 100 }, (_, at) => (at + 1) * 100));
  const reasons = new Set(rejected.map(({ reason }) => reason));
  expect(reasons).toEqual(new Set(['data.camera_id must be a string', 'is not JSON']));

  // All of it once more: nothing changes, and the file of rejected events does not grow.
  const again = await run('send', [file, '--url', door.url], { cwd, environment: { FUNCTION_KEY: KEY } });
  expect(again.printed).toContain(`recorded   0\nunchanged  ${GOOD.toLocaleString('en-GB')}\n`);
  expect(await rejectedOf(file)).toEqual(rejected);

  const refused = await run('send', [file, '--url', app.url], { cwd, environment: { FUNCTION_KEY: 'another-key' } });
  expect(refused).toMatchObject({ code: 3, said: expect.stringContaining('refuses the function key (401)') });
  expect(refused.said).not.toContain('another-key');
});
