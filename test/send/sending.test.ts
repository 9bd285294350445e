import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { CommandError } from '../../infra/command-line.ts';
import { type Clock, Delivery } from '../../infra/send/deliver.ts';
import { type Done, readDone, RejectedFile } from '../../infra/send/files.ts';
import { type Reply, replyOf } from '../../infra/send/post-batch.ts';
import { sendFile } from '../../infra/send/send-file.ts';
import { MAX_EVENTS_BYTES } from '../../src/http/event-batch.ts';
import { cloudEvent } from '../http/cloud-event.ts';
import { ownDirectory, rejectedIn } from './running.ts';
import { ScriptedRecorder } from './scripted-service.ts';

const event = (id: string, note = ''): string => JSON.stringify(cloudEvent({ data: { event_id: id }, note }));
const ids = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `f-${at}`);
const each = (count: number, times = 1): ReadonlyMap<string, number> => new Map(ids(count).map((id) => [id, times]));

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

/** Time passes only while everything waits. */
class VirtualClock implements Clock {
  #now = 0;
  now(): number {
    return this.#now;
  }
  async sleep(milliseconds: number): Promise<void> {
    const until = this.#now + milliseconds;
    await new Promise((resolve) => void setImmediate(resolve));
    this.#now = Math.max(this.#now, until);
  }
}

/** What a service answers to a request: its number, from 1, and its events. */
type Script = (number: number, events: readonly string[]) => Reply | Promise<Reply> | 'record';

interface Run {
  readonly done: Done | undefined;
  readonly error: CommandError | undefined;
  readonly notes: readonly string[];
  /** How many milliseconds passed. */
  readonly took: number;
}

/** A service, and the sending of files to it. */
const service = (script: Script = () => 'record') => {
  const recorder = new ScriptedRecorder();
  const state = { script, requests: 0, inFlight: 0, mostInFlight: 0 };
  const post = async (events: readonly string[]): Promise<Reply> => {
    state.requests += 1;
    state.inFlight += 1;
    state.mostInFlight = Math.max(state.mostInFlight, state.inFlight);
    const scripted = await state.script(state.requests, events);
    state.inFlight -= 1;
    if (scripted !== 'record') return scripted;
    const { status, body = '' } = recorder.record(events.map((json): unknown => JSON.parse(json)));
    return replyOf(status, null, body, events.length);
  };
  const send = async (
    file: string,
    { batch = 10, requests = 2, stop = new AbortController(), url = 'http://a' } = {},
  ) => {
    const clock = new VirtualClock();
    const notes: string[] = [];
    const note = (text: string): void => void notes.push(text);
    const rejected = await RejectedFile.at(`${file}.rejected.ndjson`, file);
    const delivery = new Delivery({ post, clock, giveUpAfterMs: 600_000, stop: stop.signal, note });
    let error: CommandError | undefined;
    const done = await sendFile({
      name: file,
      before: await readDone(file, url),
      rejected,
      batchSize: batch,
      requests,
      delivery,
      stop: stop.signal,
      onProgress: () => undefined,
    }).catch((thrown: unknown) => {
      if (!(thrown instanceof CommandError)) throw thrown;
      error = thrown;
      return undefined;
    });
    await rejected.close();
    return { done, error, notes, took: clock.now() } satisfies Run;
  };
  return { state, send, times: recorder.times, refused: recorder.refused };
};

const unavailable = (retryAfterMs?: number): Reply => ({
  kind: 'unavailable',
  reason: 'the service answers 503',
  retryAfterMs,
});

