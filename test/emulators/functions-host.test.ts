import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, it, vi } from 'vitest';

import { bundle } from '../../infra/build/bundle.ts';
import { type App, type AppOptions, startApp } from '../harness/app.ts';

let directory: string;
/** As locally: without keys. */
let app: App;
/** With a function key, without schedules. */
let locked: App;

const startRulesApp = (options: Partial<AppOptions> = {}) =>
  startApp({ bundle: { path: join(directory, 'main.cjs') }, environment: {}, ...options });

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

/** A request with all its headers, repeated ones too. */
const statusOf = async (url: string, method = 'GET', headers: readonly string[] = []): Promise<number | undefined> => {
  const outgoing = request(url, { method, headers: ['host', 'localhost', ...headers] }).end();
  const [response]: IncomingMessage[] = await once(outgoing, 'response');
  response?.resume();
  return response?.statusCode;
};

/** The request that a function got. */
const echoed = async (path: string, init?: RequestInit): Promise<unknown> =>
  (await fetch(`${app.url}/api/${path}`, init)).json();

it('an error of a handler is a 500 without a body: its stack goes to the log, with the line of the source', async () => {
  const response = await fetch(`${app.url}/api/throws`);
  expect([response.status, await response.text()]).toEqual([500, '']);
  await until(() => expect(app.output()).toMatch(/throws failed: Error: lightning struck\n.*rules-app\.ts:\d+/));
});

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
  ['GET', '/api/returns-nothing', 204],
  ['POST', '/admin/functions/yearly', 202],
  ['PUT', '/admin/functions/Yearly', 404],
  ['POST', '/admin/functions/Nobody', 404],
  ['POST', '/admin/functions/echo', 404],
])('%s %s: %i', async (method, path, status) => {
  expect(await statusOf(`${app.url}${path}`, method)).toBe(status);
});

it.each([
  ['/api/keyed', [], 401],
  ['/api/keyed?code=wrong', [], 401],
  ['/api/keyed?code=k3y', [], 200],
  ['/api/keyed', ['k3y'], 200],
  ['/api/keyed?code=k3y', ['wrong'], 401],
  ['/api/keyed', ['k3y', 'wrong'], 200],
  ['/api/keyed', ['m4ster'], 200],
  ['/api/nowhere', [], 404],
  ['/admin/functions/Yearly', [], 401],
  ['/admin/functions/Yearly', ['k3y'], 403],
  ['/admin/functions/Yearly', ['m4ster'], 404],
])('where keys are enforced, GET %s with the keys %j: %i', async (path, keys, status) => {
  const headers = keys.flatMap((key) => ['x-functions-key', key]);
  expect(await statusOf(`${locked.url}${path}`, 'GET', headers)).toBe(status);
});

it('a route of literals comes before a parameter, in any order of registration', async () => {
  expect(await (await fetch(`${app.url}/api/cameras/all`)).text()).toBe('all');
  expect(await echoed('cameras/Ridge%2004')).toMatchObject({ params: { camera: 'Ridge 04' } });
});

it('a function sees the URL as it is, repeated parameters joined, names of headers in lower case, and no body of chunks', async () => {
  const path = 'echo?a=1&b=&a=2&A=3&c&plus=x+y%2Bz&__proto__=4';
  expect(await echoed(path, { headers: { 'X-Camera': 'ridge-04' } })).toMatchObject({
    method: 'GET',
    url: `${app.url}/api/${path}`,
    headers: { 'x-camera': 'ridge-04' },
    query: Object.entries({ a: '1,2,3', b: '', c: '', plus: 'x y+z' }),
  });
  expect(await echoed('echo', { method: 'POST', body: 'wh\u00f6le' })).toMatchObject({ body: 'wh\u00f6le' });
  const streamed = await echoed('echo', { method: 'POST', body: new Blob(['gone']).stream(), duplex: 'half' });
  expect(streamed).toMatchObject({ body: '', headers: { 'transfer-encoding': 'chunked' } });
});

it('the log lines of an invocation that is over are lost', async () => {
  await fetch(`${app.url}/api/logs-late`);
  await until(() => expect(app.output()).toContain('after the end'));
  expect(app.output()).toContain('logged in time');
  expect(app.output()).not.toContain('logged too late');
});

it('a client that leaves in the middle of its body is no failure of a function', async () => {
  const left = await startRulesApp({ runsSchedules: false });
  const leaving = request(`${left.url}/api/echo`, { method: 'POST', headers: { 'content-length': 9 } });
  leaving.on('error', () => undefined);
  await new Promise((sent) => leaving.write('half', sent));
  leaving.destroy();
  expect(await statusOf(`${left.url}/api/echo`)).toBe(200);
  await left.stop();
  expect(left.output()).not.toContain('failed');
});

it('timer functions run on their schedules, after an error as well, unless the schedules are off', async () => {
  const told = 'EverySecond {"schedule":{"adjustForDST":true},"scheduleStatus":null,"isPastDue":false}';
  await until(() => expect(app.output().split(told).length).toBeGreaterThan(2));
  expect(app.output()).toMatch(/EverySecond failed: Error: lightning struck a timer\n.*rules-app\.ts:\d+/);
  expect(locked.output()).not.toContain('EverySecond');
});

it('stopping refuses what is new, finishes requests and timer functions, and runs the terminate hooks last', async () => {
  const stopping = await startRulesApp({ runsSchedules: false });
  const inFlight = fetch(`${stopping.url}/api/slow`);
  await fetch(`${stopping.url}/admin/functions/Yearly`, { method: 'POST', body: '{"input":""}' });
  await until(() => expect(stopping.output()).toMatch(/^(?=[^]*slow started)(?=[^]*Yearly starts)/));
  const stopped = stopping.stop();
  await until(() => expect(fetch(`${stopping.url}/api/echo`)).rejects.toThrow('fetch failed'));
  expect(await (await inFlight).text()).toBe('slow but whole');
  await stopped;
  expect(stopping.output()).toMatch(/Yearly ends\napp terminated$/);
  expect(await stopping.exited).toBe('The app ended with code 0');
});
