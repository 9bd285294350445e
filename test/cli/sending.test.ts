import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { CommandError } from '../../infra/cli/command-line.ts';
import { positionIn } from '../../infra/cli/send/options.ts';
import { nothingSent, sendAll } from '../../infra/cli/send/send-all.ts';
import { fileSource } from '../../infra/cli/send/source.ts';
import { MAX_EVENTS_BYTES } from '../../src/http/event-batch.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { cloudEvent } from '../http/cloud-event.ts';
import { rejectedOf } from './running.ts';
import { type Answer, ScriptedService } from './scripted-service.ts';

const event = (id: string, note = ''): string => JSON.stringify(cloudEvent({ data: { event_id: id }, note }));
const ids = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `f-${at}`);
const once = (count: number): ReadonlyMap<string, number> => new Map(ids(count).map((id) => [id, 1]));

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

const unavailable = (retryAfter?: string): Answer => ({
  status: 503,
  ...(retryAfter !== undefined && { headers: { 'retry-after': retryAfter } }),
});

const sleep = async (milliseconds: number): Promise<void> => {
  const until = Date.now() + milliseconds;
  await new Promise((resolve) => void setImmediate(resolve));
  vi.setSystemTime(Math.max(Date.now(), until));
};

/** Sends a file in virtual time, which passes only in waits. */
const send = async (
  file: string,
  service: ScriptedService,
  { batch = 10, requests = 2, stop = new AbortController(), url = service.url, from = '' } = {},
) => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const begun = Date.now();
  const notes: string[] = [];
  const sent = nothingSent();
  const error = await sendAll([await fileSource(file)], sent, {
    batch,
    requests,
    resumesAt: positionIn(from),
    target: { url, key: undefined },
    sleep,
    giveUpAfterMs: 600_000,
    stop: stop.signal,
    note: (text) => void notes.push(text),
    onAnswered: () => undefined,
    onCompared: () => undefined,
  }).then(
    () => undefined,
    (thrown: unknown) => {
      if (!(thrown instanceof CommandError)) throw thrown;
      return thrown;
    },
  );
  return { counts: sent.counts, from: sent.position, error, notes, took: Date.now() - begun };
};

describe('sending a file', () => {
  it('sends every event once, no more in a request and at a time than it may, and goes on when all are answered', async () => {
    const first = Promise.withResolvers<'record'>();
    const service = await ScriptedService.start(({ number }) => (number === 1 ? first.promise : 'record'));
    const sending = send(await ndjson(295), service);
    await expect.poll(() => service.times.size).toBe(10);
    expect(service.requests).toBe(2);
    first.resolve('record');
    expect((await sending).counts).toMatchObject({ recorded: 295, unchanged: 0, rejected: 0 });
    expect(service.times).toEqual(once(295));
    expect([service.requests, service.mostInFlight]).toEqual([30, 2]);
  });

  it('keeps to the size of a request', async () => {
    const sizes: number[] = [];
    const service = await ScriptedService.start(({ body }) => {
      sizes.push(body.length);
      return 'record';
    });
    const large = Object.fromEntries(ids(9).map((id, at) => [at, event(id, 'é'.repeat(450_000))]));
    await send(await ndjson(9, large), service, { batch: 5_000 });
    expect(service.times).toEqual(once(9));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_EVENTS_BYTES);
    expect(sizes).toHaveLength(3);
  });

  it('puts what is wrong aside with the reason and the place, and repeats nothing', async () => {
    const service = await ScriptedService.start();
    const wrong = '{"specversion":"1.0","data":{"count":12345678901234567890}}';
    const file = await ndjson(40, { 7: 'not JSON', 12: wrong, 30: '[1,{"two":2}]' });
    expect((await send(file, service)).counts).toMatchObject({ recorded: 37, rejected: 4 });
    expect([...service.times.values()].every((count) => count === 1)).toBe(true);
    expect(await rejectedOf(file)).toEqual([
      { reason: 'is not JSON', file, line: 8, text: 'not JSON' },
      { reason: 'is wrong; altogether', file, line: 13, event: JSON.parse(wrong) as unknown },
      { reason: 'is wrong; altogether', file, line: 31, index: 0, event: 1 },
      { reason: 'is wrong; altogether', file, line: 31, index: 1, event: { two: 2 } },
    ]);
    // No digit of a number is lost on the way.
    expect(await readFile(`${file}.rejected.ndjson`, 'utf8')).toContain(wrong);
  });

  it('halves what is too large for the service, down to one event', async () => {
    const service = await ScriptedService.start(({ body }) =>
      body.includes('"huge"') || body.toString().split('"event_id"').length > 4 ? { status: 413 } : 'record',
    );
    const file = await ndjson(20, { 11: JSON.stringify(cloudEvent({ id: 'huge' })) });
    expect((await send(file, service)).counts).toMatchObject({ recorded: 19, rejected: 1 });
    expect([...service.times.values()].every((count) => count === 1)).toBe(true);
    expect(await rejectedOf(file)).toMatchObject([{ line: 12, event: { id: 'huge' } }]);
  });
});