describe('sending a file', () => {
  it('sends every event once, no more in a request and at a time than it may', async () => {
    const { send, state, times } = service();
    const { done } = await send(await ndjson(95), { requests: 3 });
    expect(done).toMatchObject({ recorded: 95, unchanged: 0, rejected: 0 });
    expect(times).toEqual(each(95));
    expect(state.requests).toBe(10);
    expect(state.mostInFlight).toBeLessThanOrEqual(3);
  });

  it('keeps to the size of a request', async () => {
    const sizes: number[] = [];
    const { send, times } = service((_, events) => {
      sizes.push(Buffer.byteLength(`[${events.join(',')}]`));
      return 'record';
    });
    const large = Object.fromEntries(ids(9).map((id, at) => [at, event(id, 'é'.repeat(450_000))]));
    await send(await ndjson(9, large), { batch: 5_000 });
    expect(times).toEqual(each(9));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_EVENTS_BYTES);
    expect(sizes).toHaveLength(3);
  });

  it('sends nothing more while a request is unanswered, whatever the size of the file', async () => {
    const { promise, resolve } = Promise.withResolvers<'record'>();
    const { send, state, times } = service((number): Reply | Promise<Reply> | 'record' =>
      number === 1 ? promise.then(() => unavailable(0)) : 'record',
    );
    const sending = send(await ndjson(300));
    await expect.poll(() => times.size).toBe(10);
    expect(state.requests).toBe(2);
    resolve('record');
    await sending;
    expect(times).toEqual(each(300));
  });

  it('puts what is wrong aside with the reason and the place, and repeats nothing', async () => {
    const { send, times, refused } = service();
    const wrong = '{"specversion":"1.0","data":{"count":12345678901234567890}}';
    const file = await ndjson(40, { 7: 'not JSON', 12: wrong, 30: '[1,{"two":2}]' });
    expect((await send(file)).done).toMatchObject({ recorded: 37, rejected: 4 });
    expect([...times.values(), ...refused.values()].every((count) => count === 1)).toBe(true);
    expect(await rejectedIn(`${file}.rejected.ndjson`)).toEqual([
      { reason: 'is not JSON', file, line: 8, text: 'not JSON' },
      { reason: 'is wrong', file, line: 13, event: JSON.parse(wrong) as unknown },
      { reason: 'is wrong', file, line: 31, index: 0, event: 1 },
      { reason: 'is wrong', file, line: 31, index: 1, event: { two: 2 } },
    ]);
    // No digit of a number is lost on the way.
    expect(await readFile(`${file}.rejected.ndjson`, 'utf8')).toContain(wrong);
  });

  it('halves what is too large for the service, down to one event', async () => {
    const { send, times } = service((_, events) =>
      events.length > 3 || events.join('').includes('"huge"') ? { kind: 'too large' } : 'record',
    );
    const file = await ndjson(20, { 11: JSON.stringify(cloudEvent({ id: 'huge' })) });
    expect((await send(file)).done).toMatchObject({ recorded: 19, rejected: 1 });
    expect([...times.values()].every((count) => count === 1)).toBe(true);
    expect(await rejectedIn(`${file}.rejected.ndjson`)).toMatchObject([{ line: 12, event: { id: 'huge' } }]);
  });
});

describe('a service in trouble', () => {
  it('is waited for as long as it asks, and every event comes in the end', async () => {
    const { send, times } = service((number) => (number > 1 ? 'record' : unavailable(60_000)));
    const { notes, took } = await send(await ndjson(60), { requests: 1 });
    expect(notes).toEqual(['Waiting 60 s: the service answers 503. Gives up in 600 s.']);
    expect(took).toBeGreaterThanOrEqual(60_000);
    expect(took).toBeLessThan(90_000);
    expect(times).toEqual(each(60));
  });

  it('is left in peace longer and longer, up to 30 s, and given up after the time that was said', async () => {
    const { send, state } = service((number) => (number <= 3 ? 'record' : unavailable()));
    const file = await ndjson(60);
    const first = await send(file, { requests: 1 });
    expect(first.error).toMatchObject({ exitCode: 3, message: expect.stringContaining('Given up after') });
    expect(first.took).toBeGreaterThanOrEqual(600_000);
    expect(first.took).toBeLessThan(640_000);
    expect(state.requests).toBeLessThan(70);

    state.script = () => 'record';
    expect((await send(file)).done).toMatchObject({ recorded: 60, unchanged: 0 });
  });

  it('is given up at once if it asks for a longer wait than that', async () => {
    const { error, took } = await service(() => unavailable(9_000_000)).send(await ndjson(1));
    expect(error?.message).toContain('asks for a wait of 9000 s');
    expect(took).toBe(0);
  });
});

