import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

import { describe, expect, it, onTestFinished } from 'vitest';

import { freePort } from '../../infra/local/free-port.ts';
import { MAX_REQUEST_BYTES, MAX_REQUEST_EVENTS } from '../../infra/send/limits.ts';
import { MAX_EVENTS, MAX_EVENTS_BYTES } from '../../src/http/record-events.ts';
import { cloudEvent } from '../http/cloud-event.ts';
import { ownDirectory, rejectedIn, send, startSend } from './running.ts';
import { type Scripted, ScriptedService } from './scripted-service.ts';

const event = (id: string): string => JSON.stringify(cloudEvent({ data: { event_id: id } }));
/** An event of 0.9 MB. */
const largeEvent = (id: string): string =>
  JSON.stringify(cloudEvent({ data: { event_id: id }, note: 'x'.repeat(900_000) }));
const ids = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `f-${at}`);

/** A file of NDJSON, with other lines in place of some. */
const ndjson = async (count: number, others: Readonly<Record<number, string>> = {}): Promise<string> => {
  const file = join(ownDirectory(), 'events.ndjson');
  await writeFile(
    file,
    ids(count)
      .map((id, at) => `${others[at] ?? event(id)}\n`)
      .join(''),
  );
  return file;
};

/** An answer that does not come. */
const NEVER = new Promise<never>(() => undefined);

/** A run takes a second to start, on a busy machine several. */
const PATIENTLY = { timeout: 20_000 };

/** Every event, each recorded or found known so often. */
const each = (count: number, times = 1): ReadonlyMap<string, number> => new Map(ids(count).map((id) => [id, times]));

