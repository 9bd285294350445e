import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';

import { bundle } from '../../infra/build/bundle.ts';
import { type App, type AppOptions, startApp } from '../harness/app.ts';

let directory: string;
/** As locally: without keys. */
let app: App;
/** With a function key, without schedules. */
let locked: App;

const startRulesApp = (options: Partial<AppOptions> = {}, settings: Readonly<Record<string, string>> = {}) =>
  startApp({
    bundle: { path: join(directory, 'main.cjs') },
    environment: settings,
    ...options,
  });

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'host-rules-'));
  const entry = fileURLToPath(new URL('fixtures/rules-app.ts', import.meta.url));
  await bundle({ entry, outfile: join(directory, 'main.cjs'), debug: true });
  locked = await startRulesApp({ functionKey: 'k3y', masterKey: 'm4ster', runsSchedules: false });
  app = await startRulesApp();
});

afterAll(async () => {
  await Promise.all([app.stop(), locked.stop()]);
  await rm(directory, { recursive: true });
});

const until = (condition: () => unknown): Promise<unknown> => vi.waitFor(condition, { timeout: 60_000, interval: 50 });

const echoSchema = z.object({
  method: z.string(),
  url: z.string(),
  query: z.array(z.tuple([z.string(), z.string()])),
  params: z.record(z.string(), z.string()),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
});

const echoed = async (path: string, init?: RequestInit): Promise<z.infer<typeof echoSchema>> =>
  echoSchema.parse(await (await fetch(`${app.url}${path}`, init)).json());

describe('what a handler returns, the client sees', () => {
  it('of nothing a 204', async () => {
    const response = await fetch(`${app.url}/api/returns-nothing`);
    expect({ status: response.status, body: await response.text() }).toEqual({ status: 204, body: '' });
  });

  it('of an error nothing: its stack goes to the log, with the line of the source', async () => {
    const response = await fetch(`${app.url}/api/throws`);
    expect({ status: response.status, body: await response.text() }).toEqual({ status: 500, body: '' });
    await until(() => expect(app.output()).toMatch(/throws failed: Error: lightning struck\n.*rules-app\.ts:\d+/));
  });
});

describe('which requests reach a function', () => {
  it.each([
    ['GET', '/api/echo', 200],
    ['GET', '/API/ECHO', 200],
    ['GET', '/api/echo/', 200],
    ['GET', '/api/echo//', 404],
    ['GET', '/echo', 404],
    ['GET', '/api/%ff', 404],
    ['GET', '/api/cameras/', 404],
    ['HEAD', '/api/echo', 404],
    ['HEAD', '/api/named-by-itself', 200],
    ['OPTIONS', '/api/keyed', 404],
    ['GET', '/api/%65cho', 200],
    ['GET', '/api/cameras/a%2Fb', 200],
    ['GET', '/api/keyed?code=anything', 200],
  ])('%s %s: %i', async (method, path, status) => {
    expect((await fetch(`${app.url}${path}`, { method })).status).toBe(status);
  });

  it('a route of literals is chosen before a parameter, whatever was registered first', async () => {
    expect(await (await fetch(`${app.url}/api/cameras/all`)).text()).toBe('all');
    expect((await echoed('/api/cameras/Ridge%2004')).params).toEqual({ camera: 'Ridge 04' });
  });

  it.each([
    ['no key', '/api/keyed', {}, 401],
    ['a wrong key', '/api/keyed?code=wrong', {}, 401],
    ['the key in the query', '/api/keyed?code=k3y', {}, 200],
    ['the key in the header', '/api/keyed', { 'x-functions-key': 'k3y' }, 200],
    ['a wrong header before the right query', '/api/keyed?code=k3y', { 'x-functions-key': 'wrong' }, 401],
    ['an unknown route, which is a 404 all the same', '/api/nowhere', {}, 404],
    [
      'the key in two headers',
      '/api/keyed',
      [
        ['x-functions-key', 'k3y'],
        ['x-functions-key', 'wrong'],
      ],
      200,
    ],
    ['the master key', '/api/keyed', { 'x-functions-key': 'm4ster' }, 200],
    ['an admin path without a key', '/admin/functions/Yearly', {}, 401],
    ['an admin path with a function key', '/admin/functions/Yearly', { 'x-functions-key': 'k3y' }, 403],
    [
      'an admin path with the master key, which is found',
      '/admin/functions/Yearly',
      { 'x-functions-key': 'm4ster' },
      404,
    ],
  ] as const)('where keys are enforced: %s', async (_case, path, headers, status) => {
    const given = Array.isArray(headers) ? headers.flat() : Object.entries(headers).flat();
    const outgoing = httpRequest(`${locked.url}${path}`, { headers: ['host', 'localhost', ...given] }).end();
    const [response] = await once(outgoing, 'response');
    response.resume();
    expect(response.statusCode).toBe(status);
  });
});

