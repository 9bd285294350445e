import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import timers from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';

import { MAX_EVENTS_BYTES } from '../../src/http/event-batch.ts';
import { all } from '../analytics/counting.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { cloudEvent } from '../http/cloud-event.ts';
import { run, startSend } from './running.ts';
import { type Answer, ScriptedService } from './scripted-service.ts';

const event = (id: string, note = ''): string => JSON.stringify(cloudEvent({ data: { event_id: id }, note }));

/** A directory with the file `day.ndjson`, which has `count` lines: events, and other lines in place of some. */
const dayOf = async (count: number, others: Readonly<Record<number, string>> = {}): Promise<string> => {
  const cwd = ownDirectory();
  await writeFile(
    join(cwd, 'day.ndjson'),
    all(count)
      .map((at) => others[at] ?? event(`f-${at}`))
      .join('\n'),
  );
  return cwd;
};

/** Sends `day.ndjson`: 10 events in a request, and one request at a time. */
const argumentsFor = ({ url }: ScriptedService): readonly string[] => [
  'day.ndjson',
  '--url',
  url,
  '--batch',
  '10',
  '--requests',
  '1',
];

/** Does it in virtual time, which passes only in waits. */
const send = async (cwd: string, service: ScriptedService, ...args: readonly string[]) => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const waits = vi
    .spyOn(timers, 'setTimeout')
    .mockImplementation(async (wait) => void vi.advanceTimersByTime(wait ?? 0));
  const begun = Date.now();
  const ended = await run('infra/cli/send.ts', [...argumentsFor(service), ...args], { cwd });
  waits.mockRestore();
  return { ...ended, took: Date.now() - begun };
};

const summary = (recorded: number, unchanged: number, rejected: number) =>
  expect.stringContaining(`recorded   ${recorded}\nunchanged  ${unchanged}\nrejected   ${rejected}`);