describe('npm run send', () => {
  it('sends every event of a file once, as batches, no more at a time than it may, and leaves nothing behind', async () => {
    const service = await ScriptedService.start();
    const file = await ndjson(95);
    const { code, summary } = await send([file, '--url', service.url, '--batch', '10', '--requests', '3']);

    expect(summary).toMatch(/^recorded {3}95\nunchanged {2}0\nrejected {3}0\ntime {7}\d+\.\d s\n$/);
    expect(code).toBe(0);
    expect(service.times).toEqual(each(95));
    expect(service.requests).toBe(10);
    expect(service.mostInFlight).toBeLessThanOrEqual(3);
    expect(await readdir(join(file, '..'))).toEqual(['events.ndjson']);
  });

  it('knows the limits of the service, and keeps to them', async () => {
    expect([MAX_REQUEST_EVENTS, MAX_REQUEST_BYTES]).toEqual([MAX_EVENTS, MAX_EVENTS_BYTES]);
    const sizes: number[] = [];
    const service = await ScriptedService.start(({ body }) => {
      sizes.push(body.length);
      return 'record';
    });
    const file = join(ownDirectory(), 'large.ndjson');
    await writeFile(file, ids(9).map(largeEvent).join('\n'));
    const { code } = await send([file, '--url', service.url, '--batch', '5000']);

    expect(code).toBe(0);
    expect(service.times).toEqual(each(9));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_REQUEST_BYTES);
    expect(sizes).toHaveLength(3);
  });

  it('reads ahead of an unanswered request only so far, whatever the size of the file', async () => {
    const unanswered: (() => void)[] = [];
    const service = await ScriptedService.start(async ({ number }): Promise<Scripted> => {
      if (number === 1) await new Promise<void>((answer) => unanswered.push(answer));
      return 'record';
    });
    const run = startSend([await ndjson(300), '--url', service.url, '--batch', '10', '--requests', '2']);
    await expect.poll(() => service.times.size, PATIENTLY).toBe(30);
    // That nothing more comes cannot be awaited; without the bound all 29 others come within this time.
    await delay(500);
    expect(service.requests).toBe(4);
    unanswered[0]?.();
    expect(await run.ended).toMatchObject({ code: 0 });
    expect(service.times).toEqual(each(300));
  });

  it('reads arrays, objects, gzip, a byte order mark, and standard input', async () => {
    const service = await ScriptedService.start();
    const directory = ownDirectory();
    const files = {
      array: `[${event('f-0')},\n${event('f-1')}]`,
      object: JSON.stringify(cloudEvent({ data: { event_id: 'f-2' } }), undefined, 2),
    };
    await writeFile(join(directory, 'array.json'), `\uFEFF${files.array}`);
    await writeFile(join(directory, 'object.json'), files.object);
    await writeFile(join(directory, 'packed.gz'), gzipSync(`${event('f-3')}\n${event('f-4')}\n`));
    const names = ['array.json', 'object.json', 'packed.gz', '-'];
    const { code, summary } = await send([...names, '--url', service.url], {
      cwd: directory,
      input: Buffer.from(event('f-5')),
    });

    expect(summary).toContain('recorded   6\n');
    expect(code).toBe(0);
    expect(service.times).toEqual(each(6));
  });

  it('sends dead letters of Event Grid as they are', async () => {
    const bodies: unknown[] = [];
    const service = await ScriptedService.start(({ events }) => {
      bodies.push(...events);
      return 'record';
    });
    const letters = ids(2).map((id) =>
      cloudEvent({
        data: { event_id: id },
        deadletterreason: 'MaxDeliveryAttemptsExceeded',
        deliveryattempts: 30,
        lastdeliveryoutcome: 'Busy',
        publishtime: '2026-11-21T08:00:02.9Z',
      }),
    );
    const file = join(ownDirectory(), 'dead-letters.json');
    await writeFile(file, JSON.stringify(letters));

    expect(await send([file, '--url', service.url])).toMatchObject({ code: 0 });
    expect(bodies).toEqual(letters);
  });

  it('puts what is wrong aside with the reason and the place, repeats nothing, and ends with 1', async () => {
    const service = await ScriptedService.start();
    const wrong = '{"specversion":"1.0","data":{"count":12345678901234567890}}';
    const file = await ndjson(40, { 7: 'not JSON', 12: wrong, 13: '{"half":', 30: '[1,{"two":2}]' });
    const { code, summary } = await send([file, '--url', service.url, '--batch', '10']);

    expect(code).toBe(1);
    expect(summary).toContain(`rejected   5, in ${file}.rejected.ndjson\n`);
    expect([...service.times.values()].every((times) => times === 1)).toBe(true);
    expect(service.times.size).toBe(36);
    expect([...service.refused.values()]).toEqual([1, 1, 1]);
    expect(await rejectedIn(`${file}.rejected.ndjson`)).toEqual([
      { reason: 'is not JSON', file, line: 8, text: 'not JSON' },
      { reason: 'is wrong', file, line: 13, event: JSON.parse(wrong) as unknown },
      { reason: 'ends before it is complete', file, line: 14, text: '{"half":' },
      { reason: 'is wrong', file, line: 31, index: 0, event: 1 },
      { reason: 'is wrong', file, line: 31, index: 1, event: { two: 2 } },
    ]);
    // No digit of a number is lost on the way.
    expect(await readFile(`${file}.rejected.ndjson`, 'utf8')).toContain(wrong);
  });

  it('sends what was rejected again once the cause is gone', async () => {
    const service = await ScriptedService.start(({ events }) => ({
      status: 400,
      body: JSON.stringify({
        recorded: 0,
        unchanged: 0,
        errors: events.map((_, index) => ({ index, detail: 'the day is closed' })),
      }),
    }));
    const file = await ndjson(3);
    expect(await send([file, '--url', service.url])).toMatchObject({ code: 1 });
    service.script = () => 'record';
    expect(await send([`${file}.rejected.ndjson`, '--url', service.url])).toMatchObject({ code: 0 });
    expect(service.times).toEqual(each(3));
  });

  it('halves what is too large for the service, down to one event', async () => {
    const service = await ScriptedService.start(({ events, body }) =>
      events.length > 3 || body.includes('"huge"') ? { status: 413 } : 'record',
    );
    const huge = JSON.stringify(cloudEvent({ id: 'huge' }));
    const file = await ndjson(20, { 11: huge });
    expect(await send([file, '--url', service.url])).toMatchObject({ code: 1 });
    expect(service.times.size).toBe(19);
    expect([...service.times.values()].every((times) => times === 1)).toBe(true);
    expect(await rejectedIn(`${file}.rejected.ndjson`)).toMatchObject([
      { line: 12, reason: 'is too large for the service (413)', event: { id: 'huge' } },
    ]);
  });
});