describe('what a function is told about a request', () => {
  it('method, URL as it is, query with repeated parameters joined, and headers with names in lower case', async () => {
    const path = '/api/echo?a=1&b=&a=2&A=3&c&plus=x+y%2Bz&__proto__=4';
    const seen = await echoed(path, { headers: { 'X-Camera': 'ridge-04' } });
    expect(seen).toMatchObject({ method: 'GET', url: `${app.url}${path}`, headers: { 'x-camera': 'ridge-04' } });
    expect(seen.query.map((pair) => pair.join('='))).toEqual(['a=1,2,3', 'b=', 'c=', 'plus=x y+z']);
  });

  it('a body whose length is announced, and nothing of one that comes in chunks', async () => {
    const init = { method: 'POST', body: 'wh\u00f6le' };
    expect((await echoed('/api/echo', init)).body).toBe('wh\u00f6le');
    const streamed = await echoed('/api/echo', {
      ...init,
      body: new Blob(['gone']).stream(),
      duplex: 'half',
    });
    expect([streamed.body, streamed.headers['transfer-encoding']]).toEqual(['', 'chunked']);
  });
});

const startTimer = (url: string, name: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${url}/admin/functions/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"input":""}',
    ...init,
  });

describe('timer functions', () => {
  it('run on their schedules, after an error as well, unless the schedules are off', async () => {
    const told = 'EverySecond {"schedule":{"adjustForDST":true},"scheduleStatus":null,"isPastDue":false}';
    await until(() => expect(app.output().split(told).length).toBeGreaterThan(2));
    expect(app.output()).toMatch(/EverySecond failed: Error: lightning struck a timer\n.*rules-app\.ts:\d+/);
    expect(locked.output()).not.toContain('EverySecond');
  });

  it.each([
    ['a name in any case', 'yearly', {}, 202],
    ['an unknown name', 'Nobody', {}, 404],
    ['an HTTP function', 'echo', {}, 404],
    ['another method', 'Yearly', { method: 'PUT' }, 404],
  ])('POST /admin/functions/{name} starts one: %s', async (_case, name, init, status) => {
    const response = await startTimer(app.url, name, init);
    expect({ status: response.status, body: await response.text() }).toEqual({ status, body: '' });
  });
});

describe('the life of the process', () => {
  it('stopping refuses what is new, finishes requests and timer functions, and runs the terminate hooks last', async () => {
    const stopping = await startRulesApp({ runsSchedules: false });
    const inFlight = fetch(`${stopping.url}/api/slow`);
    await startTimer(stopping.url, 'Yearly');
    await until(() => expect(stopping.output()).toMatch(/^(?=[^]*slow started)(?=[^]*Yearly starts)/));
    const stopped = stopping.stop();
    await until(() => expect(fetch(`${stopping.url}/api/echo`)).rejects.toThrow('fetch failed'));

    expect(await (await inFlight).text()).toBe('slow but whole');
    await stopped;
    expect(stopping.output()).toMatch(/Yearly ends\napp terminated$/);
    expect(await stopping.exited).toBe('The app ended with code 0');
  });

  it('an app that cannot be loaded ends it with code 1; of wrong settings only the message is told', async () => {
    const empty = join(directory, 'empty.cjs');
    await writeFile(empty, '');
    await expect(startRulesApp({}, { FAIL_TO_LOAD: 'settings' })).rejects.toThrow(
      /^The app ended with code 1:\nThe app cannot start:\n {2}SERVICE_NAME: is required$/,
    );
    await expect(startRulesApp({ bundle: { path: empty } })).rejects.toThrow('The app registered no function.');
    await expect(startRulesApp({}, { FAIL_TO_LOAD: 'streams' })).rejects.toThrow('enableHttpStream');
  });
});