describe('a service in trouble', () => {
  it.each([
    [503, '60', /^Waiting 60 s: the service answers 503 \(Not now\.\)\. Gives up in 600 s\.$/, 60_000, 90_000],
    [429, undefined, /^Waiting 0\.5 s: the service answers 429/, 500, 1_000],
  ])(
    '%d with Retry-After %s is waited for, and every event comes in the end',
    async (status, after, said, least, most) => {
      const service = await ScriptedService.start(({ number }) =>
        number === 1 ? { ...unavailable(after), status, body: '{"detail":"Not now."}' } : 'record',
      );
      const { notes, took } = await send(await ndjson(60), service, { requests: 1 });
      expect(notes).toEqual([expect.stringMatching(said)]);
      expect(took).toBeGreaterThanOrEqual(least);
      expect(took).toBeLessThan(most);
      expect(service.times).toEqual(once(60));
    },
  );

  it('is left in peace longer and longer, up to 30 s, and given up after the time that was said', async () => {
    const service = await ScriptedService.start(({ number }) => (number <= 3 ? 'record' : unavailable()));
    const file = await ndjson(60);
    const { error, took, from } = await send(file, service, { requests: 1 });
    expect(error).toMatchObject({ exitCode: 3, message: expect.stringContaining('Given up after') });
    expect(took).toBeGreaterThanOrEqual(600_000);
    expect(took).toBeLessThan(640_000);
    expect(service.requests).toBeLessThan(70);

    service.script = () => 'record';
    expect((await send(file, service, { from })).counts).toMatchObject({ recorded: 30, unchanged: 0 });
  });

  it('is given up at once if it asks for a longer wait than that', async () => {
    const service = await ScriptedService.start(() => unavailable('9000'));
    const { error, took } = await send(await ndjson(1), service);
    expect([error?.message, took]).toEqual([expect.stringContaining('asks for a wait of 9000 s'), 0]);
  });

  it.each<[string, Answer, string]>([
    ['a refused key', { status: 401 }, 'The service refuses the function key (401)'],
    ['another path', { status: 404 }, 'answered with 404'],
    ['a redirect', { status: 307, headers: { location: '/elsewhere' } }, 'answered with 307'],
    ['counts that do not add up', { status: 200, body: '{"recorded":0,"unchanged":0}' }, 'answered with 200'],
    ['a 400 without indexes', { status: 400, body: '{"detail":"The body is not valid JSON."}' }, 'not valid JSON'],
    [
      'an index that was not sent',
      { status: 400, body: '{"recorded":0,"unchanged":0,"errors":[{"index":1,"detail":"?"}]}' },
      'answered with 400',
    ],
  ])('%s is mended by no waiting', async (_, answer, said) => {
    const service = await ScriptedService.start(() => answer);
    const { error } = await send(await ndjson(1), service);
    expect(error).toMatchObject({ exitCode: 3, message: expect.stringContaining(said) });
    expect(service.requests).toBe(1);
  });

  it('is given up at once where nobody there speaks TLS', async () => {
    const service = await ScriptedService.start();
    const { error } = await send(await ndjson(1), service, { url: service.url.replace('http:', 'https:') });
    expect(error?.message).toMatch(/^The connection cannot be made \(ERR_SSL_/);
  });
});

it('begins a new file of rejected events, and keeps what an earlier run rejected', async () => {
  const service = await ScriptedService.start();
  const file = await ndjson(3, { 1: '{"wrong":1}' });
  expect((await send(file, service)).notes).toEqual([]);
  await writeFile(file, '{"wrong":2}\n');
  const kept = `${file}.rejected.1.ndjson`;
  expect((await send(file, service)).notes).toEqual([`The rejected events of an earlier run are in ${kept} now.`]);
  expect(await rejectedOf(file, '.1')).toMatchObject([{ event: { wrong: 1 } }]);
  expect(await rejectedOf(file)).toMatchObject([{ event: { wrong: 2 } }]);
});

describe('a run that is stopped', () => {
  it('says the lowest item without an answer; from there the rest is sent, and what is refused is appended', async () => {
    const service = await ScriptedService.start(({ number }) => (number <= 2 ? 'record' : { status: 401 }));
    const file = await ndjson(30, { 5: '{"wrong":1}', 25: '{"wrong":2}' });
    const stopped = await send(file, service, { requests: 1 });
    expect(stopped).toMatchObject({ error: { exitCode: 3 }, from: `${file}:21` });

    service.script = () => 'record';
    const { from } = stopped;
    const resumed = await send(file, service, { from });
    expect(resumed).toMatchObject({
      counts: { recorded: 9, unchanged: 0, rejected: 1 },
      from: `${file}:31`,
      notes: [],
    });
    expect((await rejectedOf(file)).map((rejection) => rejection.line)).toEqual([6, 26]);
  });

  it('names no item beyond one without an answer, whatever was answered after it', async () => {
    const service = await ScriptedService.start(({ number }) => (number === 2 ? { status: 401 } : 'record'));
    const file = await ndjson(100);
    const { from, error } = await send(file, service, { requests: 4 });
    expect(error).toMatchObject({ exitCode: 3 });
    expect([`${file}:1`, `${file}:11`, `${file}:21`, `${file}:31`]).toContain(from);
    service.script = () => 'record';
    await send(file, service, { from });
    expect(service.times.size).toBe(100);
  });

  it('takes what is in flight as answered, and neither waits nor begins anything new', async () => {
    const stop = new AbortController();
    const service = await ScriptedService.start(({ number }) => {
      if (number === 3) stop.abort(new CommandError('Stopped.'));
      return number === 3 ? unavailable('60') : 'record';
    });
    const file = await ndjson(60);
    const { error, from } = await send(file, service, { requests: 1, stop });
    expect([error?.message, from]).toEqual(['Stopped.', `${file}:21`]);
    expect(service.requests).toBe(3);
    expect((await send(file, service, { from })).counts).toMatchObject({ recorded: 40, unchanged: 0 });
  });
});