describe('a service in trouble', () => {
  it('is waited for as long as it asks, and every event comes in the end', async () => {
    const refusedAt: number[] = [];
    const takenAt: number[] = [];
    const service = await ScriptedService.start(({ number }) => {
      if (number > 2) {
        takenAt.push(Date.now());
        return 'record';
      }
      refusedAt.push(Date.now());
      return { status: 503, headers: { 'retry-after': '1' }, body: '{"detail":"Storage cannot do this now."}' };
    });
    const file = await ndjson(60);
    const { code, said } = await send([file, '--url', service.url, '--batch', '10', '--requests', '2']);

    expect(code).toBe(0);
    expect(said).toMatch(
      /Waiting 1\.\d s: the service answers 503 \(Storage cannot do this now\.\)\. Gives up in 600 s\./,
    );
    expect(Math.min(...takenAt) - Math.max(...refusedAt)).toBeGreaterThanOrEqual(900);
    expect(service.times).toEqual(each(60));
  });

  it('may cut connections and answer 500 now and then', async () => {
    const service = await ScriptedService.start(({ number }) => {
      if (number % 5 === 2) return 'reset';
      return number % 5 === 4 ? { status: 500 } : 'record';
    });
    const file = await ndjson(100);
    const { code, said } = await send([file, '--url', service.url, '--batch', '10', '--requests', '2']);
    expect(code).toBe(0);
    expect(said).toContain('no connection to the service');
    expect(said).toContain('the service answers 500');
    expect(service.times).toEqual(each(100));
  });

  it('is given up after the time that was said, and the same command goes on from there', async () => {
    const service = await ScriptedService.start(({ number }) => (number <= 3 ? 'record' : { status: 503 }));
    const file = await ndjson(60);
    const args = [file, '--url', service.url, '--batch', '10', '--requests', '1', '--give-up-after', '2'];
    const first = await send(args);
    expect(first).toMatchObject({ code: 3, summary: expect.stringContaining('recorded   30\n') });
    expect(first.said).toContain('Given up after');
    expect(first.said).toContain('The same command goes on from here');

    service.script = () => 'record';
    const second = await send(args);
    expect(second).toMatchObject({ code: 0, summary: expect.stringContaining('recorded   60\n') });
    expect(second.said).toContain('30 events are done by an earlier run');
    expect(service.times).toEqual(each(60));
  });

  it('is given up at once where it asks for a longer wait than that', async () => {
    const service = await ScriptedService.start(() => ({ status: 503, headers: { 'retry-after': '9000' } }));
    const { code, said } = await send([await ndjson(1), '--url', service.url]);
    expect(code).toBe(3);
    expect(said).toContain('asks for a wait of 9000 s');
  });

  it('is told apart from one that is not there', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, said } = await send([await ndjson(1), '--url', url, '--give-up-after', '1']);
    expect(code).toBe(3);
    expect(said).toContain('no connection to the service (ECONNREFUSED)');
  });
});

