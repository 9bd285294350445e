import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { CommandError } from '../../infra/cli/command-line.ts';
import { positionIn } from '../../infra/cli/send/options.ts';
import { nothingSent, sendAll } from '../../infra/cli/send/send-all.ts';
import { fileSource } from '../../infra/cli/send/source.ts';
import { MAX_EVENTS_BYTES } from '../../src/http/event-batch.ts';
import { all } from '../analytics/counting.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { cloudEvent } from '../http/cloud-event.ts';
import { rejectedOf } from './running.ts';
import { type Answer, type Script, ScriptedService } from './scripted-service.ts';

const event = (id: string, note = ''): string => JSON.stringify(cloudEvent({ data: { event_id: id }, note }));
const once = (count: number): ReadonlyMap<string, number> => new Map(all(count).map((at) => [`f-${at}`, 1]));

/** A file of events, with other lines in place of some. */
const fileOf = async (count: number, others: Readonly<Record<number, string>> = {}): Promise<string> => {
  const file = join(ownDirectory(), 'events.ndjson');
  const lines = all(count).map((at) => others[at] ?? event(`f-${at}`));
  await writeFile(file, `${lines.join('\n')}\n`);
  return file;
};

const sleep = async (milliseconds: number): Promise<void> => {
  const until = Date.now() + milliseconds;
  await new Promise((resolve) => void setImmediate(resolve));
  vi.setSystemTime(Math.max(Date.now(), until));
};

/** Sends a file in virtual time, which passes only in waits. */
const send = async (
  file: string,
  service: ScriptedService,
  { batch = 10, requests = 1, stop = new AbortController(), url = service.url, from = '' } = {},
) => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const begun = Date.now();
  const notes: string[] = [];
  const labels: string[] = [];
  const sent = nothingSent();
  const sending = sendAll([await fileSource(file)], sent, {
    batch,
    requests,
    resumesAt: positionIn(from),
    target: { url, key: undefined },
    sleep,
    giveUpAfterMs: 600_000,
    stop: stop.signal,
    note: (text) => void notes.push(text),
    onAnswered: ({ label }) => void labels.push(label),
    onCompared: () => undefined,
  });
  const error = await sending.then(
    () => undefined,
    (thrown: unknown) => {
      if (!(thrown instanceof CommandError)) throw thrown;
      return thrown;
    },
  );
  return { ...sent.counts, from: sent.position, labels, error, notes, took: Date.now() - begun };
};

describe('sending a file', () => {
  it('sends every event, with at most so many in a request and so many requests at a time', async () => {
    const first = Promise.withResolvers<Answer>();
    const service = await ScriptedService.start(({ number }) => (number === 1 ? first.promise : 'record'));
    const file = await fileOf(295);
    const sending = send(file, service, { requests: 2 });
    await expect.poll(() => service.times.size).toBe(10);
    expect(service.requests).toBe(2);
    first.resolve({ status: 401 });
    // The answer to the second request does not count, because the first request failed.
    expect(await sending).toMatchObject({ recorded: 0, from: `${file}:1` });
    const again = { recorded: 285, unchanged: 10, rejected: 0, from: `${file}:296` };
    expect(await send(file, service, { requests: 2 })).toMatchObject(again);
    expect([service.times.size, service.requests]).toEqual([295, 32]);
  });

  it('sends no request that is too large, and halves what is too large for the service, down to one event', async () => {
    const sizes: number[] = [];
    const service = await ScriptedService.start(({ body }) => {
      sizes.push(Buffer.byteLength(body));
      return body.includes('"huge"') || body.split('"event_id"').length > 4 ? { status: 413 } : 'record';
    });
    const large = Object.fromEntries(all(9).map((at) => [at, event(`f-${at}`, 'é'.repeat(450_000))]));
    const file = await fileOf(20, { ...large, 11: JSON.stringify(cloudEvent({ id: 'huge' })) });
    expect(await send(file, service, { batch: 5_000 })).toMatchObject({ recorded: 19, rejected: 1 });
    expect([...service.times.values()].every((count) => count === 1)).toBe(true);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_EVENTS_BYTES);
    expect(await rejectedOf(file)).toMatchObject([{ line: 12, event: { id: 'huge' } }]);
  });

  it('sets wrong events aside with the reason and the place, and keeps the file of an earlier run', async () => {
    const service = await ScriptedService.start();
    const wrong = '{"specversion":"1.0","data":{"count":12345678901234567890}}';
    const file = await fileOf(40, { 7: 'not JSON', 12: wrong, 30: '[1,{"two":2}]' });
    expect(await send(file, service)).toMatchObject({ recorded: 37, rejected: 4, notes: [] });
    const rejected = [
      { reason: 'is not JSON', file, line: 8, text: 'not JSON' },
      { reason: 'is wrong; altogether', file, line: 13, event: JSON.parse(wrong) as unknown },
      { reason: 'is wrong; altogether', file, line: 31, index: 0, event: 1 },
      { reason: 'is wrong; altogether', file, line: 31, index: 1, event: { two: 2 } },
    ];
    expect(await rejectedOf(file)).toEqual(rejected);
    // No digit of a number is lost on the way.
    expect(await readFile(`${file}.rejected.ndjson`, 'utf8')).toContain(wrong);

    await writeFile(file, '{"wrong":2}\n');
    const kept = `The rejected events of an earlier run are in ${file}.rejected.1.ndjson now.`;
    expect((await send(file, service)).notes).toEqual([kept]);
    expect(await rejectedOf(file, '.1')).toEqual(rejected);
    expect(await rejectedOf(file)).toMatchObject([{ event: { wrong: 2 } }]);
  });
});