describe('what an answer means', () => {
  it.each<[string, number, string, string]>([
    ['a refused key', 401, '', 'The service refuses the function key (401)'],
    ['another path', 404, '', 'answered with 404'],
    ['a redirect', 302, '', 'answered with 302'],
    ['counts that do not add up', 200, '{"recorded":1,"unchanged":0}', 'answered with 200'],
    ['a 400 without indexes', 400, '{"detail":"The body is not valid JSON."}', 'not valid JSON'],
    [
      'an index that was not sent',
      400,
      '{"recorded":19,"unchanged":0,"errors":[{"index":20,"detail":"?"}]}',
      'answered with 400',
    ],
  ])('%s: no waiting mends it', (_, status, body, said) => {
    expect(replyOf(status, null, body, 20)).toEqual({ kind: 'impossible', reason: expect.stringContaining(said) });
  });

  it.each([
    [503, '7', 7_000],
    [429, null, undefined],
    [500, 'soon', undefined],
    [503, new Date(0).toUTCString(), 0],
  ])('%d with Retry-After %s: it may work later', (status, retryAfter, retryAfterMs) => {
    expect(replyOf(status, retryAfter, '{"detail":"Not now."}', 1)).toEqual({
      kind: 'unavailable',
      reason: `the service answers ${status} (Not now.)`,
      retryAfterMs,
    });
  });

  it('all that is wrong with an event becomes one reason', () => {
    const errors = ['id is empty', 'time is late'].map((detail) => ({ index: 1, event_id: 'f-1', detail }));
    const reply = replyOf(400, null, JSON.stringify({ recorded: 1, unchanged: 0, errors }), 2);
    expect(reply).toMatchObject({ kind: 'taken', refused: new Map([[1, 'id is empty; time is late']]) });
  });
});

describe('a run that is stopped', () => {
  it('goes on where it was, and rejects nothing twice', async () => {
    const { send, state, times } = service((number) =>
      number <= 2 ? 'record' : { kind: 'impossible', reason: 'The service refuses the function key (401).' },
    );
    const file = await ndjson(30, { 5: '{"wrong":1}', 25: '{"wrong":2}' });
    expect((await send(file, { requests: 1 })).error).toMatchObject({ exitCode: 3 });
    // As a crash between the two files leaves it.
    const line = '{"reason":"is wrong","file":"x","line":26,"event":{"wrong":2}}\n';
    await writeFile(`${file}.rejected.ndjson`, line, { flag: 'a' });

    state.script = () => 'record';
    expect((await send(file)).done).toMatchObject({ recorded: 28, unchanged: 0, rejected: 2 });
    expect(times).toEqual(new Map([...each(30)].filter(([id]) => id !== 'f-5' && id !== 'f-25')));
    expect((await rejectedIn(`${file}.rejected.ndjson`)).map((rejection) => rejection.line)).toEqual([6, 26]);
  });

  it('takes what is in flight as done, and begins nothing new', async () => {
    const stop = new AbortController();
    const { send, state, times } = service((number) => {
      if (number === 3) stop.abort(new CommandError('Stopped.', { exitCode: 3 }));
      return 'record';
    });
    const file = await ndjson(200);
    expect((await send(file, { requests: 1, stop })).error?.message).toBe('Stopped.');
    expect(times.size).toBe(30);
    state.script = () => 'record';
    await send(file);
    expect(times).toEqual(each(200));
  });

  it('begins again with a file that has changed, and at another service: nothing is passed over', async () => {
    const { send, state, times } = service((number) => (number <= 2 ? 'record' : { kind: 'impossible', reason: 'no' }));
    const file = await ndjson(30);
    await send(file, { requests: 1 });
    state.script = () => 'record';
    expect((await send(file, { url: 'http://b' })).done?.items).toBe(30);
    expect(times.get('f-3')).toBe(2);
    await writeFile(file, `${event('f-30')}\n${await readFile(file, 'utf8')}`);
    expect((await send(file, { url: 'http://b' })).done?.items).toBe(31);
    expect(times.has('f-30')).toBe(true);
  });
});