describe('an answer that no waiting mends', () => {
  it.each([
    ['a refused key', { status: 401 }, 'The service refuses the function key (401)'],
    ['another path', { status: 404 }, 'answered with 404'],
    ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:9/' } }, 'answered with 302'],
    ['counts that do not add up', { status: 200, body: '{"recorded":1,"unchanged":0}' }, 'answered with 200'],
    ['a 400 without indexes', { status: 400, body: '{"detail":"The body is not valid JSON."}' }, 'not valid JSON'],
    [
      'an index that was not sent',
      { status: 400, body: '{"recorded":19,"unchanged":0,"errors":[{"index":20,"detail":"?"}]}' },
      'answered with 400',
    ],
  ])('%s: stops, says why, and goes on later', async (_, answer, complaint) => {
    const service = await ScriptedService.start(({ number }) => (number === 1 ? 'record' : answer));
    const file = await ndjson(60);
    const args = [file, '--url', service.url, '--batch', '20', '--requests', '1'];
    const { code, said } = await send(args, { environment: { FUNCTION_KEY: 'secret-key-of-a-test' } });
    expect(code).toBe(3);
    expect(said).toContain(complaint);
    expect(said).not.toContain('secret-key-of-a-test');

    service.script = () => 'record';
    expect(await send(args)).toMatchObject({ code: 0 });
    expect(service.times).toEqual(each(60));
  });
});

describe('the function key', () => {
  it('comes from a file, goes into the header, and is nowhere else', async () => {
    const keys = new Set<unknown>();
    const service = await ScriptedService.start(({ headers }) => {
      keys.add(headers['x-functions-key']);
      return 'record';
    });
    const file = await ndjson(5);
    const keyFile = join(ownDirectory(), 'key');
    await writeFile(keyFile, 'key-from-a-file==\r\n');
    const { code, summary, said } = await send([file, '--url', `${service.url}/api/events`, '--key-file', keyFile]);
    expect(code).toBe(0);
    expect(keys).toEqual(new Set(['key-from-a-file==']));
    expect(`${summary}${said}`).not.toContain('key-from-a-file');
  });
});