const NOT_NOW: Answer = { status: 503, body: '{"detail":"Not now."}' };
const retryAfter = (seconds: string): Answer => ({ ...NOT_NOW, headers: { 'retry-after': seconds } });
/** Answers some requests with this, and records the others. */
const answering =
  (answer: Answer, isFor: (number: number) => boolean): Script =>
  ({ number }) =>
    isFor(number) ? answer : 'record';

describe('a service in trouble', () => {
  it.each<[Answer, string, number]>([
    [retryAfter('60'), 'Waiting 60 s: the service answers 503 (Not now.)', 60_000],
    [{ status: 408 }, 'Waiting 0.5 s: the service answers 408', 500],
    [{ status: 425 }, 'Waiting 0.5 s: the service answers 425', 500],
    [{ status: 429 }, 'Waiting 0.5 s: the service answers 429', 500],
    [{ status: 500 }, 'Waiting 0.5 s: the service answers 500', 500],
    [{ status: 502 }, 'Waiting 0.5 s: the service answers 502', 500],
    [{ status: 504 }, 'Waiting 0.5 s: the service answers 504', 500],
  ])('that answers %o gets every event after a wait', async (answer, said, least) => {
    const service = await ScriptedService.start(answering(answer, (number) => number === 1));
    const { notes, took } = await send(await fileOf(60), service);
    expect(notes).toEqual([`${said}. Gives up in 600 s.`]);
    expect(took).toBeGreaterThanOrEqual(least);
    expect(took).toBeLessThan(least * 2);
    expect(service.times).toEqual(once(60));
  });

  it('gets longer pauses, up to 30 s, until the command gives up', async () => {
    const service = await ScriptedService.start(answering(NOT_NOW, (number) => number > 3));
    const file = await fileOf(60);
    const { error, took, from } = await send(file, service);
    expect(error).toMatchObject({ exitCode: 3, message: expect.stringContaining('Given up after') });
    expect(from).toBe(`${file}:31`);
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
    [
      'names an event that was not sent',
      { status: 400, body: '{"recorded":0,"unchanged":0,"errors":[{"index":1,"detail":"?"}]}' },
      'answered with 400',
    ],
  ])('that %s stops the command at once', async (_, answer, said) => {
    const service = await ScriptedService.start(() => answer);
    const { error, took } = await send(await fileOf(1), service);
    expect(error).toMatchObject({ exitCode: 3, message: expect.stringContaining(said) });
    expect([service.requests, took]).toEqual([1, 0]);
  });

  it('that speaks no TLS stops the command at once', async () => {
    const service = await ScriptedService.start();
    const { error } = await send(await fileOf(1), service, { url: service.url.replace('http:', 'https:') });
    expect(error?.message).toMatch(/^The connection cannot be made \(ERR_SSL_/);
  });
});

describe('a command that is stopped', () => {
  it('names the lowest item without an answer; from there it sends the rest, and appends refused events', async () => {
    const service = await ScriptedService.start(answering({ status: 401 }, (number) => number > 2));
    const file = await fileOf(30, { 5: '{"wrong":1}', 25: '{"wrong":2}' });
    const { error, from, labels } = await send(file, service);
    expect([error?.exitCode, from]).toEqual([3, `${file}:21`]);
    // The lines of progress: after a kill there is nothing else.
    expect(labels).toEqual([`${file}:11`, `${file}:21`]);
    service.script = () => 'record';
    const resumed = { recorded: 9, unchanged: 0, rejected: 1, from: `${file}:31`, notes: [] };
    expect(await send(file, service, { from })).toMatchObject(resumed);
    expect(await rejectedOf(file)).toMatchObject([{ line: 6 }, { line: 26 }]);
    const other = await send(file, service, { from: 'other.ndjson:1' });
    expect(other.error?.message).toBe('--from names other.ndjson, which is not among the inputs.');
  });
});