/** The rejected events in a file. */
const rejectedIn = async (cwd: string, file = 'day.ndjson.rejected.ndjson'): Promise<readonly unknown[]> =>
  (await readFile(join(cwd, file), 'utf8'))
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));

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
    const { code, printed, said } = await startSend(args, { cwd, environment, input: event('f-4') }).ended;

    expect(printed).toMatch(/^recorded {3}5\nunchanged {2}0\nrejected {3}0\ntime {7}\d+\.\d s\n$/);
    expect(said).toContain('no connection to the service (UND_ERR_SOCKET)');
    expect(code).toBe(0);
    expect([...service.times.values()]).toEqual([1, 1, 1, 1, 1]);
    expect(keys).toEqual(new Set(['key-from-a-file==']));
    expect(`${printed}${said}`).not.toContain('key-from-a-file');
    expect((await readdir(cwd)).toSorted()).toEqual(['array.json', 'key', 'packed.gz']);
  });

  it('with --check sends nothing, and says what is wrong, and where', async () => {
    const wrong = JSON.stringify(cloudEvent({ id: '', data: { detection: { smoke: 1 } } }));
    const service = await ScriptedService.start();
    const cwd = await dayOf(4, { 1: wrong, 2: 'not JSON', 3: `[${event('f-1')},1]` });
    const { code, printed } = await send(cwd, service, '--check');
    expect(printed).toMatch(
      /^day\.ndjson:2 id is empty; data\.detection is unknown: .*\nday\.ndjson:3 is not JSON\nday\.ndjson:4\[1\] must be an object: a CloudEvent\ngood {3}2\nwrong {2}3\n$/,
    );
    expect([code, service.requests, await readdir(cwd)]).toEqual([1, 0, ['day.ndjson']]);
  });

  it('sends the files of a folder and of the folders below it by their paths, resumes at each, and names what it leaves out', async () => {
    const service = await ScriptedService.start();
    const cwd = await dayOf(1);
    // As Event Grid stores dead letters, and `az storage blob download-batch` fetches them.
    const tree = 'dead-letters/CAMERA-ACTIVITY/DELIVERY/2026/11';
    const letters = { '9/8/b.json': ['f-2', 'f-3'], '10/21/a.json': ['f-1'], '9/8/c.ndjson.gz': ['f-4'] };
    for (const [name, ids] of Object.entries(letters)) {
      const path = join(cwd, tree, name);
      await mkdir(dirname(path), { recursive: true });
      const extensions = { deadletterreason: 'MaxDeliveryAttemptsExceeded', deliveryattempts: 31 };
      const text = JSON.stringify(ids.map((id) => cloudEvent({ data: { event_id: id }, ...extensions })));
      await writeFile(path, name.endsWith('.gz') ? gzipSync(text) : text);
    }
    for (const name of ['b.json.rejected.ndjson', 'b.json.rejected.1.ndjson', '.DS_Store', 'notes.txt'])
      await writeFile(join(cwd, tree, '9/8', name), 'no event');
    await symlink(join(cwd, 'nowhere'), join(cwd, tree, '9/8/a.json'));
    const sent = await send(cwd, service, 'dead-letters');
    expect(sent).toMatchObject({ code: 0, printed: summary(5, 0, 0) });
    expect(sent.said).toContain(
      `dead-letters: left out ${join(tree, '9/8/.DS_Store')}, ${join(tree, '9/8/a.json')}, ${join(tree, '9/8/b.json.rejected.1.ndjson')}`,
    );
    expect([...service.times.keys()]).toEqual(['f-0', 'f-1', 'f-2', 'f-3', 'f-4']);
    const resumed = await send(cwd, service, 'dead-letters', '--from', `${join(tree, '9/8/b.json')}:2`);
    expect(resumed).toMatchObject({ code: 0, printed: summary(0, 2, 0) });
  });

  it('sends what it can read of each file, and says where a file is damaged', async () => {
    const service = await ScriptedService.start();
    const cwd = await dayOf(1);
    await mkdir(join(cwd, 'files', 'folder.json'), { recursive: true });
    const write = async (name: string, bytes: string | Buffer) => writeFile(join(cwd, 'files', name), bytes);
    await write('a utf16.json', Buffer.from(`\uFEFF${event('f-1')}`, 'utf16le'));
    const packed = gzipSync(Array.from({ length: 900 }, (_, at) => event(`c-${at}`, randomUUID())).join('\n'));
    await write('b cut.ndjson.gz', packed.subarray(0, packed.length - 9));
    await write('c empty.json', '');
    await write('d.ndjson', event('f-2'));
    await symlink('folder.json', join(cwd, 'files', 'link.json'));
    const { code, printed, said } = await send(cwd, service, 'files');
    const [, line] =
      /^files\/b cut\.ndjson\.gz:(\d+) is damaged gzip \(unexpected end of file\)\. From here on/m.exec(said) ?? [];
    expect(said).toMatch(/^files\/a utf16\.json:1 is UTF-16: /m);
    expect(said).toContain('left out files/link.json.');
    expect([code, Number(line)]).toEqual([1, service.times.size - 1]);
    expect(printed).toMatch(/^rejected   2, in files\/a utf16\.json\.rejected\.ndjson, files\/b cut/m);
    expect(service.times.has('f-2')).toBe(true);
    const checked = await send(cwd, service, 'files', '--check');
    expect(checked).toMatchObject({
      code: 1,
      printed: expect.stringContaining(`files/b cut.ndjson.gz:${line} is damaged`),
    });
  });

  it('sends nothing of a folder in which a folder cannot be read, and names that folder', async () => {
    const service = await ScriptedService.start();
    const cwd = await dayOf(1);
    // The system reads no folder whose path is longer than it allows, not even for root.
    const part = 'x'.repeat(250);
    await mkdir(join(cwd, part));
    for (let depth = 1; depth < 20; depth += 1) {
      await mkdir(join(cwd, 'outer'));
      await rename(join(cwd, part), join(cwd, 'outer', part));
      await rename(join(cwd, 'outer'), join(cwd, part));
    }
    onTestFinished(() => void spawnSync('rm', ['-rf', join(cwd, part)]));
    const { code, said } = await send(cwd, service, '.');
    expect([code, service.requests]).toEqual([2, 0]);
    expect(said).toMatch(/x{250} cannot be read \(ENAMETOOLONG\)\.\n$/);
  });

  it('sets events in the schema of Event Grid aside', async () => {
    const body = JSON.stringify({ code: 'event_grid_schema', detail: 'The events use the Event Grid schema.' });
    const service = await ScriptedService.start(() => ({ status: 400, body }));
    const cwd = await dayOf(1, { 0: JSON.stringify({ eventType: 'x', eventTime: 't', subject: 's' }) });
    expect(await send(cwd, service)).toMatchObject({ code: 1, printed: summary(0, 0, 1) });
  });

  it('sends an event whose extension attributes have the names of the members of a rejected line', async () => {
    const service = await ScriptedService.start();
    const cwd = await dayOf(2, {
      1: JSON.stringify({ ...cloudEvent({ data: { event_id: 'f-x' } }), reason: 'smoke', line: 4, event: 'e-1' }),
    });
    expect(await send(cwd, service)).toMatchObject({ code: 0, printed: summary(2, 0, 0) });
    expect([...service.times.keys()]).toEqual(['f-0', 'f-x']);
  });

  it('learns of every refused event, though an answer lists 100 faults', async () => {
    const known = new Set<number>();
    const service = await ScriptedService.start(({ body }) => {
      const events = z.array(z.number()).parse(JSON.parse(body));
      const errors = events.flatMap((id, index) => (id % 3 === 0 ? [{ index, detail: `is ${id}` }] : []));
      const good = events.filter((id) => id % 3 !== 0);
      const recorded = good.filter((id) => !known.has(id)).length;
      for (const id of good) known.add(id);
      const counts = { recorded, unchanged: good.length - recorded };
      const answer = {
        ...counts,
        errors: errors.slice(0, 100),
        ...(errors.length > 100 && { errors_total: errors.length }),
      };
      return errors.length === 0
        ? { status: 200, body: JSON.stringify(counts) }
        : { status: 400, body: JSON.stringify(answer) };
    });
    known.add(1).add(2);
    const cwd = await dayOf(
      1_000,
      Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [index, `${index}`])),
    );
    expect(await send(cwd, service, '--batch', '1000')).toMatchObject({ code: 1, printed: summary(664, 2, 334) });
    expect((await rejectedIn(cwd)).map((line) => z.object({ event: z.number() }).parse(line).event)).toEqual(
      Array.from({ length: 334 }, (_, index) => 3 * index),
    );
  });

  it('names what it cannot use before it sends anything', async () => {
    const service = await ScriptedService.start();
    const cwd = await dayOf(1);
    await mkdir(join(cwd, 'empty'));
    for (const [args, complaint] of [
      [['missing.json'], 'missing.json cannot be read.'],
      [['empty'], 'empty has no file that ends in .json, .ndjson, .jsonl or .gz.'],
      [['.'], 'A FILE is named twice.'],
      [['--key-file', 'missing.key'], 'The key file missing.key cannot be read.'],
      [['--from', 'other.ndjson:1'], '--from names other.ndjson, which is not among the inputs.'],
    ] as const) {
      expect(await send(cwd, service, ...args)).toMatchObject({ code: 2, said: expect.stringContaining(complaint) });
    }
    expect(service.requests).toBe(0);
  });

  it('sends every event, with at most so many in a request and so many requests at a time', async () => {
    const first = Promise.withResolvers<Answer>();
    const service = await ScriptedService.start(({ number }) => (number === 1 ? first.promise : 'record'));
    const cwd = await dayOf(295);
    const sending = send(cwd, service, '--requests', '2');
    await expect.poll(() => service.times.size).toBe(10);
    expect(service.requests).toBe(2);
    first.resolve({ status: 401 });
    // The answer to the second request does not count, because the first request failed.
    const stopped = { printed: summary(0, 0, 0), said: expect.stringContaining('--from day.ndjson:1 resumes here.') };
    expect(await sending).toMatchObject({ code: 3, ...stopped });
    expect(await send(cwd, service, '--requests', '2')).toMatchObject({ code: 0, printed: summary(285, 10, 0) });
    expect([service.times.size, service.requests]).toEqual([295, 32]);
  });

  it('sends no request that is too large, and halves what is too large for the service, down to one event', async () => {
    const sizes: number[] = [];
    const service = await ScriptedService.start(({ body }) => {
      sizes.push(Buffer.byteLength(body));
      return body.includes('"huge"') || body.split('"event_id"').length > 4 ? { status: 413 } : 'record';
    });
    const large = Object.fromEntries(all(9).map((at) => [at, event(`f-${at}`, 'é'.repeat(450_000))]));
    const cwd = await dayOf(20, { ...large, 11: JSON.stringify(cloudEvent({ id: 'huge' })) });
    expect(await send(cwd, service, '--batch', '5000')).toMatchObject({ code: 1, printed: summary(19, 0, 1) });
    expect([...service.times.values()].every((count) => count === 1)).toBe(true);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_EVENTS_BYTES);
    expect(await rejectedIn(cwd)).toMatchObject([{ line: 12, event: { id: 'huge' } }]);
  });

  it('sets wrong events aside with the reason and the place, and keeps the file of an earlier run', async () => {
    const service = await ScriptedService.start();
    const wrong = '{"specversion":"1.0","data":{"count":12345678901234567890}}';
    const cwd = await dayOf(40, { 7: 'not JSON', 12: wrong, 30: '[1,{"two":2}]' });
    const ended = { code: 1, printed: summary(37, 0, 4), said: '' };
    expect(await send(cwd, service)).toMatchObject(ended);
    const place = { reason: 'is wrong; altogether', file: 'day.ndjson' };
    const rejected = [
      { reason: 'is not JSON', file: 'day.ndjson', line: 8, text: 'not JSON' },
      { ...place, line: 13, event: JSON.parse(wrong) as unknown },
      { ...place, line: 31, index: 0, event: 1 },
      { ...place, line: 31, index: 1, event: { two: 2 } },
    ];
    expect(await rejectedIn(cwd)).toEqual(rejected);
    // No digit of a number is lost on the way.
    expect(await readFile(join(cwd, 'day.ndjson.rejected.ndjson'), 'utf8')).toContain(wrong);

    await writeFile(join(cwd, 'day.ndjson'), '{"wrong":2}\n');
    const said = 'The rejected events of an earlier run are in day.ndjson.rejected.1.ndjson now.\n';
    expect((await send(cwd, service)).said).toBe(said);
    expect(await rejectedIn(cwd, 'day.ndjson.rejected.1.ndjson')).toEqual(rejected);
    expect(await rejectedIn(cwd)).toMatchObject([{ event: { wrong: 2 } }]);
  });
});