describe('a run that is stopped', () => {
  it('by kill -9, at any time, loses nothing and rejects nothing twice', async () => {
    const count = 400;
    const others = Object.fromEntries(ids(count / 8).map((_, at) => [at * 8, `{"wrong":${at}}`]));
    const file = await ndjson(count, others);
    const service = await ScriptedService.start();
    const args = [file, '--url', service.url, '--batch', '10', '--requests', '3'];
    for (const killAt of [5, 17, 24]) {
      const reached = service.requests + killAt;
      let run: ReturnType<typeof startSend> | undefined;
      service.script = ({ number }) => {
        if (number === reached) run?.child.kill('SIGKILL');
        return 'record';
      };
      run = startSend(args);
      expect(await run.ended).toMatchObject({ code: null });
    }
    service.script = () => 'record';
    expect(await send(args)).toMatchObject({ code: 1, summary: expect.stringContaining(`rejected   ${count / 8},`) });

    expect(service.times.size).toBe(count - count / 8);
    const rejected = await rejectedIn(`${file}.rejected.ndjson`);
    expect(rejected.map(({ event: wrong }) => wrong)).toEqual(ids(count / 8).map((_, at) => ({ wrong: at })));
    // Only what was in flight, or waited for it, came again: it did go on from where it was.
    expect([...service.times.values()].reduce((sum, times) => sum + times, 0)).toBeLessThan(2 * count);
  });

  it('by a crash between its two files has no event rejected twice', async () => {
    const service = await ScriptedService.start(({ number }) => (number <= 2 ? 'record' : { status: 401 }));
    const file = await ndjson(30, { 5: '{"wrong":5}', 25: '{"wrong":25}' });
    const args = [file, '--url', service.url, '--batch', '10', '--requests', '1'];
    expect(await send(args)).toMatchObject({ code: 3 });
    // What a crash leaves behind: the third batch's line is written, and the progress file does not say so.
    const line = JSON.stringify({ reason: 'is wrong', file, line: 26, event: { wrong: 25 } });
    await appendFile(`${file}.rejected.ndjson`, `${line}\n`);

    service.script = () => 'record';
    expect(await send(args)).toMatchObject({ code: 1, summary: expect.stringContaining('rejected   2,') });
    expect((await rejectedIn(`${file}.rejected.ndjson`)).map((rejection) => rejection.line)).toEqual([6, 26]);
  });

  it.skipIf(process.platform === 'win32')('by Ctrl-C finishes what is in flight and goes on later', async () => {
    const asked: (() => void)[] = [];
    const service = await ScriptedService.start(async ({ number }): Promise<Scripted> => {
      if (number > 2) await new Promise<void>((answer) => asked.push(answer));
      return 'record';
    });
    const file = await ndjson(200);
    const args = [file, '--url', service.url, '--batch', '10', '--requests', '2'];
    const run = startSend(args);
    await expect.poll(() => asked.length, PATIENTLY).toBe(2);
    run.child.kill('SIGINT');
    await run.hasSaid('Stopping');
    for (const answer of asked) answer();
    const first = await run.ended;
    expect(first).toMatchObject({ code: 3, summary: expect.stringContaining('recorded   40\n') });
    expect(first.said).toContain('Stopped.\nThe same command goes on from here');

    service.script = () => 'record';
    expect(await send(args)).toMatchObject({ code: 0, summary: expect.stringContaining('recorded   200\n') });
    expect(service.times).toEqual(each(200));
  });

  it.skipIf(process.platform === 'win32')('by a second Ctrl-C stops at once', async () => {
    const service = await ScriptedService.start(() => NEVER);
    const run = startSend([await ndjson(10), '--url', service.url]);
    await expect.poll(() => service.requests, PATIENTLY).toBe(1);
    const again = setInterval(() => run.child.kill('SIGINT'), 400);
    onTestFinished(() => clearInterval(again));
    expect(await run.ended).toMatchObject({ code: 130 });
  });

  it('goes on in a file that has grown, and refuses one that has changed', async () => {
    const service = await ScriptedService.start(({ number }) => (number <= 2 ? 'record' : { status: 401 }));
    const file = await ndjson(30);
    const args = [file, '--url', service.url, '--batch', '10', '--requests', '1'];
    expect(await send(args)).toMatchObject({ code: 3 });

    service.script = () => 'record';
    const original = await readFile(file, 'utf8');
    await writeFile(file, original.replace('"f-3"', '"f-x"'));
    const changed = await send(args);
    expect(changed.code).toBe(2);
    expect(changed.said).toContain('The input has changed in the part that was sent already');
    expect(service.times.size).toBe(20);

    await writeFile(file, original);
    await appendFile(file, `${event('f-30')}\n`);
    expect(await send(args)).toMatchObject({ code: 0 });
    expect(service.times).toEqual(each(31));

    expect(await send([...args, '--from-start'])).toMatchObject({
      summary: expect.stringContaining('unchanged  31\n'),
    });
  });

  it('does not read again the files that it has sent whole', async () => {
    const service = await ScriptedService.start(({ number }) => (number === 1 ? 'record' : { status: 401 }));
    const [first, second] = [await ndjson(5), await ndjson(8, { 0: event('f-100') })];
    const args = [first, second, '--url', service.url];
    expect(await send(args)).toMatchObject({ code: 3 });
    service.script = () => 'record';
    expect(await send(args)).toMatchObject({
      code: 0,
      summary: expect.stringContaining('recorded   9\nunchanged  4\n'),
    });
    expect(service.times.get('f-0')).toBe(1);
    expect(existsSync(`${first}.progress.json`) || existsSync(`${second}.progress.json`)).toBe(false);
  });

  it('does not go on at another service', async () => {
    const service = await ScriptedService.start(({ number }) => (number === 1 ? 'record' : { status: 401 }));
    const other = await ScriptedService.start();
    const file = await ndjson(30);
    const args = [file, '--batch', '10', '--requests', '1'];
    expect(await send([...args, '--url', service.url])).toMatchObject({ code: 3 });
    const elsewhere = await send([...args, '--url', other.url]);
    expect(elsewhere).toMatchObject({ code: 2, said: expect.stringContaining(`is about sending to ${service.url}`) });
    expect(await send([...args, '--url', other.url, '--from-start'])).toMatchObject({ code: 0 });
    expect(other.times).toEqual(each(30));
  });

  it('goes on with standard input, where the same comes again and --state says where it was', async () => {
    const service = await ScriptedService.start(({ number }) => (number <= 2 ? 'record' : { status: 401 }));
    const directory = ownDirectory();
    const input = gzipSync(ids(30).map(event).join('\n'));
    const args = ['-', '--url', service.url, '--batch', '10', '--requests', '1', '--state', 'state.json'];
    expect(await send(args, { cwd: directory, input })).toMatchObject({ code: 3 });
    service.script = () => 'record';
    expect(await send(args, { cwd: directory, input })).toMatchObject({ code: 0 });
    expect(service.times).toEqual(each(30));
  });
});