const NOT_NOW: Answer = { status: 503, body: '{"detail":"Not now."}' };
const retryAfter = (seconds: string): Answer => ({ ...NOT_NOW, headers: { 'retry-after': seconds } });

describe('a service in trouble', () => {
  it.each<[Answer, string, number]>([
    [{ status: 408 }, 'Waiting 0.5 s: the service answers 408', 500],
    [{ status: 425 }, 'Waiting 0.5 s: the service answers 425', 500],
    [{ status: 429 }, 'Waiting 0.5 s: the service answers 429', 500],
    [{ status: 500 }, 'Waiting 0.5 s: the service answers 500', 500],
    [{ status: 502 }, 'Waiting 0.5 s: the service answers 502', 500],
    [{ status: 504 }, 'Waiting 0.5 s: the service answers 504', 500],
    [retryAfter('4'), 'Waiting 4.0 s: the service answers 503 (Not now.)', 4_000],
  ])('that answers %o gets every event after a wait', async (answer, wait, least) => {
    const service = await ScriptedService.start(({ number }) => (number === 3 ? answer : 'record'));
    const { printed, said, took } = await send(await dayOf(60), service);
    expect(printed).toEqual(summary(60, 0, 0));
    expect(said).toBe(`${wait}. Gives up in 600 s.\n`);
    expect(took).toBeGreaterThanOrEqual(least);
    expect(took).toBeLessThan(least * 1.3);
    expect(service.times.size).toBe(60);
  });

  it('gets longer pauses, up to 30 s, until the command gives up', async () => {
    const service = await ScriptedService.start(({ number }) => (number > 3 ? NOT_NOW : 'record'));
    const { code, said, took } = await send(await dayOf(60), service);
    expect([code, said]).toEqual([3, expect.stringMatching(/\nGiven up after 6\d\d s: .*\n.*--from day\.ndjson:31 /)]);
    expect(took).toBeGreaterThanOrEqual(600_000);
    expect(took).toBeLessThan(640_000);
    expect(service.requests).toBeGreaterThan(20);
    expect(service.requests).toBeLessThan(70);
  });

  it.each<[string, Answer, string]>([
    ['asks for a longer wait than that', retryAfter('9000'), 'asks to wait 9000 s'],
    ['refuses the key', { status: 401 }, 'The service refuses the function key (401)'],
    ['answers 404', { status: 404 }, 'answered with 404'],
    ['redirects', { status: 307, headers: { location: '/elsewhere' } }, 'answered with 307'],
    ['counts other events', { status: 200, body: '{"recorded":0,"unchanged":0}' }, 'answered with 200'],
    ['names no event', { status: 400, body: '{"detail":"The body is not valid JSON."}' }, 'not valid JSON'],
  ])('that %s stops the command at once', async (_, answer, said) => {
    const service = await ScriptedService.start(() => answer);
    const stopped = { code: 3, said: expect.stringContaining(said), took: 0 };
    expect(await send(await dayOf(1), service)).toMatchObject(stopped);
    expect(service.requests).toBe(1);
  });

  it('that speaks no TLS stops the command at once', async () => {
    const service = await ScriptedService.start();
    const { said } = await send(await dayOf(1), service, '--url', service.url.replace('http:', 'https:'));
    expect(said).toMatch(/^The connection cannot be made \(ERR_SSL_/);
  });
});

describe('a command that ends early', () => {
  it('has named the lowest item without an answer; from there it sends the rest, and appends refused events', async () => {
    const wrong = { 5: '{"wrong":1}', 25: '{"wrong":2}' };
    const replies = ['record', retryAfter('6'), 'record', { status: 401 }] as const;
    const service = await ScriptedService.start(({ number }) => replies[number - 1] ?? 'record');
    const cwd = await dayOf(30, wrong);
    const { code, said } = await send(cwd, service);
    // After a kill there is only the line of progress.
    expect(said).toMatch(/\nday\.ndjson:21 {2}\d+ % {2}\d events\/s {2}.*1 rejected\n/);
    expect([code, said]).toEqual([3, expect.stringContaining('--from day.ndjson:21 resumes here.')]);
    const resumed = await send(cwd, service, '--from', 'day.ndjson:21');
    expect(resumed).toMatchObject({ code: 1, printed: summary(9, 0, 1), said: '' });
    expect(await rejectedIn(cwd)).toMatchObject([{ line: 6 }, { line: 26 }]);
  });

  // Windows ends a process at once.
  it.skipIf(process.platform === 'win32')('stops at Ctrl-C, even in a wait, and says where to resume', async () => {
    const toStop = Promise.withResolvers<void>();
    const service = await ScriptedService.start(({ number }) => {
      if (number !== 5) return 'record';
      toStop.resolve();
      return retryAfter('60');
    });
    const cwd = await dayOf(100);
    const { ended, signal } = startSend(argumentsFor(service), { cwd });
    await toStop.promise;
    const pressed = performance.now();
    signal('SIGINT');
    const { code, said } = await ended;
    expect(performance.now() - pressed).toBeLessThan(50_000);
    expect([code, said]).toEqual([3, expect.stringContaining('with --from day.ndjson:41 resumes here.')]);
    const resumed = await send(cwd, service, '--from', 'day.ndjson:41');
    expect(resumed).toMatchObject({ code: 0, printed: summary(60, 0, 0) });
    expect(await send(cwd, service)).toMatchObject({ code: 0, printed: summary(0, 100, 0) });
  });

  it.skipIf(process.platform === 'win32')('stops at once at a second Ctrl-C, with exit code 130', async () => {
    const asked = Promise.withResolvers<void>();
    const service = await ScriptedService.start(async () => {
      asked.resolve();
      return new Promise(() => undefined);
    });
    const { signal, ended } = startSend(argumentsFor(service), { cwd: await dayOf(1) });
    await asked.promise;
    // One Ctrl-C arrives as several signals: all signals of three seconds are one request to stop.
    const pressed = performance.now();
    const pressing = setInterval(() => signal('SIGINT'), 250);
    onTestFinished(() => clearInterval(pressing));
    expect((await ended).code).toBe(130);
    expect(performance.now() - pressed).toBeGreaterThan(3_000);
  });
});