describe('a file that cannot be used', () => {
  it('in the middle: what came before is sent', async () => {
    const service = await ScriptedService.start();
    const file = join(ownDirectory(), 'cut.gz');
    const packed = gzipSync(
      ids(2_000)
        .map((id) => event(`${id}-${Math.random()}`))
        .join('\n'),
    );
    await writeFile(file, packed.subarray(0, packed.length / 2));
    const { code, said } = await send([file, '--url', service.url, '--batch', '10']);
    expect(code).toBe(3);
    expect(said).toContain('cut.gz cannot be read any further: unexpected end of file.');
    expect(service.times.size).toBeGreaterThan(100);
  });

  it('because it is UTF-16, as PowerShell writes it', async () => {
    const file = join(ownDirectory(), 'events.json');
    await writeFile(file, `\uFEFF${event('f-0')}`, 'utf16le');
    const { code, said } = await send([file, '--url', 'http://127.0.0.1:9']);
    expect(code).toBe(2);
    expect(said).toContain('is UTF-16');
  });

  it('is said before anything is sent, and nothing is overwritten', async () => {
    const service = await ScriptedService.start();
    const directory = ownDirectory();
    const file = await ndjson(3, { 0: 'wrong' });
    await writeFile(join(directory, 'precious.json'), '{"precious":true}');
    const url = ['--url', service.url];
    const cases: readonly (readonly [readonly string[], string])[] = [
      [[file, 'missing.json'], 'missing.json cannot be read.'],
      [[file, directory], 'is a directory'],
      [[file, '--rejected', 'precious.json'], 'precious.json exists and is not a file of rejected events'],
      [[file, '--state', 'precious.json'], 'precious.json is not a progress file'],
      [[file, '--key-file', 'missing.key'], 'The key file missing.key cannot be read.'],
      [[], 'FILE is missing.'],
    ];
    for (const [args, complaint] of cases) {
      const { code, said } = await send([...args, ...url], { cwd: directory });
      expect(said).toContain(complaint);
      expect(code).toBe(2);
    }
    expect(service.requests).toBe(0);
    expect(await readFile(join(directory, 'precious.json'), 'utf8')).toBe('{"precious":true}');
  });

  it('--help says how to use it', async () => {
    const { code, summary } = await send(['--help']);
    expect(code).toBe(0);
    expect(summary).toContain('npm run send -- FILE…');
  });
});

describe('a redirect', () => {
  it('is not followed, with or without a key', async () => {
    let reached = false;
    const elsewhere = createServer((_, response) => {
      reached = true;
      response.end();
    }).listen(0, '127.0.0.1');
    await once(elsewhere, 'listening');
    onTestFinished(() => void elsewhere.close());
    const address = elsewhere.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const service = await ScriptedService.start(() => ({
      status: 307,
      headers: { location: `http://127.0.0.1:${port}/api/events` },
    }));
    expect(await send([await ndjson(1), '--url', service.url])).toMatchObject({ code: 3 });
    expect(reached).toBe(false);
  });
});
